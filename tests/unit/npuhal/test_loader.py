"""URLs, the search for the library, the stub, and what a loaded library must have."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npuhal
from npuhal import constants, prototypes
from npuhal.api import LibraryApi
from npuhal.errors import BadUrl, LibraryNotFound, MissingSymbols, NotSupported, StubLibrary
from npuhal.loader import HalUrl, Search, loaded_path, refuse_stub
from npuhal.trace import TraceApi
from npuhal.version import BASE_VERSION, DRIFT_VERSION, decode_version, encode_version, shake_hands, withheld

from .backends import FakeLibrary, PythonBackend


class Loader:
    """Stands for ctypes.CDLL: knows which paths hold a library, and keeps what was asked for."""

    def __init__(self, libraries: dict[str, object]) -> None:
        self.libraries = libraries
        self.asked: list[tuple[str, int]] = []

    def __call__(self, name: str, mode: int = ctypes.RTLD_LOCAL) -> object:
        self.asked.append((name, mode))
        for suffix, library in self.libraries.items():
            if name.endswith(suffix):
                if isinstance(library, OSError):
                    raise library
                return library
        raise OSError(f"{name}: cannot open shared object file")


def real_library(**more):
    def count_devices(pointer):
        pointer[0] = 2
        return 0

    return FakeLibrary(drvGetDevNum=count_devices, **more)


def stub_library():
    return FakeLibrary(drvGetDevNum=lambda pointer: 0, halGetDeviceInfo=lambda *_: 0)


def install(root: Path, prefix: str = "usr/local/Ascend", folder: str = "driver/lib64/driver") -> Path:
    path = root / prefix / folder / "libascend_hal.so"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


# URLs


def test_parts_of_a_url():
    url = HalUrl.parse("trace+fake-abi://ascend910b3?devices=2&seed=7&strict")
    assert (url.scheme, url.target, url.traced) == ("fake-abi", "ascend910b3", True)
    assert url.options == {"devices": "2", "seed": "7", "strict": "1"}


def test_path_with_escapes():
    assert HalUrl.parse("hal:///opt/my%20driver/libascend_hal.so").target == "/opt/my driver/libascend_hal.so"
    assert HalUrl.parse("hal://").target == ""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("fake", "expected scheme://"),
        ("", "expected scheme://"),
        ("fkae://ascend910b3", "unknown scheme 'fkae'"),
        ("trace+trace+fake://x", r"unknown scheme 'trace\+fake'"),
        ("fake://x?a=1&a=2", "option 'a' is given twice"),
        ("fake://x?=3", "has no name"),
    ],
)
def test_malformed_urls_say_what_is_wrong(text, rule):
    with pytest.raises(BadUrl, match=rule):
        HalUrl.parse(text)


def test_typed_options():
    url = HalUrl.parse("fake://x?n=0x10&f=0.5&on=yes&off=off&kind=b")
    assert url.integer("n", 1) == 16
    assert url.integer("absent", 5) == 5
    assert url.number("f", 1.0) == 0.5
    assert url.flag("on") is True
    assert url.flag("off", default=True) is False
    assert url.choice("kind", "a", ("a", "b")) == "b"
    url.allow({"n", "f", "on", "off", "kind"})


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        (lambda url: url.integer("n", 0), "n='two' is not an integer"),
        (lambda url: url.integer("m", 0, 1, 8), "m=9 is outside 1 to 8"),
        (lambda url: url.number("n", 0), "n='two' is not a number"),
        (lambda url: url.number("m", 0, 0, 1), r"m=9\.0 is outside"),
        (lambda url: url.flag("n"), "n='two' is neither"),
        (lambda url: url.choice("n", "a", ("a", "b")), "n='two' is none of a, b"),
        (lambda url: url.allow(("m",)), "unknown option 'n'; known are m"),
    ],
)
def test_bad_options_name_option_value_and_rule(read, rule):
    with pytest.raises(BadUrl, match=rule):
        read(HalUrl.parse("fake://x?n=two&m=9"))


@given(st.text("aZ9:/?&=+%_-. #\\\0\n\u00e9\U0001d11e", max_size=40))  # all of Unicode takes long to sort
def test_any_text_is_parsed_or_refused(text):
    try:
        url = HalUrl.parse(text)
    except BadUrl:
        return
    assert url.scheme in ("hal", "fake", "fake-abi", "null")


def test_hal_urls_take_no_options():
    with pytest.raises(BadUrl, match="unknown option 'seed'; known are none"):
        npuhal.open_hal("hal://?seed=1")


# search


def test_order_of_places(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ascend_install.info").write_text("UserName=root\nDriver_Install_Path_Param=/opt/npu\n")
    candidates = list(Search(root=str(tmp_path), environ={}).candidates())
    assert candidates[0] == "libascend_hal.so"
    assert [os.path.relpath(path, tmp_path) for path in candidates[1:]] == [
        f"{prefix}/{folder}/libascend_hal.so"
        for prefix in ("opt/npu", "usr/local/Ascend")
        for folder in ("driver/lib64/driver", "driver/lib64", "driver/lib64/common")
    ]


def test_a_library_named_by_the_environment_is_the_only_place(tmp_path):
    install(tmp_path)
    search = Search(root=str(tmp_path), environ={"ASCEND_HAL_LIB": "/nowhere/hal.so"}, load=Loader({}))
    with pytest.raises(LibraryNotFound) as caught:
        search.open()
    assert caught.value.searched == (("/nowhere/hal.so", "named by ASCEND_HAL_LIB; no such file"),)


def test_every_place_is_listed_with_its_reason(tmp_path):
    broken = install(tmp_path)
    loader = Loader({str(broken): OSError("wrong ELF class: ELFCLASS32")})
    with pytest.raises(LibraryNotFound) as caught:
        Search(root=str(tmp_path), environ={}, load=loader).open()
    reasons = dict(caught.value.searched)
    assert reasons["libascend_hal.so"] == "libascend_hal.so: cannot open shared object file"
    assert reasons[str(broken)] == "wrong ELF class: ELFCLASS32"
    assert list(reasons.values()).count("no such file") == 2


def test_the_driver_path_is_found_and_libc_sec_loaded_before_it(tmp_path):
    path = install(tmp_path)
    security = tmp_path / "usr/local/Ascend/driver/lib64/common/libc_sec.so"
    security.parent.mkdir()
    security.touch()
    loader = Loader({str(path): real_library(), "libc_sec.so": object()})
    hal = Search(root=str(tmp_path), environ={}, load=loader).open()
    assert hal.path == str(path)
    (first, mode), (second, _) = loader.asked[1:]
    assert Path(first).resolve() == security
    assert mode == ctypes.RTLD_GLOBAL
    assert second == str(path)


def test_the_plain_name_comes_first(tmp_path):
    install(tmp_path)
    loader = Loader({"libascend_hal.so": real_library()})
    hal = Search(root=str(tmp_path), environ={}, load=loader).open()
    assert loader.asked == [("libascend_hal.so", ctypes.RTLD_LOCAL)]
    assert hal.url == "hal://"


def test_a_given_file_is_not_searched_for(tmp_path):
    search = Search(root=str(tmp_path), environ={}, load=Loader({"libascend_hal.so": real_library()}))
    with pytest.raises(LibraryNotFound) as caught:
        search.open_file(str(tmp_path / "hal.so"), "hal:///hal.so")
    assert caught.value.searched == ((str(tmp_path / "hal.so"), "no such file"),)


def test_the_stub_is_refused_by_name(tmp_path):
    path = install(tmp_path)
    search = Search(root=str(tmp_path), environ={}, load=Loader({str(path): stub_library()}))
    with pytest.raises(StubLibrary, match="link stub") as caught:
        search.open()
    assert caught.value.library == str(path)


def test_a_library_that_refuses_or_answers_is_no_stub():
    for answer in (lambda pointer: 1, lambda pointer: pointer.__setitem__(0, 0) or 0):
        refuse_stub(LibraryApi("hal://", FakeLibrary(drvGetDevNum=answer), "x"))  # type: ignore[arg-type]


def test_stub_is_told_by_the_device_info_when_it_cannot_count():
    library = FakeLibrary(halGetDeviceInfo=lambda *_: 0)
    with pytest.raises(StubLibrary):
        refuse_stub(LibraryApi("hal://", library, "x"))  # type: ignore[arg-type]


def test_open_hal_reads_the_environment(monkeypatch):
    monkeypatch.setenv("NPUHAL_URL", "nonsense://")
    with pytest.raises(BadUrl, match="nonsense"):
        npuhal.open_hal()


def test_open_hal_without_a_driver_names_the_fake(monkeypatch):
    monkeypatch.setenv("ASCEND_HAL_LIB", "/nowhere/libascend_hal.so")
    monkeypatch.delenv("NPUHAL_URL", raising=False)
    with pytest.raises(LibraryNotFound, match="fake://ascend910b3"):
        npuhal.open_hal()


def test_a_traced_url_wraps_the_door_of_the_rest(monkeypatch):
    import fakes

    seen: list[HalUrl] = []
    inner = PythonBackend()
    monkeypatch.setattr(fakes, "open_fake", lambda url: seen.append(url) or inner)
    hal = npuhal.open_hal("trace+fake://ascend910b3?seed=7")
    assert (seen[0].text, seen[0].traced, seen[0].options) == ("fake://ascend910b3?seed=7", False, {"seed": "7"})
    assert isinstance(hal, TraceApi)
    assert hal.inner is inner


def test_loaded_path_finds_a_mapped_library():
    libc = loaded_path("libc.so.6")
    assert libc is None or os.path.basename(libc) == "libc.so.6"
    assert loaded_path("libsurely_not_loaded.so") is None


# the loaded library


def test_missing_required_symbols_are_named_at_load():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    with pytest.raises(MissingSymbols) as caught:
        hal.require("v100")
    assert "halSqTaskSend" in caught.value.names
    assert "drvGetDevNum" not in caught.value.names
    assert "generation v100" in str(caught.value)


def test_required_names_are_functions_of_the_tables():
    known = set(prototypes.names())
    assert all(names <= known for names in prototypes.REQUIRED.values())


def test_an_optional_symbol_is_missed_when_called():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    assert not hal.has("halMemPoolMalloc")
    for call in (hal.halMemPoolMalloc, hal.raw("halMemPoolMalloc")):
        with pytest.raises(NotSupported, match=r"halMemPoolMalloc answered DRV_ERROR_NOT_SUPPORT.*does not export"):
            call()


def test_a_typed_callable_is_an_attribute_after_its_first_use():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    assert "drvGetDevNum" not in vars(hal)
    count = ctypes.c_uint32()
    assert hal.drvGetDevNum(ctypes.byref(count)) == 0
    assert count.value == 2
    assert vars(hal)["drvGetDevNum"] is hal.drvGetDevNum
    assert isinstance(hal.drvGetDevNum, ctypes._CFuncPtr)  # nothing of ours on the way


def test_wrong_argument_types_are_refused():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    with pytest.raises(ctypes.ArgumentError):
        hal.drvGetDevNum("2")
    with pytest.raises(ctypes.ArgumentError):
        hal.drvGetDevNum(ctypes.byref(ctypes.c_uint64()))


def test_raw_takes_prebuilt_references():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    count = ctypes.c_uint32()
    raw = hal.raw("drvGetDevNum")
    assert raw(ctypes.byref(count)) == 0
    assert count.value == 2
    assert raw is not hal.raw("drvGetDevNum")


def test_unknown_functions_are_attribute_errors():
    hal = LibraryApi("hal://", real_library(), "libascend_hal.so")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no function 'halNothing'"):
        hal.halNothing()
    assert not hasattr(hal, "_repr_html_")


# versions


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_version_numbers_and_texts_correspond(parts):
    text = ".".join(map(str, parts))
    assert decode_version(encode_version(text)) == text


@pytest.mark.parametrize("text", ["7.36", "7.36.256", "7.36.24.1", "a.b.c"])
def test_bad_version_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"version|invalid literal"):
        encode_version(text)


def test_known_versions():
    assert encode_version("7.36.24") == 0x072418 == BASE_VERSION == getattr(constants, "__HAL_API_VERSION")


def backend_of_version(version: int, told: list[int]) -> PythonBackend:
    def answer(pointer):
        pointer._obj.value = version
        return 0

    return PythonBackend(halGetAPIVersion=answer, halSetRuntimeApiVer=lambda v: told.append(v) or 0)


@pytest.mark.parametrize(
    ("library", "client"),
    [(0x072300, BASE_VERSION), (0x072418, BASE_VERSION), (0x072419, DRIFT_VERSION), (0x080000, DRIFT_VERSION)],
)
def test_handshake_tells_our_version_and_follows_the_librarys_layouts(library, client):
    told: list[int] = []
    hal = backend_of_version(library, told)
    assert shake_hands(hal) == (library, client)
    assert told == [client]
    assert hal.version == library
    assert ctypes.sizeof(hal.structs.struct("HandleAttr")) == (20 if library >= DRIFT_VERSION else 36)


def test_handshake_with_a_library_that_cannot():
    assert shake_hands(PythonBackend()) == (0, 0)


def test_what_an_old_client_misses():
    assert withheld(BASE_VERSION) == ()
    assert withheld(0x072317) == ("stream and model ids from 2048 on, and capacities above 2048",)
    assert len(withheld(0)) == 3
