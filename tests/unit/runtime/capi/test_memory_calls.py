"""The codes of the memory chapters of the C API (core_spec 13), call by call."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from runtime.core.stream.stream import Stream
from runtime.errors.tables import public_code
from tests.unit.runtime.capi.memory_bench import (
    D2,
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

POOL_OP_INVALID = public_code("RT_ERROR_POOL_OP_INVALID")
COPY = {"dst": D, "destMax": 64, "src": H, "count": 64, "kind": 1}
PLANE = {"dst": D, "dpitch": 64, "src": H, "spitch": 64, "width": 32, "height": 4, "kind": 1}
MALLOC = {"size": 64, "policy": 0}
_ATTRIBUTES = {number: ctypes.create_string_buffer(struct.pack("<IIIxxxx", number, int(number == 3), 0)[:12], 12)
               for number in (1, 2, 3, 4, 9)}  # fmt: skip
_CONFIGS = {number: words(ctypes.addressof(row), 1) for number, row in _ATTRIBUTES.items()}
MODULES = {number: ctypes.addressof(config) for number, config in _CONFIGS.items()}
"""aclrtMallocConfig with one attribute: 1 module, 2 device, 3 unified address."""
_COLUMN, _STARTS, _PLACES = words(*[64] * 4097), words(0), words(0, 0, 0, 0)
BATCH = {**dict.fromkeys(("dsts", "destMaxs", "srcs", "sizes"), ctypes.addressof(_COLUMN)), "numAttrs": 1,
         "attrs": ctypes.addressof(_PLACES), "attrsIndexes": ctypes.addressof(_STARTS), "failIndex": Out()}  # fmt: skip

ROWS: list[Row] = [
    # 13.1: what is no allocation
    *[(call, {"devPtr": Out(), **MALLOC, "size": 0}, 100000, ["EH0007"]) for call in (
        "aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocCached", "aclrtMallocWithCfg", "aclrtMallocForTaskScheduler")],
    ("aclrtMalloc", MALLOC, 100000, ["EH0008"]),
    ("aclrtMalloc", {"devPtr": Out(), "size": (1 << 64) - 1}, 100000, []),
    ("aclrtMalloc", {"devPtr": Out(), "size": 1 << 50}, 207001, []),
    ("aclrtMalloc", {"devPtr": Out(), "size": 64, "policy": -1}, 0, []),
    ("aclrtFree", {}, 100000, ["EH0008"]),
    *[("aclrtMallocWithCfg", {"devPtr": Out(), **MALLOC, "cfg": MODULES[number]}, code, messages)
      for number, code, messages in ((1, 0, []), (2, 0, []), (4, 107000, ["EE1003"]))],
    ("aclrtFree", {"devPtr": P}, None, []),
    # 13.4: host memory
    ("aclrtMallocHost", {"hostPtr": Out(), "size": 0}, 100000, ["EH0007"]),
    ("aclrtMallocHost", {"size": 64}, 100000, ["EH0008"]),
    ("aclrtFreeHost", {"hostPtr": D}, 107000, ["EE1011"]),
    ("aclrtFree", {"devPtr": H}, 0, []),
    *[("aclrtMallocHostWithCfg", {"ptr": Out(), "size": 64, "cfg": MODULES[number]}, code, messages)
      for number, code, messages in ((1, 0, []), (2, 107000, ["EE1003"]), (9, 107000, ["EE1003"]))],
    ("aclrtMallocHostWithCfg", {"ptr": Out(), "size": 0}, 100000, ["EH0007"]),
    ("aclrtFreeHost", {}, 100000, ["EH0008"]),
    ("aclrtHostRegisterV2", {"ptr": P, "size": 64, "flag": 0}, 107000, ["EE1011"]),
    ("aclrtHostRegisterV2", {"ptr": P, "size": 64, "flag": 1}, 107000, ["EE1011"]),
    ("aclrtHostRegister", {"ptr": P, "size": 64, "type": 2, "devPtr": Out()}, 207000, ["EE1001"]),
    ("aclrtHostUnregister", {"ptr": P}, 507911, ["EE1018"]),
    ("aclrtHostGetDevicePointer", {"pHost": P, "pDevice": Out(), "flag": 1}, 100000, ["EH0009"]),
    ("aclrtHostGetDevicePointer", {"pHost": P, "pDevice": Out()}, 107000, ["EE1011"]),
    # 13.5, 13.6: synchronous copies
    ("aclrtMemcpy", {**COPY, "count": 0, "dst": None, "kind": 99}, 0, []),
    ("aclrtMemcpy", {**COPY, "dst": None}, 100000, ["EH0008"]),
    ("aclrtMemcpy", {**COPY, "src": None}, 100000, ["EH0008"]),
    *[("aclrtMemcpy", {**COPY, "kind": kind}, 100000, ["EH0007"]) for kind in (-1, 6, 7, 8)],
    *[("aclrtMemcpy", {**COPY, "kind": kind}, 0, []) for kind in range(6)],
    ("aclrtMemcpy", {**COPY, "destMax": 63}, 107000, ["EE1003"]),
    # 13.7: copies in a stream
    *[("aclrtMemcpyAsync", {**COPY, "stream": S, "kind": kind}, 0, []) for kind in range(6)],
    *[("aclrtMemcpyAsync", {**COPY, "stream": S, "kind": kind}, 100000, ["EH0007"]) for kind in (-1, 6, 7, 8)],
    ("aclrtMemcpyAsync", {**COPY, "stream": S, "destMax": 63}, 107000, ["EE1003"]),
    *[("aclrtMemcpyAsync", {**COPY, "stream": S, "src": P, "kind": kind}, 107000, ["EE1001"]) for kind in (0, 2)],
    *[("aclrtMemcpyAsync", {**COPY, "stream": S, "src": P, "kind": kind}, 0, []) for kind in (1, 3, 4, 5)],
    *[("aclrtMemcpyAsync", {**COPY, "stream": S, "src": D, "dst": P, "kind": kind}, 107000, ["EE1001"])
      for kind in (0, 1)],
    ("aclrtMemcpyAsync", {**COPY, "stream": S, "src": D, "kind": 5, "dst": H}, 107000, ["EE1011"]),
    ("aclrtMemcpyAsync", {**COPY, "stream": S, "dst": P, "kind": 0}, 207000, []),
    ("aclrtMemcpyAsync", {**COPY, "stream": S, "dst": P, "kind": 4}, 207000, []),
    ("aclrtMemcpyAsync", {**COPY, "stream": S, "dst": D, "src": D, "kind": 3}, 0, []),
    # 13.8: fills
    ("aclrtMemset", {"devPtr": D, "maxCount": 32, "value": 1, "count": 64}, 107000, []),
    ("aclrtMemset", {"count": 0}, 0, []),
    # a number below 0 is what C makes of it where a type has no sign
    *[("aclrtMemset", {"devPtr": D, "maxCount": room, "value": 1, "count": -1}, 107000, []) for room in (64, -1)],
    ("aclrtMemsetAsync", {"devPtr": D, "maxCount": 64, "value": 1, "count": -1, "stream": S}, 107000, ["EE1003"]),
    ("aclrtMemcpy", {**COPY, "count": -1}, 107000, ["EE1003"]),
    ("aclrtMemsetD32", {"ptr": D, "memSize": 64, "value": 1, "N": -1}, 100000, ["EH0009"]),
    ("aclrtMemset", {"maxCount": 64, "value": 1, "count": 64}, 100000, ["EH0008"]),
    ("aclrtMemsetAsync", {"devPtr": D, "maxCount": 32, "value": 1, "count": 64, "stream": S}, 107000, ["EE1003"]),
    ("aclrtMemsetD32", {"ptr": D, "memSize": 8, "value": 1, "N": 4}, 100000, ["EH0009"]),
    ("aclrtMemsetD32", {"ptr": D, "memSize": 64, "value": 1, "N": 0}, 0, []),
    ("aclrtMemsetD32", {"memSize": 64, "value": 1, "N": 1}, 100000, ["EH0008"]),
    ("aclrtMemsetD32Async", {"ptr": D, "memSize": 8, "value": 1, "N": 4, "stream": S}, 100000, ["EH0009"]),
    ("aclrtMemsetAsync", {"devPtr": P, "maxCount": 64, "value": 1, "count": 64, "stream": S}, 0, []),
    # 13.9: rows
    *[("aclrtMemcpy2d", {**PLANE, "kind": kind}, 100000, ["EH0007"]) for kind in (-1, 0, 5, 6, 7, 8)],
    ("aclrtMemcpy2d", {**PLANE, "kind": 2}, 107000, ["EE1017"]),
    ("aclrtMemcpy2d", {**PLANE, "kind": 3}, 207000, ["EE1001"]),
    ("aclrtMemcpy2d", {**PLANE, "dpitch": 16}, 100000, ["EH0009"]),
    ("aclrtMemcpy2d", {**PLANE, "height": 0}, 0, []),
    ("aclrtMemcpy2d", {**PLANE, "height": 5 * MiB + 1}, 107000, ["EE1003"]),
    ("aclrtMemcpy2d", {**PLANE, "width": 5_000_001, "dpitch": 1 << 23, "spitch": 1 << 23}, 107000, ["EE1003"]),
    ("aclrtMemcpy2d", {**PLANE, "dpitch": 1 << 60, "spitch": 1 << 60, "height": 16}, 100000, []),
    ("aclrtMemcpy2d", {**PLANE, "src": None}, 100000, ["EH0008"]),
    *[("aclrtMemcpy2dAsync", {**PLANE, "kind": kind, "stream": S}, 0, []) for kind in range(1, 5)],
    *[("aclrtMemcpy2dAsync", {**PLANE, "kind": kind, "stream": S}, 100000, ["EH0007"]) for kind in (-1, 0, 5, 6, 7, 8)],
    ("aclrtMemcpy2dAsync", {**PLANE, "spitch": 16, "stream": S}, 100000, ["EH0009"]),
    ("aclrtMemcpy2dAsync", {**PLANE, "width": 0, "stream": S}, 0, []),
    *[("aclrtMemcpyBatch", {**BATCH, "numBatches": 4097}, 107000, ["EE1003"])],
    # 13.10
    *[("aclrtGetMemInfo", {"attr": attr, "free": Out(), "total": Out()}, 107016, ["EE1003"]) for attr in (18, -1)],
    ("aclrtGetMemInfo", {"attr": 1, "total": Out()}, 100000, ["EH0008"]),
    ("aclrtMemGetAddressRange", {"ptr": D}, 107000, ["EE1022"]),
    ("aclrtMemGetAddressRange", {"ptr": P, "pbase": Out(), "psize": Out()}, 107000, []),
    ("aclrtCheckMemType", {"addrList": P, "size": 1, "memType": 4, "checkResult": Out()}, 107000, ["EE1006"]),
    # 13.11
    ("aclrtReserveMemAddress", {"virPtr": Out(), "size": 2 * MiB, "alignment": 8}, 107000, []),
    ("aclrtMemSetAccess", {"size": 1, "desc": P, "count": 1}, 107000, ["EE1004"]),
    # 13.12
    ("aclrtIpcMemGetExportKey", {"devPtr": D, "size": 0, "key": P, "len": 65}, 107000, ["EE1003"]),
    ("aclrtIpcMemGetExportKey", {"devPtr": D, "size": 1, "key": P, "len": 65, "flags": 2}, 107000, ["EE1003"]),
    ("aclrtIpcMemGetExportKey", {"devPtr": D, "size": 4096, "key": P, "len": 64}, 107000, []),
    ("aclrtIpcMemSetAttr", {"key": "x", "type": 1}, 107000, ["EE1003"]),
    # reductions and cache operations
    ("aclrtReduceAsync", {"dst": D, "src": D2, "count": 64, "kind": 10, "type": 9, "stream": S}, 100000, ["EH0009"]),
    ("aclrtReduceAsync", {"dst": D, "src": D2, "count": 0, "kind": 10, "stream": S}, 107000, ["EE1003"]),
    ("aclrtReduceAsync", {"dst": D, "src": D2, "count": 64, "kind": 14, "stream": S}, 107000, ["EE1003"]),
    ("aclrtCmoAsync", {"src": D, "size": 64, "cmoType": 4, "stream": S}, 207000, []),
    ("aclrtCmoAsync", {"src": D, "size": 0, "cmoType": 0, "stream": S}, 100000, ["EH0007"]),
]  # fmt: skip


@pytest.mark.parametrize("row", refused(ROWS), ids=row_id)
def test_codes(refusing: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    if code is None:  # the driver's answer, which differs by generation
        assert refusing.call(call, **arguments)[0] != 0
    else:
        assert refusing.call(call, **arguments) == (code, messages)
    assert refusing.acl.call("aclrtSynchronizeStream", stream=refusing.named[S]) == 0


@pytest.mark.parametrize("row", taken(ROWS), ids=row_id)
def test_calls_that_are_taken(bench: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    assert bench.call(call, **arguments) == (code, messages)
    assert bench.acl.call("aclrtSynchronizeStream", stream=bench.named[S]) == 0


def test_a_call_without_a_context_is_refused(bench: Bench) -> None:
    assert bench.acl.call("aclrtResetDevice", deviceId=0) == 0
    assert bench.call("aclrtMalloc", devPtr=Out(), size=64) == (107002, ["EE1018"])
    assert bench.call("aclrtMallocHost", hostPtr=Out(), size=64) == (107002, ["EE1018"])
    assert bench.call("aclrtGetMemInfo", attr=1, free=Out(), total=Out()) == (107002, ["EE1001"])
    assert bench.call("aclrtFreeHost", hostPtr=H) == (0, [])


def test_a_stream_of_another_context_is_refused(bench: Bench) -> None:
    assert bench.acl.call("aclrtSetDevice", deviceId=1) == 0
    assert bench.call("aclrtMemcpyAsync", **COPY, stream=S) == (107003, ["EE1010"])


@pytest.mark.parametrize("attribute", range(18))
def test_memory_information_moves_with_allocations(bench: Bench, attribute: int) -> None:
    free, total = Out(), Out()
    assert bench.call("aclrtGetMemInfo", attr=attribute, free=free, total=total)[0] == 0
    assert 0 <= free.value <= total.value
    if attribute == 1:
        before = free.value
        bench.made("aclrtMalloc", "devPtr", size=8 * MiB)
        bench.call("aclrtGetMemInfo", attr=attribute, free=free, total=total)
        assert before - free.value == pytest.approx(8 * MiB, abs=2 * MiB)


@pytest.mark.parametrize(("soc", "options", "code"), [
    ("ascend910b1", "", 207000), ("ascend910b1", "&features=0x954", 0), ("ascend950pr_9599", "", 0),
    ("ascend950pr_9599", "&features=0x854", 207000),
])  # fmt: skip
def test_host_memory_at_shared_addresses_is_there_where_the_driver_says_so(soc: str, options: str, code: int) -> None:
    made = Bench(soc, options)
    assert made.call("aclrtMallocHostWithCfg", ptr=Out(), size=64, cfg=MODULES[3]) == (code, [])
    made.acl.close()


@pytest.mark.parametrize(("address", "location"), [(D, 1), (H, 0), (P, 2)])
def test_pointer_attributes(bench: Bench, address: str, location: int) -> None:
    block = ctypes.create_string_buffer(64)
    for offset in (0, 100):
        code, _ = bench.call(
            "aclrtPointerGetAttributes", ptr=bench.named[address] + offset, attributes=ctypes.addressof(block)
        )
        assert code == 0
        assert struct.unpack_from("<III", block)[1] == location
    freed = bench.made("aclrtMalloc", "devPtr", size=64)
    bench.acl.call("aclrtFree", devPtr=freed)
    assert bench.call("aclrtPointerGetAttributes", ptr=freed, attributes=ctypes.addressof(block)) == (507899, [])
    assert bench.call("aclrtPointerGetAttributes", ptr=0, attributes=1) == (100000, ["EH0008"])


def test_kind_5_takes_its_source_at_the_call(bench: Bench) -> None:
    host, target = bench.named[H], bench.named[D]
    ctypes.memset(host, 0xAA, 64)
    card = bench.acl.runtime.hal.fake.device(0)  # type: ignore[attr-defined]
    stream = bench.acl.runtime.handles.get(bench.named[S], Stream)
    card.hold(stream.stream_id)
    assert bench.call("aclrtMemcpyAsync", **{**COPY, "kind": 5}, stream=S) == (0, [])
    assert bench.call("aclrtMemcpyAsync", **{**COPY, "dst": D2}, stream=S) == (0, [])
    ctypes.memset(host, 0xBB, 64)
    card.release(stream.stream_id)
    assert bench.acl.call("aclrtSynchronizeStream", stream=bench.named[S]) == 0
    memory = bench.acl.runtime.hal.fake.memory  # type: ignore[attr-defined]
    assert memory.read(target, 64) == b"\xaa" * 64
    assert memory.read(bench.named[D2], 64) == b"\xbb" * 64


def claim(target: int, source: int) -> bytes:
    return struct.pack("<IIII16x", 0, target, 0, source)


BATCHES: list[tuple[str, int, int, list[int], bytes, int, list[str], Any]] = [
    ("fine", 2, 1, [0], claim(1, 0), 0, [], (1 << 64) - 1),
    ("nothing", 0, 1, [0], claim(1, 0), 100000, ["EH0007"], None),
    ("no attribute", 2, 0, [0], claim(1, 0), 107000, ["EE1003"], (1 << 64) - 1),
    ("too many attributes", 2, 3, [0, 1, 2], claim(1, 0) * 3, 107000, ["EE1017"], (1 << 64) - 1),
    ("does not start at 0", 2, 1, [1], claim(1, 0), 107000, ["EE1003"], (1 << 64) - 1),
    ("does not rise", 2, 2, [0, 0], claim(1, 0) * 2, 107000, ["EE1017"], (1 << 64) - 1),
    ("behind the end", 2, 2, [0, 2], claim(1, 0) * 2, 107000, ["EE1017"], (1 << 64) - 1),
    ("no copy between host and device", 2, 2, [0, 1], claim(1, 0) + claim(1, 1), 107000, ["EE1017"], 1),
    ("lies elsewhere", 2, 1, [0], claim(0, 1), 107000, ["EE1017"], 0),
]  # fmt: skip


@pytest.mark.parametrize("in_stream", [False, True])
@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case[0])
def test_batches(bench: Bench, case: Any, in_stream: bool) -> None:
    _, count, claims, starts, attributes, code, messages, index = case
    failed, where = Out(None), {"stream": S} if in_stream else {}
    ctypes.memset(bench.named[H], 0x5C, 64)
    columns = [words(bench.named[D], bench.named[D2]), words(64, 64), words(bench.named[H], bench.named[H]),
               words(64, 32)]  # fmt: skip
    names = ("dsts", "destMaxs", "srcs", "sizes")
    rows, first = ctypes.create_string_buffer(attributes, len(attributes)), words(*starts)
    answer = bench.call(
        "aclrtMemcpyBatchAsync" if in_stream else "aclrtMemcpyBatch",
        **dict(zip(names, map(ctypes.addressof, columns), strict=True)), numBatches=count, numAttrs=claims,
        attrs=ctypes.addressof(rows), attrsIndexes=ctypes.addressof(first), failIndex=failed, **where,
    )
    assert answer == (code, messages)
    assert failed.value == index
    if code == 0:
        assert bench.acl.call("aclrtSynchronizeStream", stream=bench.named[S]) == 0
        memory = bench.acl.runtime.hal.fake.memory  # type: ignore[attr-defined]
        assert memory.read(bench.named[D2], 33) == b"\x5c" * 32 + bytes(1)


@pytest.mark.parametrize("link", ["dma", "ub"])
def test_a_batch_in_a_stream_goes_both_ways_over_every_link(link: str) -> None:
    bench = Bench("ascend950pr_9599", f"&args={link}")
    host, back = bench.named[H], bench.made("aclrtMallocHost", "hostPtr", size=4096)
    ctypes.memmove(host, bytes(range(256)), 256)
    one, two = bench.named[D], bench.named[D2]
    rows = [(one, 100, host, 100), (two, 64, host + 100, 50), (back, 70, one, 64)]
    columns = [words(*column) for column in zip(*rows, strict=True)]
    attributes = ctypes.create_string_buffer(claim(1, 0) + claim(0, 1), 64)
    starts, failed = words(0, 2), Out()
    assert bench.call(
        "aclrtMemcpyBatchAsync",
        **dict(zip(("dsts", "destMaxs", "srcs", "sizes"), map(ctypes.addressof, columns), strict=True)), numBatches=3,
        attrs=ctypes.addressof(attributes), attrsIndexes=ctypes.addressof(starts), numAttrs=2, failIndex=failed,
        stream=S,
    ) == (0, [])  # fmt: skip
    assert failed.value == (1 << 64) - 1
    stream = bench.acl.runtime.handles.get(bench.named[S], Stream)
    assert bench.acl.call("aclrtSynchronizeStream", stream=bench.named[S]) == 0
    assert stream.ring.submitted == (2 if link == "ub" else 3)
    memory = bench.acl.runtime.hal.fake.memory  # type: ignore[attr-defined]
    assert memory.read(one, 101) == bytes(range(100)) + b"\0"
    assert memory.read(two, 51) == bytes(range(100, 150)) + b"\0"
    assert ctypes.string_at(back, 64) == bytes(range(64))
    bench.acl.close()


# -- virtual memory, IPC, pools ------------------------------------------------------------------------------------


@pytest.fixture
def physical() -> Any:
    """An aclrtPhysicalMemProp: 2 MiB pages of HBM on device 0."""
    return ctypes.create_string_buffer(struct.pack("<IIIII4xQ", 0, 0, 4, 0, 1, 0), 32)


def test_virtual_memory_from_reservation_to_release(bench: Bench, physical: Any) -> None:
    prop = ctypes.addressof(physical)
    unit = bench.made("aclrtMemGetAllocationGranularity", "granularity", prop=prop, option=0)
    assert unit == 2 * MiB
    where = bench.made("aclrtReserveMemAddress", "virPtr", size=4 * MiB, flags=1)
    handle = bench.made("aclrtMallocPhysical", "handle", size=2 * MiB, prop=prop)
    mapped: dict[str, Any] = {"virPtr": where, "size": 2 * MiB, "handle": handle}
    assert bench.call("aclrtMapMem", **mapped, offset=1) == (107000, ["EE1003"])
    assert bench.call("aclrtMapMem", **mapped) == (0, [])
    assert bench.call("aclrtMapMem", **mapped) == (507899, [])
    assert bench.call("aclrtMemcpy", dst=where, destMax=64, src=P, count=64, kind=1) == (0, [])
    again = bench.made("aclrtMemRetainAllocationHandle", "handle", virPtr=where)
    assert again == handle
    block = ctypes.create_string_buffer(32)
    assert bench.call(
        "aclrtMemGetAllocationPropertiesFromHandle", handle=handle, prop=ctypes.addressof(block)
    ) == (0, [])
    assert struct.unpack_from("<IIIII", block)[2:] == (4, 0, 1)
    grant = struct.pack("<III12x", 3, 0, 1)
    desc = ctypes.create_string_buffer(grant, len(grant))
    assert bench.call(
        "aclrtMemSetAccess", virPtr=where, size=2 * MiB, desc=ctypes.addressof(desc), count=1
    ) == (0, [])
    location = ctypes.create_string_buffer(struct.pack("<II", 0, 1), 8)
    assert bench.made("aclrtMemGetAccess", "flag", virPtr=where, location=ctypes.addressof(location)) == 3
    hole = bench.call("aclrtMemcpy", dst=where + 2 * MiB, destMax=64, src=P, count=64, kind=1)
    assert hole[0] == 107000
    assert bench.call("aclrtReleaseMemAddress", virPtr=where) == (507899, [])
    for name, arguments in (
        ("aclrtUnmapMem", {"virPtr": where}), ("aclrtFreePhysical", {"handle": handle}),
        ("aclrtFreePhysical", {"handle": handle}), ("aclrtReleaseMemAddress", {"virPtr": where}),
    ):  # fmt: skip
        assert bench.call(name, **arguments) == (0, [])
    assert bench.call("aclrtFreePhysical", handle=handle)[0] != 0
    assert bench.call("aclrtUnmapMem", virPtr=where) == (507899, [])


def test_host_memory_is_registered_once(bench: Bench) -> None:
    area = mmap.mmap(-1, 1 << 17)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    where = -(-start // 65536) * 65536
    made = {"ptr": where, "size": 8192}
    assert bench.call("aclrtHostRegisterV2", **made, flag=2) == (0, [])
    assert bench.call("aclrtHostRegisterV2", ptr=where + 4096, size=8192, flag=2) == (507910, ["EE1018"])
    assert bench.made("aclrtHostGetDevicePointer", "pDevice", pHost=where)
    assert bench.call("aclrtHostUnregister", ptr=where) == (0, [])
    assert bench.call("aclrtHostUnregister", ptr=where) == (507911, ["EE1018"])


def test_memory_under_a_key(bench: Bench) -> None:
    key = ctypes.create_string_buffer(65)
    where = {"key": ctypes.addressof(key)}
    source = bench.made("aclrtMalloc", "devPtr", size=4096)
    assert bench.call("aclrtIpcMemGetExportKey", devPtr=source, size=4096, len=65, **where) == (0, [])
    assert bench.call("aclrtIpcMemImportByKey", devPtr=Out(), **where)[0] != 0
    assert bench.call("aclrtIpcMemSetImportPid", pid=P, num=0, **where) == (107000, ["EE1003"])
    pid = ctypes.c_int32(os.getpid())
    assert bench.call("aclrtIpcMemSetImportPid", pid=P, num=(1 << 31), **where) == (107000, ["EE1003"])
    assert bench.call("aclrtIpcMemSetImportPid", pid=ctypes.addressof(pid), num=(1 << 32) + 1, **where) == (0, [])
    assert bench.call("aclrtIpcMemImportByKey", devPtr=Out(), flags=2, **where) == (107000, ["EE1003"])
    other = bench.made("aclrtIpcMemImportByKey", "devPtr", **where)
    assert other != source
    bench.call("aclrtMemset", devPtr=other, maxCount=64, value=9, count=64)
    assert bench.acl.runtime.hal.fake.memory.read(source, 64) == b"\t" * 64  # type: ignore[attr-defined]
    assert bench.call("aclrtIpcMemClose", **where) == (0, [])
    assert bench.call("aclrtIpcMemClose", **where) == (0, [])
    assert bench.call("aclrtIpcMemClose", **where)[0] != 0


def test_stream_ordered_pool(bench: Bench) -> None:
    props = ctypes.create_string_buffer(struct.pack("<IIIIQ64x", 0, 0, 0, 1, 8 * MiB), 88)
    pool = bench.made("aclrtMemPoolCreate", "memPool", poolProps=ctypes.addressof(props))

    def value(attribute: int) -> int:
        word = ctypes.c_uint64(0)
        assert bench.call("aclrtMemPoolGetAttr", memPool=pool, attr=attribute, value=ctypes.addressof(word)) == (0, [])
        return word.value

    first = bench.made("aclrtMemPoolMallocAsync", "ptr", size=3 * MiB, memPool=pool, stream=bench.named[S])
    assert (value(5), value(6), value(7)) == (4 * MiB, 4 * MiB, 4 * MiB)
    assert bench.call("aclrtMemset", devPtr=first, maxCount=3 * MiB, value=1, count=3 * MiB) == (0, [])
    assert bench.call("aclrtMemPoolMallocAsync", ptr=Out(), size=5 * MiB, memPool=pool, stream=S) == (507000, [])
    assert bench.call("aclrtMemPoolTrimTo", memPool=pool, minBytesToKeep=MiB) == (POOL_OP_INVALID, [])
    assert bench.call("aclrtMemPoolTrimTo", memPool=pool, minBytesToKeep=9 * MiB) == (POOL_OP_INVALID, [])
    assert bench.call("aclrtMemPoolFreeAsync", ptr=first, stream=S) == (0, [])
    assert (value(5), value(7)) == (4 * MiB, 0)
    assert bench.made("aclrtMemPoolMallocAsync", "ptr", size=4 * MiB, memPool=pool, stream=bench.named[S]) == first
    bench.call("aclrtMemPoolFreeAsync", ptr=first, stream=S)
    assert bench.call("aclrtMemPoolTrimTo", memPool=pool, minBytesToKeep=0) == (0, [])
    assert (value(5), value(6)) == (0, 4 * MiB)
    for attribute, given, messages in (
        (1, 1, []), (1, 2, ["EE1001"]), (4, 8 * MiB, []), (4, 9 * MiB, ["EE1001"]), (5, 0, ["EE1011"]), (6, 0, []),
        (6, 1, ["EE1001"]), (8, 0, []), (0, 0, ["EE1001"]), (9, 0, ["EE1001"]),
    ):  # fmt: skip
        word = ctypes.c_uint64(given)
        answer = bench.call("aclrtMemPoolSetAttr", memPool=pool, attr=attribute, value=ctypes.addressof(word))
        assert answer == (107000 if messages else 0, messages), attribute
    too_large = ctypes.create_string_buffer(struct.pack("<IIIIQ64x", 0, 0, 0, 1, 1 << 50), 88)
    assert bench.call("aclrtMemPoolCreate", memPool=Out(), poolProps=ctypes.addressof(too_large)) == (
        107000, ["EE1011"],
    )  # fmt: skip
    assert bench.call("aclrtMemPoolDestroy", memPool=pool) == (0, [])
    assert bench.call("aclrtMemPoolDestroy", memPool=pool) == (507000, [])


