"""Copies by description, by offset and by symbol, cache operations, random numbers: codes, and what comes of them."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from runtime.capi.aclrt import Out
from runtime.core.stream.stream import Stream
from tests.tools.elf_writer import ALLOC, OBJECT, ElfWriter, u32
from tests.unit.runtime.capi.kernel_calls import AIV, Caller, api, soc
from tests.unit.runtime.capi.memory_bench import (
    D2,
    Bench,
    D,
    H,
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

__all__ = ["api", "bench", "refusing", "soc"]

INSIDE = 6
DESC = {"desc": D, "kind": INSIDE, "srcAddr": D2, "dstAddr": D2, "count": 64}
OFFSET = {"dst": D, "destMax": 64, "src": D2, "count": 64, "kind": INSIDE, "stream": S}

ROWS: list[Row] = [
    ("aclrtGetMemcpyDescSize", {"kind": INSIDE}, 100000, ["EH0008"]),
    *[("aclrtGetMemcpyDescSize", {"kind": kind, "descSize": Out()}, 100000, ["EH0007"]) for kind in (-1, 8)],
    *[("aclrtGetMemcpyDescSize", {"kind": kind, "descSize": Out()}, 207000, [])
      for kind in (0, 1, 2, 3, 4, 5, 7)],
    *[("aclrtSetMemcpyDesc", {**DESC, name: None}, 100000, ["EH0008"]) for name in ("desc", "srcAddr", "dstAddr")],
    ("aclrtSetMemcpyDesc", {**DESC, "count": 0}, 100000, ["EH0007"]),
    ("aclrtSetMemcpyDesc", {**DESC, "config": 1}, 100000, ["EH0012"]),
    ("aclrtSetMemcpyDesc", {**DESC, "kind": 9}, 100000, ["EH0007"]),
    ("aclrtSetMemcpyDesc", {**DESC, "kind": 3}, 207000, []),
    ("aclrtSetMemcpyDesc", {**DESC, "count": (4 << 30) + 1}, 107000, ["EE1003"]),
    ("aclrtSetMemcpyDesc", {**DESC, "desc": H}, 107000, ["EE1001"]),
    ("aclrtSetMemcpyDesc", {**DESC, "srcAddr": H}, 107000, ["EE1017"]),
    ("aclrtSetMemcpyDesc", {**DESC, "dstAddr": P}, 107000, ["EE1017"]),
    ("aclrtMemcpyAsyncWithDesc", {"kind": INSIDE, "stream": S}, 100000, ["EH0008"]),
    ("aclrtMemcpyAsyncWithDesc", {"desc": D, "kind": INSIDE}, 100000, ["EH0008"]),
    ("aclrtMemcpyAsyncWithDesc", {"desc": D, "kind": 1, "stream": S}, 207000, []),
    ("aclrtMemcpyAsyncWithDesc", {"desc": H, "kind": INSIDE, "stream": S}, 107000, ["EE1001"]),
    ("aclrtMemcpyAsyncWithOffset", {**OFFSET, "count": 0, "kind": 0}, 0, []),
    ("aclrtMemcpyAsyncWithOffset", {**OFFSET, "kind": 3}, 107000, ["EE1003"]),
    *[("aclrtMemcpyAsyncWithOffset", {**OFFSET, name: None}, 107000, ["EE1004"]) for name in ("dst", "src")],
    ("aclrtMemcpyAsyncWithOffset", {**OFFSET, "destMax": 63}, 107000, ["EE1003"]),
    ("aclrtMemcpyAsyncWithOffset", {**OFFSET, "srcDataOffset": 1 << 48}, 107000, ["EE1003"]),
    ("aclrtCmoGetDescSize", {}, 107000, ["EE1004"]),
    ("aclrtCmoSetDesc", {"src": D, "size": 64}, 107000, ["EE1004"]),
    ("aclrtCmoSetDesc", {"cmoDesc": D, "src": D2, "size": 0}, 107000, ["EE1003"]),
    ("aclrtCmoAsyncWithDesc", {"cmoDesc": D, "cmoType": 4, "stream": S}, 107000, ["EE1003"]),
    ("aclrtCmoAsyncWithDesc", {"cmoDesc": D, "stream": S, "reserve": 1}, 107000, ["EE1003"]),
    ("aclrtCmoAsyncWithDesc", {"cmoDesc": D, "stream": S}, 507000, []),  # in no model
    ("aclrtCmoAsyncWithBarrier", {"src": D, "size": 64, "cmoType": 2, "barrierId": 1, "stream": S}, 207000, []),
    ("aclrtCmoAsyncWithBarrier", {"size": 64}, 100000, ["EH0008"]),
    ("aclrtCmoWaitBarrier", {"taskInfo": P}, 100000, ["EH0007"]),
    ("aclrtRandomNumAsync", {"stream": S}, 100000, ["EH0008"]),
    ("aclrtGetSymbolAddress", {"symbol": P}, 100000, ["EH0008"]),
    ("aclrtGetSymbolAddress", {"symbol": P, "devPtr": Out()}, 107043, ["EE1017"]),
    ("aclrtGetSymbolSize", {"symbol": P, "size": Out()}, 107043, ["EE1017"]),
    ("aclrtMemcpyFromSymbol", {"dst": H, "dstMax": 63, "symbol": P, "count": 64, "kind": 2}, 100000, ["EH0001"]),
    ("aclrtMemcpyFromSymbol", {"dst": H, "dstMax": 64, "symbol": P, "count": 64, "kind": 1}, 100000, ["EH0007"]),
    ("aclrtMemcpyToSymbol", {"symbol": P, "src": H, "count": 64, "kind": 2}, 100000, ["EH0007"]),
    ("aclrtMemcpyToSymbol", {"src": H, "count": 64, "kind": 1}, 100000, ["EH0008"]),
    ("aclrtMemcpyToSymbolAsync", {"symbol": P, "src": H, "count": 64, "kind": 1, "stream": S}, 107043, ["EE1017"]),
    ("aclrtMemcpyFromSymbolAsync", {"count": 0}, 0, []),
]  # fmt: skip


@pytest.mark.parametrize("row", refused(ROWS), ids=row_id)
def test_codes(refusing: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    assert refusing.call(call, **arguments) == (code, messages)


@pytest.mark.parametrize("row", taken(ROWS), ids=row_id)
def test_calls_that_are_taken(bench: Bench, row: Row) -> None:
    call, arguments, code, messages = row
    assert bench.call(call, **arguments) == (code, messages)


def put(bench: Bench, address: str, data: bytes) -> int:
    held = ctypes.create_string_buffer(data, len(data))
    assert bench.acl.call(
        "aclrtMemcpy", dst=bench.named[address], destMax=4096, src=ctypes.addressof(held), count=len(data), kind=1
    ) == 0  # fmt: skip
    return bench.named[address]


def get(bench: Bench, address: int, size: int) -> bytes:
    assert bench.acl.call("aclrtSynchronizeStream", stream=bench.named[S]) == 0
    data: bytes = bench.acl.runtime.hal.fake.memory.read(address, size)  # type: ignore[attr-defined]
    return data


def test_a_described_copy_reads_its_description_when_it_runs(bench: Bench) -> None:
    source, target = put(bench, D, bytes(range(200))), put(bench, D2, bytes(200))
    size = bench.made("aclrtGetMemcpyDescSize", "descSize", kind=INSIDE)
    assert size == (32 if bench.acl.runtime.machine.chip.generation == "v100" else 64)
    desc = bench.made("aclrtMalloc", "devPtr", size=size)
    described = {"desc": desc, "kind": INSIDE}
    assert bench.call("aclrtSetMemcpyDesc", **described, srcAddr=source, dstAddr=target, count=100) == (0, [])
    card = bench.acl.runtime.hal.fake.device(0)  # type: ignore[attr-defined]
    stream = bench.acl.runtime.handles.get(bench.named[S], Stream)
    card.hold(stream.stream_id)
    assert bench.call("aclrtMemcpyAsyncWithDesc", **described, stream=S) == (0, [])
    assert bench.call("aclrtSetMemcpyDesc", **described, srcAddr=source, dstAddr=target + 8, count=50) == (0, [])
    assert bench.call("aclrtMemcpyAsyncWithDesc", **described, stream=S) == (0, [])
    card.release(stream.stream_id)
    assert get(bench, target, 60) == bytes(8) + bytes(range(50)) + bytes(2)
    misaligned = {**described, "desc": desc + 8}
    assert bench.call("aclrtMemcpyAsyncWithDesc", **misaligned, stream=S) == (107000, ["EE1011"])
    assert bench.call(
        "aclrtSetMemcpyDesc", **misaligned, srcAddr=source, dstAddr=target, count=1
    ) == (107000, ["EE1011"])  # fmt: skip


def test_a_copy_by_offset_looks_up_its_addresses_when_it_runs(bench: Bench) -> None:
    source, target = put(bench, D, bytes(range(100))), put(bench, D2, bytes(100))
    table = bench.made("aclrtMalloc", "devPtr", size=64)
    pair = words(target, source)
    assert bench.call("aclrtMemcpy", dst=table, destMax=64, src=ctypes.addressof(pair), count=16, kind=1)[0] == 0
    assert bench.call(
        "aclrtMemcpyAsyncWithOffset", dst=table, destMax=64, dstDataOffset=3, src=table + 8, count=10, srcDataOffset=40,
        kind=INSIDE, stream=S,
    ) == (0, [])  # fmt: skip
    assert get(bench, target, 14) == bytes(3) + bytes(range(40, 50)) + bytes(1)


def test_a_described_cache_operation(bench: Bench) -> None:
    size = bench.made("aclrtCmoGetDescSize", "size")
    desc = bench.made("aclrtMalloc", "devPtr", size=size)
    assert bench.call("aclrtCmoSetDesc", cmoDesc=desc, src=D, size=96) == (0, [])
    held = get(bench, desc, size)
    if size == 32:
        assert struct.unpack_from("<IQ", held, 12) == (96, bench.named[D])
    else:
        assert struct.unpack_from("<Q8xI", held, 32) == (bench.named[D], 96)


# -- device variables ----------------------------------------------------------------------------------------------


def variable() -> bytes:
    return (
        ElfWriter().section(".data", b"\x05" * 32, flags=ALLOC).kernel("k", u32(1, AIV), size=64)
        .symbol("setting", type=OBJECT, section=2, value=0, size=16).build()
    )  # fmt: skip


def test_a_host_variable_stands_for_a_device_variable(api: Caller) -> None:
    binary, stand_in = api.load(variable()), api.memory(bytes(8))
    named: dict[str, Any] = {"binHandle": binary, "hostVar": stand_in}
    api.step("rtRegisterVariable", 107042, **named, deviceVarName="settings", size=16)
    api.step("rtRegisterVariable", 0, **named, deviceVarName="setting", size=16)
    api.step("rtRegisterVariable", 0, **named, deviceVarName="setting", size=99)  # the first one stays
    address = api.step("aclrtGetSymbolAddress", 0, symbol=stand_in, devPtr=Out())
    assert address == api.step("aclrtBinaryGetGlobal", 0, binHandle=binary, name="setting", dptr=Out())
    assert api.step("aclrtGetSymbolSize", 0, symbol=stand_in, size=Out()) == 16
    source, target = api.memory(b"\x07" * 16), api.memory(bytes(16))
    to: dict[str, Any] = {"symbol": stand_in, "src": source, "count": 4, "offset": 12, "kind": 1}
    back: dict[str, Any] = {"symbol": stand_in, "dst": target, "dstMax": 16, "count": 16, "offset": 0, "kind": 4}
    api.step("aclrtMemcpyToSymbol", 0, **to)
    api.step("aclrtMemcpyFromSymbol", 0, **back)
    assert ctypes.string_at(target, 16) == b"\x05" * 12 + b"\x07" * 4
    pinned = api.step("aclrtMallocHost", 0, hostPtr=Out(), size=64)
    ctypes.memset(pinned, 9, 64)
    api.step("aclrtMemcpyToSymbolAsync", 0, **{**to, "src": pinned, "offset": 0}, stream=api.stream)
    api.step("aclrtMemcpyFromSymbolAsync", 0, **{**back, "dst": pinned}, stream=api.stream)
    api.wait()
    assert ctypes.string_at(pinned, 17) == b"\x09" * 4 + b"\x05" * 8 + b"\x07" * 4 + b"\x09"
    api.step("aclrtMemcpyToSymbol", 100000, "EH0001", **{**to, "offset": 13})
    api.step("aclrtMemcpyFromSymbol", 100000, "EH0001", **{**back, "dstMax": 99, "count": 17})
    api.step("aclrtBinaryUnLoad", 0, binHandle=binary)
    api.step("aclrtGetSymbolAddress", 107043, "EE1017", symbol=stand_in, devPtr=Out())


def test_a_host_function_stands_for_a_kernel(api: Caller) -> None:
    binary, stand_in = api.load(variable()), api.memory(bytes(8))
    named: dict[str, Any] = {"binHandle": binary, "symbol": stand_in}
    api.step("aclrtGetFuncBySymbol", 107044, "EE1017", symbol=stand_in, funcHandle=Out())
    api.step("aclrtGetFuncBySymbol", 100000, "EH0008", symbol=0, funcHandle=Out())
    api.step("rtRegisterFuncSymbol", 107000, "EE1001", **named, kernelName="nobody", reserve=0)
    api.step("rtRegisterFuncSymbol", 0, **named, kernelName="k", reserve=0)
    function = api.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName="k", funcHandle=Out())
    assert api.step("aclrtGetFuncBySymbol", 0, symbol=stand_in, funcHandle=Out()) == function
    launch: dict[str, Any] = {"numBlocks": 1, "stream": api.stream, "cfg": 0, "args": 0}
    by_handle = api.acl.call("aclrtLaunchKernelWithArgsArray", func=function, **launch)
    assert by_handle != 107017
    assert api.acl.call("aclrtLaunchKernelWithArgsArray", func=stand_in, **launch) == by_handle
    api.step("aclrtBinaryUnLoad", 0, binHandle=binary)
    api.step("aclrtGetFuncBySymbol", 107044, "EE1017", symbol=stand_in, funcHandle=Out())
    api.step("aclrtLaunchKernelWithArgsArray", 107017, "EE1017", func=stand_in, **launch)


# -- random numbers ------------------------------------------------------------------------------------------------

FLOAT, INT32, INT8, COUNT = 0, 3, 2, 4000


def operand(data: bytes, address: int = 0) -> bytes:
    return struct.pack("<B8sB6x", address, data, len(data))


def asked(kind: int, how: int, result: int, counter: int, one: bytes, two: bytes, seed: int = 7) -> bytes:
    return (
        struct.pack("<II", kind, how) + one + two + struct.pack("<QQQ", 0, result, counter)
        + operand(seed.to_bytes(8, "little")) + operand(COUNT.to_bytes(8, "little")) + bytes(8)
    )  # fmt: skip


@pytest.mark.parametrize(("how", "one", "two"), [(0, 0.25, 0.0), (1, -2.0, 6.0), (2, 5.0, 2.0), (3, 0.0, 1.0)])
def test_random_numbers(bench: Bench, how: int, one: float, two: float) -> None:
    result, counter = bench.made("aclrtMalloc", "devPtr", size=4 * COUNT), bench.named[D]
    bench.call("aclrtMemset", devPtr=counter, maxCount=64, value=0, count=64)
    drawn = []
    for seed in (7, 7, 8):
        request = asked(FLOAT, how, result, counter, *(operand(struct.pack("<f", x)) for x in (one, two)), seed=seed)
        held = ctypes.create_string_buffer(request, len(request))
        answer = bench.call("aclrtRandomNumAsync", taskInfo=ctypes.addressof(held), stream=S)
        if bench.acl.runtime.machine.chip.generation != "v100":
            assert answer == (207000, [])
            return
        assert answer == (0, [])
        drawn.append(get(bench, result, COUNT // 8 if how == 0 else 4 * COUNT))
    assert drawn[0] == drawn[1] != drawn[2]
    if how == 0:
        assert np.unpackbits(np.frombuffer(drawn[0], np.uint8)).mean() == pytest.approx(0.75, abs=0.03)
        return
    found = np.frombuffer(drawn[0], np.float32)
    mean, low, high = {1: (2.0, -2.0, 6.0), 2: (5.0, -5.0, 15.0), 3: (0.0, -2.0, 2.0)}[how]
    assert found.mean() == pytest.approx(mean, abs=0.2)
    assert low <= found.min() < found.max() <= high


@pytest.mark.parametrize(("change", "code", "messages"), [
    ({"kind": INT8}, 100000, ["EH0009"]), ({"how": 4}, 107000, ["EE1003"]),
    ({"kind": INT32, "how": 2}, 107000, ["EE1003"]), ({"result": 0}, 107000, ["EE1004"]),
    ({"counter": 0}, 107000, ["EE1004"]), ({"one": operand(bytes(5))}, 107000, ["EE1003"]),
    ({"one": operand(b"")}, 107000, ["EE1003"]), ({"two": operand(bytes(4), 2)}, 107000, ["EE1003"]),
])  # fmt: skip
def test_random_numbers_that_are_refused(change: dict[str, Any], code: int, messages: list[str]) -> None:
    bench = Bench("ascend910b1")
    given = {"kind": FLOAT, "how": 1, "result": bench.named[D2], "counter": bench.named[D], "one": operand(bytes(4)),
             "two": operand(bytes(4)), **change}  # fmt: skip
    request = asked(**given)
    held = ctypes.create_string_buffer(request, len(request))
    assert bench.call("aclrtRandomNumAsync", taskInfo=ctypes.addressof(held), stream=S) == (code, messages)
    bench.acl.close()
