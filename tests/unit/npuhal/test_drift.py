"""What differs between header versions, and structs passed by value, both ways through real C function pointers."""

from __future__ import annotations

import ctypes

import pytest

from npuhal import prototypes
from npuhal.api import LibraryApi
from npuhal.layouts import layouts
from npuhal.version import BASE_VERSION, DRIFT_VERSION


def offsets(struct):
    return {name: getattr(struct, name).offset for name, *_ in struct._fields_}


@pytest.mark.parametrize(
    ("name", "base", "newer"),
    [("HandleAttr", 36, 20), ("halAsyncDmaInputBatchPara", 80, 88), ("DqsPoolInfo", 120, 104)],
)
def test_sizes_by_version(name, base, newer):
    for version, size in ((0, base), (BASE_VERSION, base), (DRIFT_VERSION, newer)):
        assert ctypes.sizeof(layouts(version).struct(name)) == size


def test_moved_fields():
    base, newer = (offsets(layouts(version).struct("DqsPoolInfo")) for version in (BASE_VERSION, DRIFT_VERSION))
    assert (base["dataPoolBaseAddr"], newer["dataPoolBaseAddr"]) == (24, 8)
    assert (base["mngPoolGroupId"], newer["mngPoolGroupId"]) == (116, 100)
    assert "pool_depth" in newer
    assert offsets(layouts(DRIFT_VERSION).struct("halAsyncDmaInputBatchPara"))["rsv"] == 56


def test_a_struct_that_did_not_change_is_one_class():
    assert layouts(BASE_VERSION).struct("halTaskSendInfo") is layouts(DRIFT_VERSION).struct("halTaskSendInfo")


def test_argument_lists_by_version():
    def arguments(name, version):
        return [arg.text for arg in prototypes.prototype(name, version).args]

    assert arguments("halMemUnRegUbSegment", BASE_VERSION) == ["u32", "u64"]
    assert arguments("halMemUnRegUbSegment", DRIFT_VERSION) == ["u32", "u64", "u64"]
    assert arguments("halMemPoolAsyncConfig", BASE_VERSION)[-1] == "u32"
    assert arguments("halMemPoolAsyncConfig", DRIFT_VERSION)[-1] == "bool"


def test_halGetNotifyEvent_has_the_arguments_of_halGetFaultEvent():
    notify, fault = (prototypes.prototype(name, DRIFT_VERSION) for name in ("halGetNotifyEvent", "halGetFaultEvent"))
    assert notify.args == fault.args


class OneFunction:
    """A library with one C function, made of a Python callable with the signature of a version."""

    def __init__(self, name, version, function):
        prototype = prototypes.prototype(name, version)
        self.name = name
        self.made = ctypes.CFUNCTYPE(prototype.restype, *(arg.ctype for arg in prototype.args))(function)

    def __getattr__(self, name):
        if name != self.name:
            raise AttributeError(name)
        return self.made

    def __getitem__(self, name):
        return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(self.made, ctypes.c_void_p).value)


@pytest.mark.parametrize("version", [BASE_VERSION, DRIFT_VERSION])
def test_handle_attribute_travels_by_value_in_either_size(version):
    seen = []
    library = OneFunction(
        "halMemHandleSetAttribute", version, lambda handle, kind, attr: seen.append((handle, kind, bytes(attr))) or 0
    )
    hal = LibraryApi("hal://", library, "x", version)  # type: ignore[arg-type]
    attribute = hal.structs.struct("HandleAttr")(mem_map_route=7)
    assert hal.halMemHandleSetAttribute(0x1000, 1, attribute) == 0
    size = 36 if version == BASE_VERSION else 20
    assert seen == [(0x1000, 1, (7).to_bytes(4, "little") + bytes(size - 4))]


def test_the_other_versions_struct_is_refused():
    library = OneFunction("halMemHandleSetAttribute", BASE_VERSION, lambda *_: 0)
    hal = LibraryApi("hal://", library, "x", BASE_VERSION)  # type: ignore[arg-type]
    with pytest.raises(ctypes.ArgumentError):
        hal.halMemHandleSetAttribute(0x1000, 1, layouts(DRIFT_VERSION).struct("HandleAttr")())


@pytest.mark.parametrize(("version", "extra"), [(BASE_VERSION, ()), (DRIFT_VERSION, (4096,))])
def test_unregistering_a_segment_takes_two_or_three_arguments(version, extra):
    seen = []
    hal = LibraryApi(
        "hal://", OneFunction("halMemUnRegUbSegment", version, lambda *a: seen.append(a) or 0), "x", version
    )  # type: ignore[arg-type]
    assert hal.halMemUnRegUbSegment(1, 0x2000, *extra) == 0
    assert seen == [(1, 0x2000, *extra)]


def by_value_functions():
    for name in prototypes.names():
        for position, arg in enumerate(prototypes.prototype(name).args):
            if isinstance(arg.ctype, type) and issubclass(arg.ctype, (ctypes.Structure, ctypes.Union)):
                yield name, position


def plain_argument(arg: prototypes.Arg):
    """Return a value the argument accepts; a struct gets a different byte at every place."""
    if "*" in arg.text:
        return None
    value = arg.ctype(lambda *_: None) if issubclass(arg.ctype, ctypes._CFuncPtr) else arg.ctype()
    if isinstance(value, ctypes.Structure):
        size = ctypes.sizeof(value)
        ctypes.memmove(ctypes.byref(value), bytes(i % 251 + 1 for i in range(size)), size)
    return value


@pytest.mark.parametrize(("name", "position"), list(by_value_functions()))
def test_every_struct_passed_by_value_arrives_byte_for_byte(name, position):
    arguments = [plain_argument(arg) for arg in prototypes.prototype(name).args]
    seen = []
    library = OneFunction(name, 0, lambda *passed: seen.append(bytes(passed[position])) or 0)
    hal = LibraryApi("hal://", library, "x")  # type: ignore[arg-type]
    assert getattr(hal, name)(*arguments) == 0
    assert seen == [bytes(arguments[position])]
