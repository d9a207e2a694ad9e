"""Codes and messages of devices, contexts and streams through the C API: one row per rule (core_spec 2, 3, 4, 5).

A row is a set-up, a call, and what it answers; `code` and `message` may differ by generation, then as (v1, 950).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from runtime.core.stream.stream import Stream

V1, V2 = "ascend910b1", "ascend950pr_9599"
Answer = int | str
Both = tuple[Answer, Answer]


class Process:
    """An initialised process with two cards, and names for what the set-up of a row has made."""

    def __init__(self, soc: str) -> None:
        self.acl, self.made = Acl(f"fake://{soc}?devices=2&kernels=noop"), {}
        assert self.acl.call("aclInit") == 0

    def __call__(self, name: str, /, **given: Any) -> int:
        self.acl.reports.take_text()
        known = {key: self.made.get(value, value) if isinstance(value, str) else value for key, value in given.items()}
        code: int = self.acl.call(name, **known)
        return code

    def make(self, name: str, call: str, output: str, /, **given: Any) -> None:
        """Keep what a call makes under a name."""
        out = Out()
        assert self(call, **given, **{output: out}) == 0, call
        self.made[name] = out.value


@pytest.fixture(params=[V1, V2])
def process(request: pytest.FixtureRequest) -> Iterator[Process]:
    """One process per generation."""
    made = Process(request.param)
    yield made
    made.acl.close()


# -- set-ups -------------------------------------------------------------------------------------------------------


def nothing(_process: Process) -> None:
    """No device is set."""


def device(process: Process) -> None:
    """Device 0 is set."""
    assert process("aclrtSetDevice", deviceId=0) == 0


def stream(process: Process) -> None:
    """And has the stream "s" and memory "m"."""
    device(process)
    process.make("s", "aclrtCreateStream", "stream")
    process.make("m", "aclrtMalloc", "devPtr", size=4096, policy=0)


def dead(process: Process) -> None:
    """The stream was destroyed."""
    stream(process)
    assert process("aclrtDestroyStream", stream="s") == 0


def context(process: Process) -> None:
    """A context "c" of the user's own is current, beside the primary one "p"."""
    device(process)
    process.make("p", "aclrtGetCurrentContext", "context")
    process.make("c", "aclrtCreateContext", "context", deviceId=0)


def gone(process: Process) -> None:
    """The context was destroyed; the stream "s" was in it."""
    context(process)
    process.make("s", "aclrtCreateStream", "stream")
    assert process("aclrtDestroyContext", context="c") == 0


def foreign(process: Process) -> None:
    """The stream belongs to device 0, device 1 is current, with memory "m" of its own."""
    stream(process)
    assert process("aclrtSetDevice", deviceId=1) == 0
    process.make("m", "aclrtMalloc", "devPtr", size=4096, policy=0)


def held(process: Process) -> None:
    """The stream has work that does not end."""
    stream(process)
    queue = process.acl.runtime.handles.get(process.made["s"], Stream)
    process.acl.runtime.hal.fake.device(0).hold(queue.stream_id)
    assert process("aclrtMemsetAsync", devPtr="m", maxCount=64, value=0, count=64, stream="s") == 0


def stopping(process: Process) -> None:
    """The stream is in stop mode."""
    stream(process)
    assert process("aclrtSetStreamFailureMode", stream="s", mode=1) == 0


def persistent(process: Process) -> None:
    """The stream keeps its tasks."""
    device(process)
    process.make("s", "aclrtCreateStreamWithConfig", "stream", priority=0, flag=4)


def capturing(process: Process) -> None:
    """The stream is captured."""
    stream(process)
    assert process("aclmdlRICaptureBegin", stream="s", mode=2) == 0


SetUp = Callable[[Process], None]
Row = tuple[SetUp, str, dict[str, Any], int | Both, str | Both]

