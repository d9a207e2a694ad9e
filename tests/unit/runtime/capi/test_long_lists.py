"""Lists longer than any function takes: an answer at once, whether or not there is memory behind all of the count."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import pytest

from runtime import errors
from runtime.capi.aclrt import Out
from runtime.driver.ipc import ShareDriver
from runtime.memory import caller
from tests.unit.runtime.capi.memory_bench import Bench, D, S, bench, words

__all__ = ["bench"]

LIST = "list"
LONG = caller.MOST_ROWS + 1
_BATCH = {**dict.fromkeys(("dsts", "destMaxs", "srcs", "sizes", "attrs", "attrsIndexes"), LIST), "numAttrs": 1}
_PREFETCH = {**dict.fromkeys(("ptrs", "sizes", "prefetchLocs", "prefetchLocIdxs"), LIST), "numPrefetchLocs": 1}

CALLS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("aclrtIpcMemSetImportPid", "num", {"key": LIST, "pid": LIST}, []),
    ("aclrtIpcMemImportPidInterServer", "num", {"key": LIST, "serverPids": LIST}, []),
    ("aclrtNotifyBatchReset", "num", {"notifies": LIST}, []),
    ("aclrtCreateLabelList", "num", {"labels": LIST, "labelList": Out()}, ["EE1003"]),
    ("aclrtMemSetPidToShareableHandle", "pidNum", {"shareableHandle": 1, "pid": LIST}, []),
    ("aclrtMemSetPidToShareableHandleV2", "pidNum", {"shareableHandle": LIST, "shareType": 1, "pid": LIST}, []),
    ("aclrtMemSetAccess", "count", {"virPtr": D, "size": 4096, "desc": LIST}, []),
    ("aclrtMemcpyBatch", "numBatches", {**_BATCH, "failIndex": Out()}, ["EE1003"]),
    ("aclrtMemcpyBatchV2", "numBatches", _BATCH, ["EE1003"]),
    ("aclrtMemcpyBatchAsync", "numBatches", {**_BATCH, "failIndex": Out(), "stream": S}, []),
    ("aclrtMemcpyBatchAsyncV2", "numBatches", {**_BATCH, "stream": S}, []),
    ("aclrtDeviceGetHostAtomicCapabilities", "count", {"capabilities": LIST, "operations": LIST}, []),
    ("aclrtMemManagedGetAttrs", "numAttributes",
     {"attributes": LIST, "ptr": D, "size": 4096, "data": LIST, "dataSizes": LIST}, []),
    ("aclrtMemManagedPrefetchBatchAsync", "count", {**_PREFETCH, "stream": S}, []),
    ("aclrtCheckMemType", "size", {"addrList": LIST, "memType": 2, "checkResult": Out()}, []),
]  # fmt: skip
"""Function, the parameter that counts, the others, and the messages that go with 107000."""


@pytest.fixture(scope="module")
def memory() -> Iterator[int]:
    """Zeros for the whole of a long list of the widest rows."""
    with mmap.mmap(-1, LONG * 64) as area:
        byte = ctypes.c_char.from_buffer(area)
        yield ctypes.addressof(byte)
        del byte


def test_a_list_that_is_too_long_is_refused_before_it_is_walked(
    bench: Bench, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0
    fetch = caller.read

    def noted(address: int, size: int) -> bytes:
        nonlocal most
        most = max(most, size)
        return fetch(address, size)

    monkeypatch.setattr(caller, "read", noted)
    bench.named[LIST] = memory
    for call, count, others, messages in CALLS:
        for length in (LONG, (1 << 31) - 1):
            assert bench.call(call, **{count: length}, **others) == (107000, messages), (call, length)
    assert most <= 8 * caller.MOST_ROWS


def test_the_longest_list_is_taken_and_its_next_refused(memory: int) -> None:
    assert len(caller.array(ctypes.c_uint64, caller.MOST_ROWS, memory)) == caller.MOST_ROWS
    with pytest.raises(errors.InvalidArgument, match=f"a list of {LONG}: at most {caller.MOST_ROWS}"):
        caller.array(ctypes.c_uint64, LONG, memory)


def test_lists_within_a_list_count_together(bench: Bench, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    half = caller.MOST_ROWS // 2 + 1
    asked: list[int] = []
    rows = words(*[0, memory, half] * 2)
    where = {"key": memory, "serverPids": ctypes.addressof(rows)}
    for share in (1, half):
        rows[2] = rows[5] = share
        with monkeypatch.context() as patch:
            patch.setattr(ShareDriver, "allow_server", lambda driver, key, server, pids: asked.append(len(pids)))
            assert bench.call("aclrtIpcMemImportPidInterServer", num=2, **where) == (107000 if share > 1 else 0, [])
    assert asked == [1, 1]
