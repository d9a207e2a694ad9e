"""What a queued task needs lives until that task is done, whatever was closed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.api import Device, Stream
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from tests.unit.runtime.machines import OpenMachine, holdings

URLS = ["fake://ascend910b3?devices=2", "fake-abi://ascend950?devices=2&seed=5",
        pytest.param("fake://ascend950?devices=2", marks=pytest.mark.soak)]  # fmt: skip
LIMIT_MS = 20_000
pytestmark = pytest.mark.timeout(60)

Prepare = Callable[[Device, Stream, Stream], Callable[[], object]]


@pytest.fixture(params=URLS)
def device(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Device:
    """The first of two cards."""
    return open_machine(request.param).device(0)


def event(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    made = device.create_event()
    recording.record(made)
    waiting.wait(made)
    return made.close


def event_closed_before(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    event(device, recording, waiting)()
    return lambda: None


def event_with_time_recorded_twice(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    made = device.create_event(timing=True)
    for _ in range(2):
        recording.record(made)
        waiting.wait(made)
    return made.close


def plain_event(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    made = Event(device, EventFlag.SYNC, renewed=False)
    recording.record(made)
    waiting.wait(made)
    return made.close


def notify(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    made = device.create_notify()
    made.record(recording)
    made.wait(waiting)
    return made.close


def count_notify(device: Device, recording: Stream, waiting: Stream) -> Callable[[], object]:
    if device.chip.generation == "v100":
        return notify(device, recording, waiting)
    made = device.create_count_notify()
    made.record(recording, 7)
    made.wait(waiting, 7)
    return made.close


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("prepare", [
    event, event_closed_before, event_with_time_recorded_twice, plain_event, notify, count_notify,
])
def test_a_wait_ends_although_what_it_waits_for_was_closed(device: Device, prepare: Prepare, late: bool) -> None:
    fake = device.hal.fake.device(0)
    for _ in range(2):
        recording, waiting = device.create_stream(), device.create_stream()
        fake.hold(waiting.stream_id)
        close = prepare(device, recording, waiting)
        if not late:
            close()
        recording.synchronize(LIMIT_MS)
        recording.close()
        if late:
            close()
        for _ in range(4):  # whoever comes now must not get the same ids
            other, again, flag = device.create_stream(), device.create_event(timing=True), device.create_notify()
            other.record(again)
            other.synchronize(LIMIT_MS)
            flag.close()
            other.close()
            again.close()
        fake.release(waiting.stream_id)
        waiting.synchronize(LIMIT_MS)
        waiting.close()


def test_ids_go_back_with_the_last_wait(device: Device) -> None:
    fake = device.hal.fake.device(0)
    recording, waiting = device.create_stream(), device.create_stream()
    before = holdings(device.runtime)
    fake.hold(waiting.stream_id)
    made, flag = device.create_event(timing=True), device.create_notify()
    with device.create_stream() as short:
        short.record(made)
        waiting.wait(made)
        flag.record(short)
        flag.wait(waiting)
    made.close()
    flag.close()
    assert holdings(device.runtime)["notify ids"] != before.get("notify ids")
    fake.release(waiting.stream_id)
    waiting.synchronize(LIMIT_MS)
    device.signals.ids.trim()
    assert holdings(device.runtime) == before
    recording.close()


def test_a_wait_for_a_record_whose_stream_has_ended_waits_for_nothing(device: Device) -> None:
    made = Event(device, EventFlag.DEFAULT, renewed=False)
    with device.create_stream() as recording:
        recording.record(made)
        made.reset(recording)
    with device.create_stream() as waiting, device.create_stream() as other:
        other.record(device.create_event())
        if device.chip.generation != "v100":  # there the reset has taken the record back
            waiting.wait(made)
        waiting.synchronize(LIMIT_MS)