DEVICES: list[Row] = [
    *[(nothing, name, {"deviceId": wrong}, 107001, "EE1003")
      for name in ("aclrtSetDevice", "aclrtResetDevice", "aclrtResetDeviceForce") for wrong in (-1, 2, 63, 65)],
    (nothing, "aclrtResetDevice", {"deviceId": 0}, 507007, "EE1018"),
    (nothing, "aclrtResetDeviceForce", {"deviceId": 0}, 507007, ""),
    (nothing, "aclrtGetDevice", {"deviceId": Out()}, 107002, ""),
    (nothing, "aclrtGetDevice", {}, 100000, "EH0008"),
    (nothing, "aclrtCreateContext", {"deviceId": 2, "context": Out()}, 107001, "EE1003"),
    (nothing, "aclrtCreateContext", {"deviceId": 0}, 100000, "EH0008"),
    (nothing, "aclrtSetCurrentContext", {}, 100000, "EH0008"),
    (nothing, "aclrtGetPrimaryCtxState", {"deviceId": 0, "active": Out(), "flags": Out()}, 100000, "EH0012"),
    (nothing, "aclrtGetPrimaryCtxState", {"deviceId": 0, "active": Out()}, 0, ""),
    (nothing, "aclrtSynchronizeDevice", {}, 107002, "EE1018"),
    (nothing, "aclrtCreateStream", {"stream": Out()}, 107002, "EE1018"),
    (nothing, "aclrtMalloc", {"devPtr": Out(), "size": 64, "policy": 0}, 107002, "EE1018"),
    (device, "aclrtSynchronizeDeviceWithTimeout", {"timeout": 0}, 107000, "EE1003"),
    (device, "aclrtSynchronizeDeviceWithTimeout", {"timeout": -2}, 107000, "EH0007"),
    (held, "aclrtSynchronizeDeviceWithTimeout", {"timeout": 1}, 507046, "EE1002"),
    (nothing, "aclrtDeviceTaskAbort", {"deviceId": 0, "timeout": 0}, 107002, "EE1001"),
    (device, "aclrtDeviceTaskAbort", {"deviceId": 0, "timeout": 2_160_001}, 107000, "EE1003"),
    (device, "aclrtDeviceTaskAbort", {"deviceId": 0, "timeout": 2_160_000}, 0, ""),
    (held, "aclrtDeviceTaskAbort", {"deviceId": 0, "timeout": 0}, 0, ""),
    (device, "aclrtSetDeviceSatMode", {"mode": 2}, 107000, "EE1003"),
    (device, "aclrtSetDeviceSatMode", {"mode": 0}, (0, 207000), ""),
    (device, "rtSetDeviceFailureMode", {"mode": 1}, 0, ""),
    *[(device, "aclrtDeviceSetLimit", {"limit": kind, "value": 65536}, (207000, 0), "") for kind in (0, 1)],
    (device, "aclrtDeviceSetLimit", {"limit": 4, "value": 65536}, (207000, 107000), ("", "EE1003")),
    *[(device, "aclrtDeviceSetLimit", {"limit": kind, "value": 65536}, 0, "") for kind in (2, 3)],
    (device, "aclrtDeviceSetLimit", {"limit": 9, "value": 65536}, 100000, "EH0007"),
]  # fmt: skip

CONTEXTS: list[Row] = [
    (context, "aclrtDestroyContext", {"context": "p"}, 107002, "EE1017"),
    (context, "aclrtDestroyContext", {}, 100000, "EH0008"),
    (gone, "aclrtDestroyContext", {"context": "c"}, 107002, "EE1017"),
    (gone, "aclrtSetCurrentContext", {"context": "c"}, 107000, "EE1018"),
    (gone, "aclrtGetCurrentContext", {"context": Out()}, 107002, ""),
    (gone, "aclrtGetDevice", {"deviceId": Out()}, 107002, ""),
    (gone, "aclrtSynchronizeStream", {"stream": "s"}, 107017, "EE1017"),
    (gone, "aclrtDestroyStream", {"stream": "s"}, 107017, "EE1017"),
    (context, "aclrtSetCurrentContext", {"context": "p"}, 0, ""),
    (context, "aclrtResetDevice", {"deviceId": 0}, 0, ""),
    (context, "aclrtCtxGetCurrentDefaultStream", {}, 100000, "EH0008"),
]  # fmt: skip

