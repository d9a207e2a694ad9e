"""Programs in C on a libascendcl.so made of the runtime."""

from __future__ import annotations

import ctypes
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from npuhal import compiler
from runtime.capi.aclrt import names
from runtime.capi.aclrt.entry import find
from runtime.capi.aclrt.kinds import KINDS
from runtime.capi.shim import by_name, declarations, headers
from runtime.cli.sample import minimal_kernel
from tests.shim.conftest import Run

CHIPS = {"ascend910b3": "Ascend910B3", "ascend950": "Ascend950PR_9599"}


@pytest.mark.parametrize("soc", CHIPS)
def test_copies_events_callbacks_graphs_and_threads(run_acl: Run, soc: str) -> None:
    assert run_acl(f"fake://{soc}", "all").stdout.splitlines() == [
        f"1 cards of {CHIPS[soc]}", "from the program, from the program", "memory 1", "freed twice: 1",
        "107001: EE1003: device 99: valid are 0; the name stays", "recorded 1, time 1", "called 2 in another thread",
        "called 7 in the subscribed thread", "abc 1 replayed, status 1", "threads 8",
    ]  # fmt: skip


@pytest.fixture
def kernel_file(tmp_path: Path) -> str:
    """A file with a kernel of three arguments."""
    path = tmp_path / "add_custom.o"
    path.write_bytes(minimal_kernel("add_custom", arguments=3))
    return str(path)


@pytest.mark.parametrize("soc", CHIPS)
def test_a_kernel_from_a_file(run_acl: Run, kernel_file: str, soc: str) -> None:
    done = run_acl(f"fake://{soc}", "kernel", kernel_file, NPUHAL_SHIM_SETUP="kernels_of_a_program:attach_add")
    assert done.stdout == "sum 0.5 255.5\n"


@pytest.mark.parametrize("soc", CHIPS)
def test_a_failed_task_calls_back(run_acl: Run, kernel_file: str, soc: str) -> None:
    done = run_acl(f"fake://{soc}", "exception", kernel_file, NPUHAL_SHIM_SETUP="kernels_of_a_program:attach_broken")
    assert done.stdout == "fault 1, told 1, no info 4294967295\n"
    assert "this kernel cannot count" in done.stderr


@pytest.mark.parametrize("soc", CHIPS)
def test_two_processes_share_memory(run_acl: Run, soc: str) -> None:
    done = run_acl(f"fake://{soc}?shared=shim-{soc}-{os.getpid()}", "share")
    assert done.stdout.splitlines() == ["child sees: from another process", "child 0, back: answer of the child"]


def test_reports_come_at_exit_with_a_status(run_acl: Run) -> None:
    url = "fake://ascend910b3?check=race"
    assert run_acl(url, "mistake").stderr.count("race: bytes") == 1
    assert run_acl(url, "mistake", status=1, NPUHAL_SHIM_STRICT="1").stderr.count("race: bytes") == 1
    assert run_acl("fake://ascend910b3", "mistake", NPUHAL_SHIM_STRICT="1").stderr == ""


def test_a_machine_that_cannot_be_had_is_a_code(run_acl: Run) -> None:
    assert run_acl("fake://nothing", "all", status=9).stdout.startswith("aclInit(NULL): 500000 ")


