"""What a wheel asks for, on libraries that are compiled for the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from chips.binary.dynamic import read_dynamic
from npuhal.compiler import BuildError, compile_library, find_compiler
from runtime.capi.shim.torch import libraries, setup, wheel


def test_libraries_that_are_nowhere_are_missing(tmp_path: Path) -> None:
    if find_compiler() is None:
        pytest.skip("there is no C compiler on this machine")
    source, own, there = tmp_path / "a.c", tmp_path / "own", tmp_path / "there"
    for folder in (own, there):
        folder.mkdir()
    source.write_text("int offered(void) { return 1; }\n")
    for target in (own / "libone.so", there / "libtwo.so", tmp_path / "libgone.so"):
        compile_library(target, [source])
    user = tmp_path / "b.c"
    user.write_text("int offered(void), aclnowhere(void); int b(void) { return offered() + aclnowhere(); }\n")
    flags = [f"-L{folder}" for folder in (own, there, tmp_path)]
    compile_library(own / "libuser.so", [user], *flags, "-Wl,--no-as-needed", "-lone", "-ltwo", "-lgone")
    objects = [read_dynamic(own / name) for name in ("libone.so", "libuser.so")]
    missing = wheel.missing_libraries(objects, [there, wheel.system_folder()])
    assert missing[0] == "libgone.so"
    assert set(missing) == {"libgone.so", "libopapi.so", "libruntime.so"}


def test_operators_are_found_by_the_names_that_a_library_looks_up(tmp_path: Path) -> None:
    names = b"\0aclnnAdd\0aclnnAddGetWorkspaceSize\0xaclnnNot\0aclnnMul\0aclrtMalloc\0"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtorch_npu.so").write_bytes(b"\x7fELF" + names)
    assert wheel.operators_of(tmp_path) == {"aclnnAdd", "aclnnMul"}


def test_a_package_that_is_not_there_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(BuildError, match="pip install nowhere"):
        wheel.installed("nowhere")


def test_the_c_text_has_what_is_computed_and_says_the_name_of_the_rest() -> None:
    found = wheel.Wheel(Path(), ("libascendcl.so",), frozenset({"aclFirst", "_ZN2ge5GraphC1EPKc", "aclCreateTensor"}),
                        (), frozenset({"aclnnAdd", "aclnnNowhere"}))  # fmt: skip
    text = "\n".join(libraries.source(found))
    assert "int aclnnAdd(void *space" in text
    assert 'npuhal_torch_absent("aclnnNowhere")' in text
    assert 'npuhal_torch_absent("aclFirst")' in text
    assert 'npuhal_torch_absent("_ZN2ge5GraphC1EPKc"); abort();' in text
    assert 'npuhal_torch_absent("aclCreateTensor")' not in text
    assert 'npuhal_torch_absent("aclnnAdd")' not in text


def test_variables_put_the_folder_first_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/elsewhere:{tmp_path}")
    assert libraries.variables(tmp_path)["LD_LIBRARY_PATH"] == f"{tmp_path}:/elsewhere"


def test_versions_that_do_not_fit_are_told_with_the_command_that_mends_it() -> None:
    assert setup.mismatch("2.13.0+cpu", "2.13.0.post1") == ""
    assert setup.mismatch("2.14.0", "2.13.0.post1").endswith("pip install torch==2.13.0")