STREAMS: list[Row] = [
    (stream, "aclrtDestroyStream", {}, 100000, "EH0008"),
    (stream, "aclrtDestroyStreamForce", {}, 100000, "EH0008"),
    *[(dead, name, {"stream": "s", **extra}, 107017, "EE1017") for name, extra in (
        ("aclrtDestroyStream", {}), ("aclrtDestroyStreamForce", {}), ("aclrtSynchronizeStream", {}),
        ("aclrtStreamQuery", {"status": Out()}), ("aclrtStreamGetId", {"streamId": Out()}), ("aclrtStreamAbort", {}),
        ("aclrtStreamStop", {}), ("aclrtSetStreamFailureMode", {"mode": 1}),
        ("aclrtMemsetAsync", {"devPtr": "m", "maxCount": 64, "value": 0, "count": 64}))],
    *[(foreign, name, {"stream": "s", **extra}, 107003, "EE1010") for name, extra in (
        ("aclrtDestroyStream", {}), ("aclrtStreamAbort", {}), ("aclrtStreamStop", {}),
        ("aclrtMemsetAsync", {"devPtr": "m", "maxCount": 64, "value": 0, "count": 64}))],
    (foreign, "aclrtSynchronizeStream", {"stream": "s"}, 0, ""),
    (stream, "aclrtSynchronizeStreamWithTimeout", {"stream": "s", "timeout": 0}, 107000, "EE1003"),
    (stream, "aclrtSynchronizeStreamWithTimeout", {"stream": "s", "timeout": -2}, 107000, "EH0007"),
    (stream, "aclrtSynchronizeStreamWithTimeout", {"stream": "s", "timeout": -1}, 0, ""),
    (held, "aclrtSynchronizeStreamWithTimeout", {"stream": "s", "timeout": 1}, 507046, "EE1002"),
    (held, "aclrtDestroyStreamForce", {"stream": "s"}, 0, ""),
    (held, "aclrtStreamAbort", {"stream": "s"}, 0, ""),
    (held, "aclrtStreamStop", {"stream": "s"}, 0, ""),
    (stream, "aclrtStreamAbort", {}, 0, ""),
    (stream, "aclrtStreamStop", {}, 107000, "EE1004"),
    *[(device, "aclrtCreateStreamWithConfig", {"stream": Out(), "priority": 0, "flag": 0x20 | flag}, 107000, "EE1006")
      for flag in (1, 2, 4, 8, 16)],
    *[(device, "aclrtCreateStreamWithConfig", {"stream": Out(), "priority": priority, "flag": 0x40}, 0, "")
      for priority in (0, 7, 8, 0xFFFFFFFF)],
    (device, "rtStreamCreateWithFlags", {"stm": Out(), "priority": 0, "flags": 0x10000}, 107000, "EE1003"),
    (persistent, "aclrtSynchronizeStream", {"stream": "s"}, 0, ""),
    (persistent, "aclrtStreamQuery", {"stream": "s", "status": Out()}, 0, ""),
    *[(stopping, "aclrtSetStreamFailureMode", {"stream": "s", "mode": mode}, code, message)
      for mode, code, message in (
          (0, 207000, "EE1016"), (1, 0, ""), (2, 207000, "EE1016"), (3, 0, ""), (2**64 - 1, 0, ""))],
    (capturing, "aclrtSynchronizeStream", {"stream": "s"}, 107027, "EE1016"),
    (capturing, "aclrtDestroyStream", {"stream": "s"}, 107027, "EE1016"),
    (capturing, "aclrtSynchronizeDevice", {}, 107027, ""),
]  # fmt: skip


def check(process: Process, row: Row) -> None:
    """Make the set-up, the call, and compare."""
    set_up, name, given, code, message = row
    set_up(process)
    second = process.acl.runtime.machine.chip.generation != "v100"
    expected = [part[second] if isinstance(part, tuple) else part for part in (code, message)]
    assert process(name, **given) == expected[0]
    assert process.acl.reports.message_ids() == ((expected[1],) if expected[1] else ())


def named(rows: list[Row]) -> list[Any]:
    """Return the rows with names that say what they are."""
    return [pytest.param(row, id=f"{row[0].__name__}: {row[1]}({_shown(row[2])})") for row in rows]


def _shown(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in given.items() if not isinstance(value, Out))


@pytest.mark.parametrize("row", named(DEVICES))
def test_devices(process: Process, row: Row) -> None:
    check(process, row)


@pytest.mark.parametrize("row", named(CONTEXTS))
def test_contexts(process: Process, row: Row) -> None:
    check(process, row)


@pytest.mark.parametrize("row", named(STREAMS))
def test_streams(process: Process, row: Row) -> None:
    check(process, row)


@pytest.mark.parametrize("attribute", [0, 6, -1])
def test_stream_attributes_that_do_not_exist(process: Process, attribute: int) -> None:
    stream(process)
    value = ctypes.create_string_buffer(16)
    given = {"stream": "s", "stmAttrType": attribute, "value": ctypes.addressof(value)}
    for name in ("aclrtSetStreamAttribute", "aclrtGetStreamAttribute"):
        assert process(name, **given) == 107000
        assert process.acl.reports.message_ids() == ("EE1003",)


def test_references_are_counted(process: Process) -> None:
    for _ in range(3):
        device(process)
    answers = [process("aclrtResetDevice", deviceId=0) for _ in range(4)]
    assert answers == [0, 0, 0, 507007]
    for _ in range(3):
        device(process)
    assert [process("aclrtResetDeviceForce", deviceId=0) for _ in range(2)] == [0, 507007]


def test_a_second_failure_mode_of_a_device_is_refused(process: Process) -> None:
    device(process)
    assert process("rtSetDeviceFailureMode", mode=1) == 0
    assert process("rtSetDeviceFailureMode", mode=0) == 207000
    assert process.acl.reports.message_ids() == ("EE1016",)
    assert process("aclrtCreateStreamWithConfig", stream=Out(), priority=0, flag=0x20) == 207000
