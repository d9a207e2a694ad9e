"""Shareable handles, links, peers, failed memory and managed memory by name: codes, and what comes of them."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from tests.unit.runtime.capi.memory_bench import (
    Bench,
    D,
    H,
    MiB,
    P,
    Row,
    S,
    bench,
    refused,
    refusing,
    row_id,
    taken,
    words,
)  # fmt: skip

__all__ = ["bench", "refusing"]

_PROPERTIES = struct.pack("<IIIII4xQ", 0, 0, 4, 0, 1, 0)
"""An aclrtPhysicalMemProp: 2 MiB pages of HBM on device 0."""
BATCH = {"ptrs": P, "sizes": P, "count": 2, "prefetchLocs": P, "prefetchLocIdxs": P, "numPrefetchLocs": 1, "stream": S}
UCE = {"deviceId": 0, "memUceInfoArray": P}

ROWS: list[Row] = [
    # handles
    ("aclrtMemExportToShareableHandleV2", {"handle": D, "shareType": 1}, 100000, ["EH0008"]),
    ("aclrtMemExportToShareableHandleV2", {"shareableHandle": P, "shareType": 1}, 100000, ["EH0008"]),
    *[("aclrtMemExportToShareableHandleV2", {"handle": D, "shareType": kind, "shareableHandle": P}, 107000, ["EE1003"])
      for kind in (0, 3)],
    ("aclrtMemExportToShareableHandleV2", {"handle": D, "shareType": 1, "flags": 2, "shareableHandle": P}, 107000,
     ["EE1003"]),
    ("aclrtMemExportToShareableHandle", {"handle": D, "flags": 2, "shareableHandle": Out()}, 107000, ["EE1003"]),
    ("aclrtMemExportToShareableHandle", {"handle": D, "handleType": 2, "shareableHandle": Out()}, 100000, ["EH0007"]),
    ("aclrtMemImportFromShareableHandleV2", {"shareableHandle": P, "shareType": 1}, 100000, ["EH0008"]),
    ("aclrtMemImportFromShareableHandleV2", {"shareableHandle": P, "shareType": 5, "handle": Out()}, 107000,
     ["EE1003"]),
    ("aclrtMemImportFromShareableHandleV2", {"shareableHandle": P, "shareType": 1, "flags": 1, "handle": Out()},
     100000, ["EH0009"]),
    ("aclrtMemSetPidToShareableHandleV2", {"shareableHandle": P, "shareType": 1, "pid": P}, 100000, ["EH0007"]),
    ("aclrtMemSetPidToShareableHandleV2", {"shareableHandle": P, "shareType": 9, "pid": P, "pidNum": 1}, 107000,
     ["EE1003"]),
    # mappings and links
    ("aclrtMemMapNoAccess", {"virPtr": D, "size": 64, "handle": D}, 207000, []),
    ("aclrtMemMapNoAccess", {"virPtr": D, "size": 0, "handle": D}, 100000, ["EH0007"]),
    ("aclrtMemMapSetLink", {"adviceLink": 1}, 100000, ["EH0008"]),
    ("aclrtMemMapSetLink", {"handle": D, "adviceLink": 4}, 107000, ["EE1003"]),
    ("aclrtMemMapSelectedLink", {"virPtrDst": D, "virPtrSrc": D, "size": 0}, 100000, ["EH0001"]),
    ("aclrtMemMapSelectedLink", {"virPtrDst": D, "virPtrSrc": D, "size": 1, "linkIdx": 2}, 100000, ["EH0001"]),
    ("aclrtMapMem", {"virPtr": D, "size": 64, "handle": D, "flags": 1}, 100000, ["EH0007"]),
    ("aclrtReserveMemAddress", {"virPtr": Out(), "size": 2 * MiB, "flags": 2}, 100000, ["EH0007"]),
    # peers and processes
    ("aclrtMemP2PMap", {"size": 64}, 100000, ["EH0008"]),
    ("aclrtMemP2PMap", {"devPtr": D, "size": 0}, 100000, ["EH0007"]),
    ("aclrtMemP2PMap", {"devPtr": D, "size": 64, "flags": 1}, 100000, ["EH0009"]),
    ("aclrtMemP2PMap", {"devPtr": D, "size": 64, "dstDevId": 2}, 107001, []),
    ("aclrtMemP2PMap", {"devPtr": D, "size": 64, "dstDevId": 1}, 0, []),
    ("aclrtDeviceGetBareTgid", {}, 100000, ["EH0008"]),
    ("aclrtIpcMemImportPidInterServer", {"key": "x", "num": 1}, 107000, ["EE1004"]),
    ("aclrtIpcMemImportPidInterServer", {"key": "x", "serverPids": P, "num": 0}, 107000, ["EE1003"]),
    # failed memory, cache
    ("aclrtGetMemUceInfo", {**UCE, "arraySize": 20}, 100000, ["EH0008"]),
    ("aclrtGetMemUceInfo", {**UCE, "deviceId": 5, "retSize": Out()}, 107001, ["EE1003"]),
    ("aclrtMemUceRepair", {**UCE, "arraySize": 21}, 100000, ["EH0009"]),
    ("aclrtMemUceRepair", {**UCE, "arraySize": 1}, 100000, ["EH0012"]),  # the reserved words are not 0
    ("aclrtDeviceL2CacheFlush", {"rsv": 1}, 100000, ["EH0012"]),
    ("aclrtDeviceL2CacheFlush", {}, 207000, ["EE1015"]),
    # managed memory
    *[("aclrtMemManagedPrefetchBatchAsync", {**BATCH, name: None}, 100000, ["EH0008"])
      for name in ("ptrs", "sizes", "prefetchLocs", "prefetchLocIdxs")],
    *[("aclrtMemManagedPrefetchBatchAsync", {**BATCH, name: 0}, 100000, ["EH0007"])
      for name in ("count", "numPrefetchLocs")],
    ("aclrtMemManagedPrefetchBatchAsync", {**BATCH, "numPrefetchLocs": 3}, 100000, ["EH0009"]),
    ("aclrtMemManagedPrefetchBatchAsync", {**BATCH, "flags": 1}, 100000, ["EH0009"]),
    ("aclrtMemManagedPrefetchBatchAsync", BATCH, 107000, ["EE1003"]),  # the first run does not begin at 0
    ("aclrtMemManagedGetAttrs", {"attributes": P, "numAttributes": 1, "ptr": D, "size": 1, "data": P}, 100000,
     ["EH0008"]),
    ("aclrtMemManagedGetAttrs", {"attributes": P, "numAttributes": 1, "ptr": D, "size": 1, "data": P, "dataSizes": P},
     107000, ["EE1003"]),
    # atomic operations
    ("aclrtDeviceGetHostAtomicCapabilities", {"operations": P, "count": 1}, 107000, ["EE1004"]),
    ("aclrtDeviceGetHostAtomicCapabilities", {"capabilities": H, "operations": P, "count": 0}, 107000, ["EE1003"]),
    ("aclrtDeviceGetHostAtomicCapabilities", {"capabilities": H, "operations": P, "count": 1}, 107000, ["EE1011"]),
    ("aclrtDeviceGetP2PAtomicCapabilities", {"capabilities": H, "operations": P, "count": 1}, 107001, ["EE1003"]),
    ("aclrtDeviceGetP2PAtomicCapabilities", {"capabilities": H, "operations": P, "count": 1, "dstDeviceId": 2}, 107001,
     ["EE1003"]),
]  # fmt: skip


@pytest.mark.parametrize("row", refused(ROWS), ids=row_id)
def test_codes(refusing: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    assert refusing.call(call, **arguments) == (code, messages)


@pytest.mark.parametrize("row", taken(ROWS), ids=row_id)
def test_calls_that_are_taken(bench: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    assert bench.call(call, **arguments) == (code, messages)


def physical(bench: Bench) -> int:
    prop = ctypes.create_string_buffer(_PROPERTIES, 32)
    return bench.made("aclrtMallocPhysical", "handle", size=2 * MiB, prop=ctypes.addressof(prop))


@pytest.mark.parametrize(("kind", "size"), [(1, 8), (2, 128)], ids=["number", "fabric"])
def test_a_handle_is_shared_with_whom_is_listed(bench: Bench, kind: int, size: int) -> None:
    handle, block = physical(bench), ctypes.create_string_buffer(b"\xee" * 136, 136)
    shared: dict[str, Any] = {"shareType": kind, "shareableHandle": ctypes.addressof(block)}
    assert bench.call("aclrtMemExportToShareableHandleV2", handle=handle, **shared) == (0, [])
    assert block.raw[size:] == b"\xee" * (136 - size)
    assert bench.call("aclrtMemImportFromShareableHandleV2", handle=Out(), **shared)[0] != 0
    pid = ctypes.c_int32(bench.made("aclrtDeviceGetBareTgid", "pid"))
    assert pid.value == os.getpid()
    assert bench.call(
        "aclrtMemSetPidToShareableHandleV2", pid=ctypes.addressof(pid), pidNum=1, **shared
    ) == (0, [])  # fmt: skip
    assert bench.made("aclrtMemImportFromShareableHandleV2", "handle", **shared) == handle
    other = ctypes.create_string_buffer(136)
    open_to_all = {**shared, "shareableHandle": ctypes.addressof(other)}
    assert bench.call("aclrtMemExportToShareableHandleV2", handle=physical(bench), flags=1, **open_to_all) == (0, [])
    assert bench.made("aclrtMemImportFromShareableHandleV2", "handle", **open_to_all)


def test_importing_another_devices_memory_lets_the_device_reach_it(bench: Bench) -> None:
    number = bench.made("aclrtMemExportToShareableHandle", "shareableHandle", handle=physical(bench), flags=1)
    assert bench.acl.call("aclrtSetDevice", deviceId=1) == 0
    cards = bench.acl.runtime.hal.fake.devices  # type: ignore[attr-defined]
    assert not cards[1].peers
    bench.made("aclrtMemImportFromShareableHandle", "handle", shareableHandle=number, deviceId=1)
    assert list(cards[1].peers) == [0]


def test_memory_mapped_over_a_second_link(bench: Bench) -> None:
    source = bench.made("aclrtReserveMemAddress", "virPtr", size=4 * MiB, flags=1)
    target = bench.made("aclrtReserveMemAddress", "virPtr", size=4 * MiB, flags=1)
    for offset in (0, 2 * MiB):
        handle = physical(bench)
        assert bench.call("aclrtMemMapSetLink", handle=handle, adviceLink=0) == (0, [])
        assert bench.call("aclrtMapMem", virPtr=source + offset, size=2 * MiB, handle=handle) == (0, [])
    link: dict[str, Any] = {"virPtrDst": target, "size": 4 * MiB, "linkIdx": 1}
    assert bench.call("aclrtMemMapSelectedLink", virPtrSrc=source + 64, **link) == (107000, [])
    assert bench.call("aclrtMemMapSelectedLink", virPtrSrc=source, **link) == (0, [])
    for offset in (5, 3 * MiB):
        assert bench.call("aclrtMemset", devPtr=source + offset, maxCount=9, value=7, count=9) == (0, [])
        memory = bench.acl.runtime.hal.fake.memory  # type: ignore[attr-defined]
        assert memory.read(target + offset, 10) == b"\7" * 9 + b"\0"


def test_memory_that_has_failed_is_listed_and_repaired(bench: Bench) -> None:
    rows, count = ctypes.create_string_buffer(128 * 20), Out()
    where: dict[str, Any] = {"deviceId": 0, "memUceInfoArray": ctypes.addressof(rows)}
    assert bench.call("aclrtGetMemUceInfo", **where, arraySize=20, retSize=count) == (0, [])
    assert count.value == 0
    bad = bench.named[D] + 64
    bench.acl.runtime.hal.fake.device(0).failed_memory += [(bad, 32), (bad + 64, 8)]  # type: ignore[attr-defined]
    assert bench.call("aclrtGetMemUceInfo", **where, arraySize=1, retSize=Out()) == (100000, ["EH0009"])
    assert bench.call("aclrtGetMemUceInfo", **where, arraySize=2, retSize=count) == (0, [])
    assert count.value == 2
    assert [struct.unpack_from("<QQ", rows, at) for at in (0, 128)] == [(bad, 32), (bad + 64, 8)]
    assert bench.call("aclrtMemUceRepair", **where, arraySize=2) == (0, [])
    assert bench.call("aclrtMemUceRepair", **where, arraySize=2)[0] != 0
    assert bench.call("aclrtGetMemUceInfo", **where, arraySize=2, retSize=count) == (0, [])
    assert count.value == 0


def test_managed_memory_moves_in_batches(bench: Bench) -> None:
    if bench.acl.runtime.machine.chip.generation != "v100":
        assert bench.call("aclrtMemAllocManaged", ptr=Out(), size=64, flag=1)[0] == 207000
        return
    blocks = [bench.made("aclrtMemAllocManaged", "ptr", size=2 * MiB, flag=1) for _ in range(3)]
    place = ctypes.create_string_buffer(struct.pack("<IiIi", 1, 0, 1, 0), 16)
    columns = {"ptrs": words(*blocks), "sizes": words(64, 64, 64), "prefetchLocs": place}
    given = {name: ctypes.addressof(column) for name, column in columns.items()}
    for starts, code, messages in (
        ((0, 2), 0, []), ((0, 3), 107000, ["EE1017"]), ((0, 0), 107000, ["EE1017"]), ((1, 2), 107000, ["EE1003"]),
    ):  # fmt: skip
        first = words(*starts)
        assert bench.call(
            "aclrtMemManagedPrefetchBatchAsync", **given, count=3, prefetchLocIdxs=ctypes.addressof(first),
            numPrefetchLocs=2, stream=S,
        ) == (code, messages)  # fmt: skip
    assert bench.call("aclrtSynchronizeStream", stream=S) == (0, [])
    assert bench.call("aclrtMemManagedAdvise", ptr=blocks[0], size=64, advise=0, location=ctypes.addressof(place)) == (
        0, [],
    )  # fmt: skip
    kinds, room = (ctypes.c_uint32 * 2)(1, 1), words(4, 4)
    one, two = ctypes.c_uint32(9), ctypes.c_uint32(9)
    data = words(ctypes.addressof(one), ctypes.addressof(two))
    assert bench.call(
        "aclrtMemManagedGetAttrs", attributes=ctypes.addressof(kinds), numAttributes=2, ptr=blocks[0], size=64,
        data=ctypes.addressof(data), dataSizes=ctypes.addressof(room),
    ) == (0, [])  # fmt: skip
    assert one.value == two.value == 1


@pytest.mark.parametrize("link", ["dma", "ub"])
def test_atomic_operations_over_the_links(link: str) -> None:
    bench = Bench("ascend950pr_9599", f"&args={link}")
    asked, found = (ctypes.c_int32 * 3)(0, 3, 13), (ctypes.c_uint32 * 3)()
    columns: dict[str, Any] = {
        "capabilities": ctypes.addressof(found), "operations": ctypes.addressof(asked), "count": 3,
    }  # fmt: skip
    assert bench.call("aclrtDeviceGetHostAtomicCapabilities", deviceId=0, **columns) == (0, [])
    assert list(found) == ([99, 98, 0] if link == "ub" else [0, 0, 0])
    assert bench.call("aclrtDeviceGetP2PAtomicCapabilities", srcDeviceId=0, dstDeviceId=1, **columns) == (0, [])
    assert list(found) == [99, 98, 0]
    bench.acl.close()
