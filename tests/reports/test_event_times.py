"""Times and states of events that are done: every wait that ends behind a record also has its report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Event, Runtime, Stream
from runtime.capi.aclrt import Out
from runtime.driver.queues import QueueDriver
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

URLS = ["fake://ascend910b3?devices=2", "fake-abi://ascend950?devices=2&policy=random&seed=4", *(
    pytest.param(f"{machine}?devices=2", marks=pytest.mark.soak)
    for machine in ("fake://ascend910_9391", "fake://ascend950", "fake-abi://ascend910b3")
)]  # fmt: skip


@pytest.fixture(params=URLS)
def device(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Device:
    """The first of two cards."""
    return open_machine(request.param).device(0)


@pytest.fixture
def events(device: Device) -> tuple[Event, Event]:
    """Two events with times."""
    return device.create_event(timing=True), device.create_event(timing=True)


def by_stream(stream: Stream) -> None:
    stream.synchronize()


def by_limited_stream(stream: Stream) -> None:
    stream.synchronize(30_000)


def by_device(stream: Stream) -> None:
    stream.device.synchronize()


def by_query(stream: Stream) -> None:
    while not stream.query():
        pass


def by_await(stream: Stream) -> None:
    async def wait() -> None:
        await stream

    asyncio.run(wait())


def by_close(stream: Stream) -> None:
    stream.close()


WAITS = [by_stream, by_limited_stream, by_device, by_query, by_await, by_close]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("wait", WAITS)
def test_a_time_is_there_after_every_wait_and_outlives_the_stream(
    device: Device, events: tuple[Event, Event], wait: Callable[[Stream], None]
) -> None:
    begin, end = events
    for _ in range(2):
        stream = device.create_stream()
        stream.record(begin)
        stream.record(end)
        wait(stream)
        stream.close()
        assert begin.query()
        assert end.query()
        assert end - begin > 0
        begin.synchronize()
        assert f"{end!r}".endswith("done>")


@pytest.mark.timeout(60)
def test_the_report_of_an_event_that_was_ended_by_force_is_not_waited_for(
    device: Device, events: tuple[Event, Event]
) -> None:
    begin, end = events
    for give_up in (lambda stream: stream.close(force=True), lambda stream: stream.abort()):
        stream = device.create_stream()
        device.hal.fake.device(0).hold(stream.stream_id)
        stream.record(begin)
        stream.record(end)
        assert not begin.query()
        give_up(stream)
        assert begin.query()
        begin.synchronize()
        with pytest.raises(errors.EventError, match="ended by force") as caught:
            end - begin
        assert caught.value.code == 107006

@pytest.mark.timeout(60)
def test_a_report_that_got_lost_is_given_up(device: Device, events: tuple[Event, Event]) -> None:
    begin, end = events
    stream = device.create_stream()
    device.hal.fake.faults.on_task(Effect.LOST, stream=stream.stream_id)
    stream.record(begin)
    stream.record(end)
    stream.synchronize()
    with pytest.raises(errors.EventError, match="report of it got lost") as caught:
        end - begin
    assert caught.value.code == 107006
    assert end.timestamp_ticks > 0


def test_times_of_two_cards_are_not_compared(device: Device, events: tuple[Event, Event]) -> None:
    other_device = device.runtime.device(1)
    other = other_device.create_event(timing=True)
    for event in (events[0], other):
        event.device.default_stream.record(event)
        event.device.synchronize()
    for later, earlier in ((events[0], other), (other, events[0])):
        with pytest.raises(errors.InvalidArgument, match="clocks of two devices") as caught:
            later - earlier
        assert caught.value.code == 107000


def test_a_closed_event_says_that_it_is_closed(device: Device, events: tuple[Event, Event]) -> None:
    begin, end = events
    device.default_stream.record(begin)
    device.default_stream.record(end)
    device.synchronize()
    begin.close()
    for ask in (lambda: end - begin, lambda: begin.timestamp_ticks):
        with pytest.raises(errors.InvalidHandle, match="is no live event") as caught:
            ask()
        assert caught.value.code == 107017


# -- by name -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=URLS)
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """A process that uses the first card by name."""
    made = Caller(request.param)
    assert made.aclrtSetDevice(deviceId=0) == 0
    yield made
    runtime = made.acl.runtime
    assert isinstance(runtime, Runtime)
    runtime.close(force=True)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("make", "flag"), [
    ("aclrtCreateEvent", None), ("aclrtCreateEventWithFlag", 8), ("aclrtCreateEventExWithFlag", 8),
    ("aclrtCreateEventExWithFlag", 0xE),
])
@pytest.mark.parametrize("wait", ["aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtDestroyStream"])
def test_finished_events_have_state_and_time(caller: Caller, make: str, flag: int | None, wait: str) -> None:
    given = {} if flag is None else {"flag": flag}
    begin, end = (caller.make(make, "event", **given) for _ in range(2))
    stream = caller.make("aclrtCreateStream", "stream")
    for _ in range(2):
        assert caller.aclrtRecordEvent(event=begin, stream=stream) == 0
        assert caller.aclrtRecordEvent(event=end, stream=stream) == 0
        assert getattr(caller, wait)(**({} if wait == "aclrtSynchronizeDevice" else {"stream": stream})) == 0
        status, ms, stamp = Out(), Out(), Out()
        assert caller.aclrtQueryEventStatus(event=end, status=status) == 0
        assert status.value == 1
        assert caller.aclrtEventElapsedTime(ms=ms, startEvent=begin, endEvent=end) == 0
        assert ms.value > 0
        assert caller.aclrtEventGetTimestamp(event=end, timestamp=stamp) == 0
        assert stamp.value > 0
        if wait == "aclrtDestroyStream":
            break
    assert caller.aclrtDestroyEvent(event=begin) == caller.aclrtDestroyEvent(event=end) == 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("url", ["fake://ascend910b3?devices=2", "fake://ascend310b1", "fake://ascend950?devices=2"])
def test_events_that_nobody_waits_for_do_not_make_each_other_dear(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """A loop that records timed events: where tasks ask for no entry of their own, nobody asks for it by task."""
    device = open_machine(url).device(0)
    stream, asked = device.create_stream(), list[tuple[int, ...]]()
    kind = type(device.queues)
    receive = kind.receive

    def counted(queues: QueueDriver, *given: int) -> list[bytes]:
        asked.append(given[3:])
        return receive(queues, *given)

    monkeypatch.setattr(kind, "receive", counted)
    kept = [stream.record(device.create_event(timing=True)) for _ in range(600)]
    stream.synchronize(30_000)
    assert all(event.query() for event in kept)
    assert kept[-1] - kept[0] > 0
    by_task = sum(map(bool, asked))
    assert (by_task > 0) == (not stream.env.separate_recycle and stream.counts_ids)
    assert len(asked) - by_task <= 2 * len(kept)
