"""Events: their state before, during and after the work that they mark, and the time between two of them."""

from __future__ import annotations

from typing import Any

from runtime.api import Device, Stream
from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi, StandIn

MILLISECOND_NS = 1_000_000


def test_event_status(device: Device, stream: Stream, stand_in: StandIn) -> None:
    answers = device.upload(bytes(8))

    def long_task(context: Any) -> None:
        context.args.array(0, "i8", 1)[0] += 1

    device.hal.fake.device(0).hold()  # the task takes until somebody looks away
    event = device.create_event()
    stand_in(long_task)[1](answers, stream=stream)
    event.record(stream)
    assert not event.query()
    device.hal.fake.device(0).release()
    event.synchronize()
    assert event.query()
    assert device.download(answers, "i8") == 1


def test_event_status_in_c(c: CApi) -> None:
    event = c("aclrtCreateEvent", event=Out())
    assert c("aclrtQueryEventStatus", event=event, status=Out()) == 0  # never recorded
    stream = c("aclrtCreateStream", stream=Out())
    c("aclrtRecordEvent", event=event, stream=stream)
    c("aclrtSynchronizeEvent", event=event)
    assert c("aclrtQueryEventStatus", event=event, status=Out()) == 1
    c("aclrtDestroyEvent", event=event)
    c("aclrtDestroyStream", stream=stream)


def test_time_between_events(device: Device, stream: Stream, stand_in: StandIn) -> None:
    """A long task takes longer than a short one; `end - start` is in milliseconds."""
    answers = device.upload(bytes(8))

    def spin(context: Any) -> None:
        context.args.array(0, "i8", 1)[0] = context.args[1]
        context.cost_ns = MILLISECOND_NS * (10 if context.args[1] else 1)

    kernel, elapsed = stand_in(spin, 2), []
    for number in (0, 1):
        start, end = device.create_event(timing=True), device.create_event(timing=True)
        stream.record(start)
        kernel[1](answers, number, stream=stream)
        stream.record(end)
        stream.synchronize()
        assert start.timestamp_ticks < end.timestamp_ticks
        assert device.download(answers, "i8") == number
        elapsed.append(end - start)
    assert 1 <= elapsed[0] < 10 <= elapsed[1]
