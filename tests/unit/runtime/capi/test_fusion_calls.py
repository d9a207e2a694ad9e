"""rtFusionLaunch (core_spec 15): its structs, its checks, and what reaches the parts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from tests.unit.runtime.capi.kernel_calls import Caller

_CORE, _AICPU, _HCOM, _CCU = 2, 1, 0, 3
_KFC = 5
_NAMES = b"libfused.so\0fused\0".ljust(24, b"\0")
_SIZE = 16 + len(_NAMES)
_BLOCK = struct.pack("<QQ", 11, 22) + _NAMES
_PART = 976


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller("950")
    yield made
    made.acl.close()


def part(kind: int, body: bytes) -> bytes:
    return (struct.pack("<I4x", kind) + body).ljust(_PART, b"\0")


def core(caller: Caller, binary: int, *attributes: tuple[int, int], stub: int = 0) -> bytes:
    rows = b"".join(struct.pack("<III", number, value, 0) for number, value in attributes or ((0, 4),))
    config = caller.memory(struct.pack("<QI4x", caller.memory(rows), max(len(attributes), 1)))
    return part(_CORE, struct.pack("<QQQQ", binary, 0, config, stub))


def cpu(kind: int = _AICPU, blocks: int = 1) -> bytes:
    return part(kind, struct.pack("<III", _KFC, 0, blocks))


def missions(*rows: tuple[int, int, int]) -> bytes:
    body = struct.pack("<I4x", len(rows))
    for number, die, size in rows:
        body += struct.pack("<BBHHHII13Q", die, number, 9, 5, 6, 7, size, *range(100, 113))
    return part(_CCU, body)


def fused(caller: Caller, *parts: bytes, count: int | None = None) -> int:
    return caller.memory(struct.pack("<I4x", len(parts) if count is None else count) + b"".join(parts))


def arguments(caller: Caller, **changed: int) -> int:
    facts: dict[str, int] = {
        "args": caller.memory(_BLOCK), "inputs": 0, "size": _SIZE, "count": 0, "cpus": 1, "device": 0, "form": 0xFFFF,
        "library": 16, "function": 28, "rev": 0,
    } | changed  # fmt: skip
    return caller.memory(struct.pack("<QQIHBBHHHH", *facts.values()))


@pytest.fixture
def binary(caller: Caller) -> int:
    found: int = caller.load(minimal_kernel("core", 2))
    return found


def test_both_parts_find_their_arguments(caller: Caller, binary: int) -> None:
    seen: list[tuple[str, bytes]] = []
    fake = caller.fake
    fake.attach_aicpu("libfused.so", "fused", lambda context: seen.append(("cpu", context.args.bytes(0, 16))))
    function = caller.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName="core", funcHandle=Out())
    fake.attach(caller.code(function), lambda context: seen.append(("core", context.args.bytes(0, 16))), grid=True)
    for kind in (_AICPU, _HCOM):
        info = fused(caller, cpu(kind), core(caller, binary))
        caller.step("rtFusionLaunch", 0, fusionInfo=info, stm=caller.stream, argsInfo=arguments(caller))
    caller.step("aclrtSynchronizeStream", 0, stream=caller.stream)
    assert seen == [("cpu", _BLOCK[:16]), ("core", _BLOCK[:16])] * 2
    assert any("libfused.so:fused + <lambda> blocks=4" in str(entry) for entry in fake.log)


def test_arguments_on_the_device_are_left_where_they_are(caller: Caller, binary: int) -> None:
    place = caller.step("aclrtMalloc", 0, devPtr=Out(), size=64, policy=0)
    caller.fake.memory.write(place, _BLOCK)
    where: list[int] = []
    caller.fake.attach_aicpu("libfused.so", "fused", lambda context: where.append(context.args[0]))
    info = fused(caller, cpu(), core(caller, binary))
    caller.step("rtFusionLaunch", 0, fusionInfo=info, stm=caller.stream,
                argsInfo=arguments(caller, args=place, device=1))  # fmt: skip
    caller.step("aclrtSynchronizeStream", 0, stream=caller.stream)
    assert where == [11]


def test_a_stub_function_stands_for_its_kernel(caller: Caller, binary: int) -> None:
    stub, seen = caller.memory(bytes(8)), []
    caller.fake.attach_aicpu("libfused.so", "fused", lambda context: None)
    function = caller.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName="core", funcHandle=Out())
    caller.fake.attach(caller.code(function), lambda context: seen.append(context.args[1]), grid=True)
    info = fused(caller, cpu(), core(caller, 0, stub=stub))
    launch: dict[str, Any] = {"fusionInfo": info, "stm": caller.stream, "argsInfo": arguments(caller)}
    caller.step("rtFusionLaunch", 107000, "EE1017", **launch)
    caller.step("rtRegisterFuncSymbol", 0, binHandle=binary, symbol=stub, kernelName="core", reserve=0)
    caller.step("rtFusionLaunch", 0, **launch)
    caller.step("aclrtSynchronizeStream", 0, stream=caller.stream)
    assert seen == [22]


def test_missions_are_encoded_as_they_are_given(caller: Caller) -> None:
    stream = caller.acl.runtime.handles.get(caller.stream, object)
    info = fused(caller, missions((1, 0, 13), (1, 1, 13)))
    caller.fake.device(0).hold()
    caller.step("rtFusionLaunch", 0, fusionInfo=info, stm=caller.stream, argsInfo=None)
    fake, plugin = caller.fake, caller.acl.runtime.device(0).plugin
    queue = fake.device(0).queues[stream.queues.sq_id]
    raw = fake.memory.read(queue.ring.base + queue.head * 64, 256)
    first, third = plugin.decode(raw[:64]).fields, plugin.decode(raw[128:192]).fields
    assert queue.pending == 4
    expected = {
        "type": 2, "sub_type": 0x18, "sqe_length": 3, "die_id": 0, "timeout": 9, "inst_cnt": 6, "inst_key": 7,
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert third["die_id"] == 1
    queue.drop()  # nothing stands for these missions
    fake.device(0).release()


WRONG: list[tuple[str, Any, str]] = [
    ("three parts", lambda c, b: {"fusionInfo": fused(c, cpu(), core(c, b), count=3)}, "EE1012"),
    ("no part", lambda c, b: {"fusionInfo": fused(c, count=0)}, "EE1012"),
    ("type 4", lambda c, b: {"fusionInfo": fused(c, part(4, b""), core(c, b))}, "EE1012"),
    ("cores first", lambda c, b: {"fusionInfo": fused(c, core(c, b), cpu())}, "EE1006"),
    ("HCOM on 2", lambda c, b: {"fusionInfo": fused(c, cpu(_HCOM, 2), core(c, b))}, "EE1003"),
    ("no binary", lambda c, b: {"fusionInfo": fused(c, cpu(), core(c, 0))}, "EE1017"),
    ("no info", lambda c, b: {"fusionInfo": None}, "EE1004"),
    ("no arguments", lambda c, b: {"argsInfo": None}, "EE1004"),
    ("empty arguments", lambda c, b: {"argsInfo": arguments(c, size=0)}, "EE1003"),
    ("NULL arguments", lambda c, b: {"argsInfo": arguments(c, args=0)}, "EE1004"),
    ("two AICPU kernels", lambda c, b: {"argsInfo": arguments(c, cpus=2)}, "EE1003"),
    ("a library behind", lambda c, b: {"argsInfo": arguments(c, library=_SIZE)}, "EE1017"),
    ("a function behind", lambda c, b: {"argsInfo": arguments(c, function=_SIZE)}, "EE1017"),
    ("no host inputs", lambda c, b: {"argsInfo": arguments(c, count=1)}, "EE1004"),
    ("a host input behind", lambda c, b: {
        "argsInfo": arguments(c, count=1, inputs=c.memory(struct.pack("<II", 0, _SIZE)))}, "EE1017"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_refused(caller: Caller, binary: int, change: Any, message: str) -> None:
    given = {"fusionInfo": fused(caller, cpu(), core(caller, binary)), "argsInfo": arguments(caller)}
    caller.step("rtFusionLaunch", 107000, message, stm=caller.stream, **given | change(caller, binary))


def test_other_chips_fuse_nothing() -> None:
    old = Caller("910B1")
    old.step("rtFusionLaunch", 207000, fusionInfo=0, stm=old.stream, argsInfo=0)
    old.acl.close()
