"""`npuhal bench --library` and `--peers`: rows of other runtimes beside ours."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from npuhal.compiler import find_compiler
from runtime.cli import bench
from runtime.cli.bench import library, peers
from runtime.cli.output import Output
from runtime.cli.parser import UsageError

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
STUB = """
#include <stdio.h>
#include <stdlib.h>
int aclInit(void *config) { return puts("[INFO]\\tof the library"), 0; }
int aclrtSetDevice(int device) { return DEVICE; }
int aclrtCreateStream(void **made) { return *made = made, 0; }
int aclrtMalloc(void **made, size_t size, int policy) { return *made = made, size == 4096 ? 0 : 9; }
int aclrtMallocHost(void **made, size_t size) { return *made = made, 0; }
int aclrtSynchronizeStream(void *stream) { return 0; }
int aclrtCreateEvent(void **made) { return *made = made, 0; }
int aclrtRecordEvent(void *event, void *stream) { return 0; }
int aclrtStreamWaitEvent(void *stream, void *event) { return 107000; }
int aclrtMemcpyAsync(void *dst, size_t most, void *src, size_t size, int kind, void *stream) {
    if (kind != 3 && ABORTS) abort();
    return kind == 3 ? 0 : 7;
}
"""


def built(folder: Path, device: int, aborts: bool = False) -> str:
    source, made = folder / "stub.c", folder / "libascendcl.so"
    source.write_text(STUB)
    facts = (f"-DDEVICE={device}", f"-DABORTS={int(aborts)}")
    command = [str(find_compiler()), "-shared", "-fPIC", "-w", *facts, "-o", str(made), str(source)]
    subprocess.run(command, check=True)
    return str(made)


@needs_compiler
def test_rows_of_a_library_and_what_it_cannot(tmp_path: Path) -> None:
    found = {row.name: row for row in library.rows(built(tmp_path, 0), 500)}
    measured = {name for name, row in found.items() if row.calls}
    assert measured == {"event record", "copy inside the device, 4 KiB"}
    for name in measured:
        assert found[name].backend == "library"
        assert min(found[name].value, found[name].ratio) > 0
    assert "event record and wait: aclrtStreamWaitEvent answers 107000" in found
    assert "notify record: aclrtCreateNotify (not there) answers -1" in found
    assert "launch, 64 bytes of arguments: no kernel was given" in found
    assert "copy to the device, 4 KiB, pinned: aclrtMemcpyAsync answers 7" in found


@needs_compiler
def test_a_library_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="aclrtSetDevice answers 5"):
        list(library.rows(built(tmp_path, 5), 500))
    with pytest.raises(UsageError, match=r"no\.so"):
        list(library.rows(str(tmp_path / "no.so"), 500))
    with pytest.raises(UsageError, match="the name of a kernel"):
        list(library.rows("libascendcl.so", 500, "kernel.o"))
    with pytest.raises(UsageError, match=r"there is no file .*kernel\.o"):
        list(library.rows("libascendcl.so", 500, f"{tmp_path}/kernel.o:add"))


@needs_compiler
def test_a_library_that_ends_the_process_leaves_what_was_measured(tmp_path: Path) -> None:
    *rows, last = library.rows(built(tmp_path, 0, aborts=True), 500)
    assert [row.name for row in rows if row.calls] == ["event record", "copy inside the device, 4 KiB"]
    assert (last.calls, last.name.partition(":")[0]) == (0, "ended by signal 6 behind these")


@needs_compiler
def test_a_library_that_cannot_be_used_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "rows", None)
    given = argparse.Namespace(
        json=False, quick=True, rows="notify record, ascend910b1", against=None, pairs=None, kernel="", peers=False,
        library=str(tmp_path / "no.so"),
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"no\.so"):
        bench.run(given, Output())


def test_peers_that_are_not_installed_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = peers._Peer("another", {"ANSWER": "42"}, "import os, absent_" + "module")
    script = "import os; print('DEBUG\\tof the peer'); assert os.environ['ANSWER'] == '42'; told('call', int, 10)"
    there = peers._Peer("there", {"ANSWER": "42"}, script)
    monkeypatch.setattr(peers, "_PEERS", (peer, there))
    missing, measured = peers.rows()
    assert (missing.calls, missing.backend) == (0, "another")
    assert "absent_module" in missing.name
    assert (measured.name, measured.calls) == ("call", 10)
    assert measured.value > 0


def test_a_peer_that_does_not_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_PEERS", (peers._Peer("endless", {}, "while True: pass"),))
    monkeypatch.setattr(peers, "_LIMIT_S", 0.1)
    (row,) = peers.rows()
    assert (row.calls, row.name) == (0, "not measured: no end within 0.1 s")
