"""The loader and the typed backend on real shared objects, compiled here: dependencies, the stub, by-value structs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys

import pytest

import npuhal
from npuhal import quiet, structs
from npuhal.errors import LibraryNotFound, MissingSymbols, StubLibrary
from npuhal.loader import Search, loaded_path

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")

SECURITY = "int memcpy_s(void) { return 0; }"
HAL = """
typedef unsigned int u32;
struct handle_attr { u32 route; u32 rsv[8]; };
struct share_attr { u32 bits; };
extern int memcpy_s(void);
static int client;
int drvGetDevNum(u32 *n) { *n = 3 + memcpy_s(); return 0; }
int halGetAPIVersion(int *v) { *v = 0x072418; return 0; }
int halSetRuntimeApiVer(int v) { client = v; return 0; }
int halGetHostID(u32 *id) { *id = client; return 0; }
int halMemHandleSetAttribute(void *h, int type, struct handle_attr a) {
    u32 i, sum = (u32)(unsigned long)h + type + a.route;
    for (i = 0; i < 8; i++) sum = sum * 31 + a.rsv[i];
    return (int)(sum & 0xffff);
}
int halGrpAddProc(const char *name, int pid, struct share_attr a) { return name[0] + pid + (int)a.bits; }
"""
STUB = "int drvGetDevNum(unsigned *n) { return 0; } int halGetDeviceInfo(void) { return 0; }"


def by_path_only(name, mode):
    """Load like ctypes.CDLL, but no plain names: they may find a driver of this machine, or one loaded before."""
    if "/" not in name:
        raise OSError(f"{name}: not looked for in this test")
    return ctypes.CDLL(name, mode=mode)


def compile_library(path, source, *options):
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [COMPILER, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(path), *options]
    subprocess.run(command, input=source, text=True, check=True)
    return path


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A folder that stands for /, with a driver installed as the packages do."""
    root = tmp_path_factory.mktemp("root")
    lib64 = root / "usr/local/Ascend/driver/lib64"
    security = compile_library(lib64 / "common/libc_sec.so", SECURITY, "-Wl,-soname,libc_sec.so")
    compile_library(
        lib64 / "driver/libascend_hal.so", HAL, "-Wl,-soname,libascend_hal.so", "-Wl,--no-as-needed", str(security)
    )
    return root


@pytest.fixture(scope="module")
def hal(driver):
    return Search(root=str(driver), environ={}, load=by_path_only).open()


def test_found_below_the_default_prefix_with_its_dependency(driver, hal):
    assert hal.path == str(driver / "usr/local/Ascend/driver/lib64/driver/libascend_hal.so")
    assert loaded_path("libc_sec.so") == str(driver / "usr/local/Ascend/driver/lib64/common/libc_sec.so")
    count = ctypes.c_uint32()
    assert hal.drvGetDevNum(ctypes.byref(count)) == 0
    assert count.value == 3


def test_found_where_the_install_info_says(driver, tmp_path):
    prefix = tmp_path / "opt/npu"
    shutil.copytree(driver / "usr/local/Ascend", prefix)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ascend_install.info").write_text("Driver_Install_Path_Param=/opt/npu\n")
    found = Search(root=str(tmp_path), environ={}, load=by_path_only).open()
    assert found.path == str(prefix / "driver/lib64/driver/libascend_hal.so")


def test_named_by_the_environment(driver):
    path = str(driver / "usr/local/Ascend/driver/lib64/driver/libascend_hal.so")
    assert Search(root="/nowhere", environ={"ASCEND_HAL_LIB": path}).open().path == path


def test_handshake_reaches_the_library(hal):
    assert npuhal.shake_hands(hal) == (0x072418, 0x072418)
    told = ctypes.c_uint32()
    assert hal.halGetHostID(ctypes.byref(told)) == 0
    assert told.value == 0x072418


def test_structs_by_value_arrive_in_c(hal):
    attribute = structs.HandleAttr(mem_map_route=5)
    attribute.rsv[:] = range(1, 9)
    expected = 0x1000 + 1 + 5
    for i in range(1, 9):
        expected = expected * 31 + i
    assert hal.halMemHandleSetAttribute(0x1000, 1, attribute) == expected & 0xFFFF
    assert hal.halGrpAddProc(b"A", 7, structs.GroupShareAttr(admin=1, write=1)) == ord("A") + 7 + 5


def test_open_hal_names_what_a_driver_lacks(driver):
    path = driver / "usr/local/Ascend/driver/lib64/driver/libascend_hal.so"
    with pytest.raises(MissingSymbols, match="halMemAlloc") as caught:
        npuhal.open_hal(f"hal://{path}")
    assert "drvGetDevNum" not in caught.value.names