def test_a_script_finds_the_library_by_name(tmp_path: Path) -> None:
    if not any(shutil.which(name) for name in compiler.COMPILERS):
        pytest.skip("there is no C compiler on this machine")
    script = tmp_path / "script.py"
    script.write_text(
        "import ctypes, logging\n"
        "logging.basicConfig()\n"
        "acl = ctypes.CDLL('libascendcl.so')\n"
        "count = ctypes.c_uint32()\n"
        "print(acl.aclInit(None), acl.aclrtGetDeviceCount(ctypes.byref(count)), count.value)\n"
        "nowhere = ctypes.c_void_p(8)\n"
        "print(acl.aclopStartDumpArgs(8, nowhere), acl.aclrtGetDeviceCount(nowhere))\n"
        "acl.aclrtGetSocName.restype = ctypes.c_char_p\n"
        "print(acl.aclrtGetSocName().decode())\n"
        "acl.aclAppLog(3, b'main', b'script.py', 7, b'%d of %s, %.1f', 3, b'four', ctypes.c_double(0.5))\n"
        "buf, where, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()\n"
        "print(acl.aclrtAllocBuf(ctypes.byref(buf), ctypes.c_size_t(40)),\n"
        "      acl.aclrtGetBufData(buf, ctypes.byref(where), ctypes.byref(size)), size.value)\n"
        "ctypes.memset(where, 1, 40)\n"
        "acl.aclprofCreateConfig.restype = ctypes.c_void_p\n"
        "config = acl.aclprofCreateConfig((ctypes.c_uint32 * 1)(0), 1, 255, None, ctypes.c_uint64(2))\n"
        "print(acl.aclprofInit(b'/tmp', ctypes.c_size_t(4)), acl.aclprofStart(ctypes.c_void_p(config)),\n"
        "      acl.aclprofDestroyConfig(ctypes.c_void_p(config)),\n"
        "      acl.aclsysGetVersionNum(b'runtime', ctypes.byref(count)))\n"
        "print(acl.aclmdlInitDump(), acl.aclmdlSetDump(None), acl.aclmdlFinalizeDump(), acl.aclFinalize())\n"
    )
    command = [sys.executable, "-m", "npuhal", "run", "--url", "fake://ascend910b3?devices=3", str(script)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.splitlines() == [
            "0 0 3", "107000 107000", "Ascend910B3", "0 0 40", "0 200006 0 100003", "0 100000 0 0",
        ], done.stderr  # fmt: skip
        assert "main (script.py:7): 3 of four, 0.5" in done.stderr
    without = {**environment, "PATH": "/nowhere", "XDG_CACHE_HOME": str(tmp_path / "empty")}
    done = subprocess.run(command, env=without, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "there is no C compiler" in done.stderr


def test_the_table_has_every_function_with_its_parameters() -> None:
    rows = {function.name: function for function in declarations.functions()}
    entries = {name for name in names() if name.startswith("acl") and name not in HELPERS}
    assert rows.keys() == entries | RUNTIME_LAYER
    for name, row in rows.items():
        entry = find(name)
        assert entry is not None
        assert [field.name for field in row.parameters] == [each.name for each in entry.arguments], name
        for field, each in zip(row.parameters, entry.arguments, strict=True):
            kind = declarations.ctype(field.type.removesuffix("*") if each.output else field.type)
            assert ctypes.sizeof(kind or ctypes.c_uint64) == KINDS[each.kind].size_bytes, (name, field)


RUNTIME_LAYER = {
    "rtEventCreateWithFlag", "rtEventQuery", "rtModelDestroy", "rtModelLoadComplete", "rtSetDefaultDeviceId",
    "rtSetDeviceFailureMode", "rtSetSocVersion", "rtStreamCreateWithFlags",
}  # fmt: skip
"""Functions below the C API that programs also call by name."""

HELPERS = {"aclrtNonBlockingLaunchBegin", "aclrtNonBlockingLaunchEnd"}
"""Entries that are no functions of the C API."""


def test_structs_are_as_large_as_the_entries_take_them() -> None:
    from runtime.capi.aclrt import layouts

    for name, layout in {
        "aclrtMemUceInfo": layouts.FAILED_RANGE, "aclrtMallocConfig": layouts.LIST,
        "aclrtLaunchKernelAttr": layouts.CHOICE, "aclrtBinaryLoadOption": layouts.CHOICE,
        "aclrtMallocAttribute": layouts.MALLOC_ATTRIBUTE, "aclrtPhysicalMemProp": layouts.PHYSICAL_PROPERTIES,
        "aclrtPlaceHolderInfo": layouts.PLACEHOLDER, "aclrtStreamAttrValue": layouts.STREAM_VALUE,
    }.items():  # fmt: skip
        assert ctypes.sizeof(declarations.ctype(name)) == layout.size, name


def test_headers_compile_as_c_and_c_plus_plus(folder: Path, tmp_path: Path) -> None:
    headers.write(tmp_path)
    for suffix, flags in ((".c", ["-std=c11", "-pedantic"]), (".cpp", ["-std=c++11"])):
        source = tmp_path / f"includes{suffix}"
        source.write_text('#include "acl/acl.h"\nint main() { return sizeof(aclmdlRITaskParams) != 200; }\n')
        command = [compiler.compiler(), *flags, "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", "-c", str(source)]
        if suffix == ".cpp" and not shutil.which("g++"):
            continue
        ran = subprocess.run([*command, "-o", str(folder / "x.o")], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_every_entry_is_bound() -> None:
    from runtime.capi.shim import bridge

    for function in declarations.functions():
        assert inspect.isfunction(bridge.bind(function))
    assert by_name.LIBRARY == "libascendcl.so"
