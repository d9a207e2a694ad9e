"""Streams: the default one and own ones, what a failed task does to the others, order across streams, settings."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from fakes.kernels import Fail, Hang
from runtime import errors
from runtime.api import Device, Kernel, Stream
from runtime.capi.aclrt import Out
from runtime.core.stream.failure import FailureMode
from runtime.core.stream.stream import StreamFlag
from tests.examples.conftest import CApi, StandIn

TASKS = 3000
FLAG, PRIORITY = 2, 3
"""aclrtStreamConfigAttr."""


@pytest.fixture
def count(stand_in: StandIn) -> Kernel:
    """A kernel that adds one."""

    def easy(context: Any) -> None:
        context.args.array(0, "i8", 1)[0] += 1

    return stand_in(easy)


@pytest.fixture
def double(stand_in: StandIn) -> Kernel:
    """A kernel that doubles."""

    def twice(context: Any) -> None:
        context.args.array(0, "i8", 1)[0] *= 2

    return stand_in(twice)


@pytest.fixture
def broken(stand_in: StandIn) -> Kernel:
    """A kernel that reads out of range."""

    def out_of_range(_context: Any) -> None:
        raise Fail("reads out of range")

    return stand_in(out_of_range)


def value(device: Device, buffer: Any) -> int:
    return int(device.download(buffer, "i8")[0])


def test_default_stream_and_own_stream(device: Device, stream: Stream, count: Kernel) -> None:
    counter = device.upload(bytes(8))
    count[1](counter)
    device.default_stream.synchronize()
    assert value(device, counter) == 1
    count[1](counter, stream=stream)
    stream.synchronize()
    assert value(device, counter) == 2
    for _ in range(TASKS):
        count[1](counter, stream=stream)
    stream.synchronize()
    assert stream.query()
    assert value(device, counter) == 2 + TASKS
    stream.close(force=True)


@pytest.mark.parametrize(("mode", "result"), [(FailureMode.CONTINUE, 2), (FailureMode.STOP, 1)])
def test_failure_mode(device: Device, count: Kernel, broken: Kernel, mode: FailureMode, result: int) -> None:
    """A failing task between two others: the stream goes on, or stops."""
    counter, stream = device.upload(bytes(8)), device.create_stream()
    if mode is FailureMode.STOP:
        stream.set_failure_mode(mode)
    for kernel in (count, broken, count):
        kernel[1](counter, stream=stream)
    with pytest.raises(errors.KernelFault) as caught:
        stream.synchronize()
    assert caught.value.code == 507035
    assert value(device, counter) == result


def test_stop_of_a_running_task(device: Device, stream: Stream, count: Kernel, stand_in: StandIn) -> None:
    def endless(_context: Any) -> None:
        raise Hang

    counter = device.upload(bytes(8))
    stand_in(endless)[1](0, stream=stream)
    count[1](counter, stream=stream)
    assert not stream.query()
    stream.stop()
    with pytest.raises(errors.RuntimeFault) as caught:
        stream.synchronize()
    assert caught.value.code == 507000
    stream.synchronize()  # what was behind it is done
    assert value(device, counter) == 1


def test_abort_of_a_stream(device: Device, stream: Stream, count: Kernel) -> None:
    flag = device.upload(bytes(8))
    stream.wait_value(flag, 1)
    count[1](flag, stream=stream)
    stream.abort()
    assert stream.query()
    count[1](flag, stream=stream)  # it goes on, empty
    stream.synchronize()
    assert value(device, flag) == 1


@pytest.mark.parametrize("way", ["stream", "event", "notify"])
def test_order_across_streams(device: Device, count: Kernel, double: Kernel, way: str) -> None:
    """First +1 in one stream, then *2 in another: 2, whatever orders the two."""
    number, first, second = device.upload(bytes(8)), device.create_stream(), device.create_stream()
    count[1](number, stream=first)
    if way == "stream":
        first.synchronize()
    elif way == "event":
        second.wait(first.record(device.create_event()))
    else:
        notify = device.create_notify()
        notify.record(first)
        notify.wait(second)
    double[1](number, stream=second)
    second.synchronize()
    assert value(device, number) == 2


def test_wait_with_a_limit(device: Device, stream: Stream) -> None:
    stream.wait_value(device.upload(bytes(8)), 1)
    with pytest.raises(errors.Timeout) as caught:
        stream.synchronize(timeout_ms=5)
    assert caught.value.code == 507046
    event = device.create_event()
    stream.record(event)
    with pytest.raises(errors.Timeout) as caught:
        event.synchronize(timeout_ms=5)
    assert caught.value.code == 507047
    stream.abort()


def test_a_stream_by_an_object_of_settings(c: CApi) -> None:
    settings = c.answer("aclrtCreateStreamConfigHandle")
    for attribute, value in ((FLAG, ctypes.c_size_t(0)), (PRIORITY, ctypes.c_uint32(0))):
        c("aclrtSetStreamConfigOpt", handle=settings, attr=attribute, attrValue=ctypes.addressof(value),
          valueSize=ctypes.sizeof(value))  # fmt: skip
    stream = c("aclrtCreateStreamV2", stream=Out(), handle=settings)
    c("aclrtDestroyStreamConfigHandle", handle=settings)
    assert c("aclrtStreamGetId", stream=stream, streamId=Out()) != 0
    assert c("aclrtStreamGetFlags", stream=stream, flags=Out()) == 0
    assert c("aclrtStreamGetPriority", stream=stream, priority=Out()) == 0
    c("aclrtDestroyStream", stream=stream)


def test_settings_of_a_stream(device: Device) -> None:
    with device.create_stream(priority=0) as stream:
        assert (stream.flags, stream.priority) == (StreamFlag.DEFAULT, 0)
        assert stream.stream_id != device.default_stream.stream_id
    with device.create_stream(priority=7, flags=StreamFlag.FAST_SYNC) as stream:
        assert (stream.flags, stream.priority) == (StreamFlag.FAST_SYNC, 7)