def test_the_stub_is_refused(tmp_path):
    path = compile_library(tmp_path / "devlib/stub/libascend_hal.so", STUB)
    with pytest.raises(StubLibrary, match=r"devlib/stub/libascend_hal\.so is the toolkit's link stub"):
        npuhal.open_hal(f"hal://{path}")


def test_a_file_that_is_no_library_says_why(tmp_path):
    path = tmp_path / "libascend_hal.so"
    path.write_text("not an ELF file")
    with pytest.raises(LibraryNotFound, match=r"libascend_hal\.so: .*(invalid ELF header|file too short)"):
        npuhal.open_hal(f"hal://{path}")


def test_a_bound_call_is_the_c_function_itself(hal):
    """From the second use on nothing of ours lies between the caller and ctypes."""
    count = ctypes.c_uint32()
    hal.drvGetDevNum(ctypes.byref(count))
    bound = vars(hal)["drvGetDevNum"]
    assert isinstance(bound, ctypes._CFuncPtr)
    assert bound.argtypes == [ctypes.POINTER(ctypes.c_uint32)]
    assert hal.drvGetDevNum is bound


TALKER = """
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) { printf("DrvMngGetConsoleLogLevel failed. (ret=4)\\n"); }
int drvGetDevNum(unsigned *n) { printf("asked\\n"); *n = 1; return 0; }
"""
SLEEPER = """
#include <unistd.h>
__attribute__((constructor)) static void start(void) { usleep(300000); }
int drvGetDevNum(unsigned *n) { *n = 1; return 0; }
"""


def test_what_a_library_prints_while_it_is_loaded_is_logged(tmp_path, capfd, caplog):
    path = compile_library(tmp_path / "talker/libascend_hal.so", TALKER)
    print("before")
    with caplog.at_level("WARNING", "npuhal.loader"):
        hal = Search(root=str(tmp_path)).open_file(str(path), f"hal://{path}")
    print("after", flush=True)
    assert capfd.readouterr().out == "before\nafter\n"
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"{path} printed: DrvMngGetConsoleLogLevel failed. (ret=4)", f"{path} printed: asked"]
    hal.close()


@pytest.mark.parametrize("channel", [False, True])
def test_a_slow_load_is_explained(tmp_path, monkeypatch, caplog, channel):
    monkeypatch.setattr(quiet, "SLOW_S", 0.1)
    if channel:
        (tmp_path / "dev").mkdir()
        (tmp_path / "dev/hisi_hdc").touch()
    path = compile_library(tmp_path / f"sleeper{channel}/libascend_hal.so", SLEEPER)
    with caplog.at_level("INFO", "npuhal.loader"):
        Search(root=str(tmp_path)).open_file(str(path), f"hal://{path}").close()
    *before, meanwhile, after = [record.getMessage() for record in caplog.records]
    assert meanwhile.startswith(f"{path} is still being loaded after 0.1 s: ")
    assert after.startswith(f"loading {path} took 0.")
    if channel:
        assert before == []
        assert after.endswith("its constructors wait, most often for /dev/hisi_hdc")
    else:
        assert before == [f"{path}: {quiet.expected_wait(str(tmp_path))}"]
        assert after.endswith(quiet.expected_wait(str(tmp_path)))


def test_a_slow_load_is_explained_while_it_happens_without_any_logging(tmp_path):
    path = compile_library(tmp_path / "unheard/libascend_hal.so", SLEEPER)
    text = (
        "from npuhal import quiet, loader\nquiet.SLOW_S = 0.05\n"
        f"loader.Search().open_file({str(path)!r}, 'hal://x')\nprint('loaded')"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout == "loaded\n"
    assert done.stderr.startswith(f"npuhal: {path} is still being loaded after 0.05 s: ")


PRINTS = """
#include <stdio.h>
#include <stdlib.h>
void say(void) { printf("mine, not flushed\\n"); }
"""


def test_what_the_program_has_printed_before_stays_its_own(tmp_path):
    own = compile_library(tmp_path / "libown.so", PRINTS)
    path = compile_library(tmp_path / "talker/libascend_hal.so", TALKER)
    text = (
        f"import ctypes\nfrom npuhal.loader import Search\nctypes.CDLL({str(own)!r}).say()\n"
        f"Search().open_file({str(path)!r}, 'hal://x')"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout == "mine, not flushed\n"


def test_a_library_that_does_not_load_says_why():
    with pytest.raises(OSError, match=r"/nowhere/lib\.so: cannot open shared object file"):
        quiet.load("/nowhere/lib.so", ctypes.RTLD_LOCAL)


def test_without_standard_output_a_library_loads_too(tmp_path):
    path = compile_library(tmp_path / "silent/libascend_hal.so", TALKER)
    text = f"from npuhal.loader import Search; print(1) if Search().open_file({str(path)!r}, 'hal://x') else 0"
    done = subprocess.run(f'{sys.executable} -c "{text}" >&-', shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
