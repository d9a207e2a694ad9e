"""Events in all their kinds: which flags, when a wait sends a task, what queries say, ids that come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag, check_flags
from runtime.driver.p2p import PeerDriver
from tests.contract.holdings import tasks_sent

COMMANDS = True

MakeKernel = Callable[..., Kernel]
SYNC, MARK, TIME_LINE = EventFlag.SYNC, EventFlag.STREAM_MARK, EventFlag.TIME_LINE


@pytest.mark.parametrize(
    ("flags", "renewed", "message"),
    [
        (0x00, False, "EE1003"), (0x40, False, "EE1003"), (0x48, False, "EE1003"), (0x80, False, "EE1003"),
        (0x11, False, "EE1006"), (0x28, False, "EE1006"), (0x00, True, "EE1003"), (0x80, True, "EE1003"),
        (0x10, True, "EE1006"), (0x20, True, "EE1006"), (0x11, True, "EE1006"), (0x28, True, "EE1006"),
        (0x48, True, "EE1006"), (0xFFFFFFFF, True, "EE1006"),
    ],
)  # fmt: skip
def test_flags_that_are_refused(flags: int, renewed: bool, message: str) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        check_flags(flags, renewed=renewed, call="create")
    assert (caught.value.code, caught.value.message_id) == (107000, message)


@pytest.mark.parametrize("flags", [1, 2, 4, 8, 9, 0xB, 0xE, 0xF])
@pytest.mark.parametrize("renewed", [True, False])
def test_flags_that_both_kinds_have(flags: int, renewed: bool) -> None:
    assert check_flags(flags, renewed=renewed, call="create") == flags


def test_flags_that_one_kind_has() -> None:
    assert check_flags(0x40, renewed=True, call="create") is EventFlag.IPC
    assert check_flags(0x10, renewed=False, call="create") is EventFlag.DEVICE_ONLY
    assert check_flags(0x20, renewed=False, call="create") is EventFlag.EXTERNAL


@pytest.fixture
def streams(device: Device) -> Iterator[tuple[object, ...]]:
    """Two streams, the first of them held."""
    with device.create_stream(name="held") as held, device.create_stream(name="free") as free:
        device.hal.fake.device(0).hold(held.stream_id)
        yield held, free
        device.hal.fake.device(0).release()
        device.hal.fake.device(0).release(held.stream_id)


@pytest.mark.parametrize(
    ("flags", "renewed", "same_stream", "sent"),
    [
        (SYNC, True, False, 1), (SYNC, True, True, 0), (SYNC, False, False, 1), (SYNC, False, True, 0),
        (EventFlag.DEFAULT, False, True, 1), (EventFlag.DEFAULT, False, False, 1),
    ],
)  # fmt: skip
def test_wait_for_a_pending_record(
    device: Device, streams: tuple[object, ...], flags: EventFlag, renewed: bool, same_stream: bool, sent: int
) -> None:
    held, free = streams
    with Event(device, flags, renewed=renewed) as event:
        event.record(held)
        waiting = held if same_stream else free
        before = waiting.ring.submitted
        event.wait(waiting)
        assert waiting.ring.submitted - before == sent


@pytest.mark.hardware_safe
@pytest.mark.parametrize(
    ("flags", "renewed", "sent"), [(SYNC, True, 0), (SYNC, False, 1), (EventFlag.DEFAULT, False, 0)]
)
def test_wait_for_a_finished_record(device: Device, flags: EventFlag, renewed: bool, sent: int) -> None:
    with device.create_stream() as one, device.create_stream() as two, Event(device, flags, renewed=renewed) as event:
        event.record(one)
        one.synchronize()
        event.wait(two)
        assert tasks_sent(two) == sent


@pytest.mark.hardware_safe
def test_plain_sync_event_is_waited_for_before_its_record(device: Device) -> None:
    with device.create_stream() as one, device.create_stream() as two, Event(device, SYNC, renewed=False) as event:
        event.wait(two)
        assert not two.query()
        assert not event.queries.waits_done()
        with pytest.raises(errors.Timeout):
            two.synchronize(5)
        event.record(one)
        two.synchronize(30_000)
        assert event.queries.waits_done()


@pytest.mark.hardware_safe
def test_default_event_must_be_recorded_first(device: Device) -> None:
    v100 = device.chip.traits.counts_ids
    with device.create_stream() as stream, Event(device, EventFlag.DEFAULT, renewed=False) as event:
        with pytest.raises(errors.InvalidArgument, match="never recorded") as caught:
            event.wait(stream)
        assert caught.value.message_id == ("EE1018" if v100 else "EE1001")
        assert not event.queries.status()
        assert event.queries.recorded()
        event.synchronize()


@pytest.mark.hardware_safe
@pytest.mark.parametrize("flags", [MARK, TIME_LINE, MARK | TIME_LINE])
@pytest.mark.parametrize("renewed", [True, False])
def test_marks_cannot_be_waited_for(device: Device, flags: EventFlag, renewed: bool) -> None:
    with device.create_stream() as stream, Event(device, flags, renewed=renewed) as event:
        event.record(stream)
        for use in (event.wait, event.reset):
            with pytest.raises(errors.NotSupported):
                use(stream)
        event.synchronize()
        assert event.query()


@pytest.mark.hardware_safe
def test_renewed_event_refuses_the_older_questions(device: Device) -> None:
    with device.create_stream() as stream, Event(device, SYNC) as event:
        assert event.queries.status()
        for use in (lambda: event.reset(stream), event.queries.recorded, event.queries.waits_done):
            with pytest.raises(errors.NotSupported):
                use()


@pytest.mark.hardware_safe
def test_wait_behind_a_reset_holds_until_the_next_record(device: Device) -> None:
    with device.create_stream() as one, device.create_stream() as two, Event(device, SYNC, renewed=False) as event:
        event.record(one)
        one.synchronize()
        event.reset(one)
        one.synchronize()
        assert event.query()
        event.wait(two)
        with pytest.raises(errors.Timeout):
            two.synchronize(5)
        event.record(one)
        two.synchronize(30_000)


def test_second_record_leaves_an_earlier_wait_alone(
    device: Device, streams: tuple[object, ...], make_kernel: MakeKernel
) -> None:
    held, free = streams
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as third, device.create_event() as event:
        note[1](1, stream=held)
        event.record(held)
        event.wait(free)
        note[1](2, stream=free)
        event.record(third)
        third.synchronize()
        assert event.query()
        assert log == []
        device.hal.fake.device(0).release(held.stream_id)
        free.synchronize()
    assert log == [1, 2]


@pytest.mark.stars
@pytest.mark.hardware_safe
def test_external_event_is_a_byte_that_streams_order_by(device: Device) -> None:
    with device.create_stream() as one, device.create_stream() as two:
        event = Event(device, EventFlag.EXTERNAL, renewed=False)
        event.wait(two)
        assert not two.query()
        event.record(one)
        two.synchronize(30_000)
        for use in (event.queries.status, event.queries.recorded):
            with pytest.raises(errors.NotSupported):
                use()
        event.close()


def test_device_only_event_holds_an_id_and_is_not_recorded(device: Device) -> None:
    try:
        Event(device, EventFlag.DEVICE_ONLY, renewed=False).close()
    except errors.NotSupported:
        assert not device.chip.prop("mc2FeatureFlag")
        return
    with device.create_stream() as stream, Event(device, EventFlag.DEVICE_ONLY, renewed=False) as event:
        used = device.hal.fake.device(0).ids[device.signals.ids.kind.lower()].used
        assert event.event_id in used
        with pytest.raises(errors.InvalidArgument) as caught:
            event.record(stream)
        assert caught.value.message_id == "EE1006"


def test_ids_run_out_at_the_call_that_takes_one(url: str, generation: str) -> None:
    v100 = generation in ("v100", "hwts")
    machine = Runtime(f"{url}&{'events' if v100 else 'notifys'}=8")
    try:
        device = machine.device(0)
        events = [Event(device, SYNC, renewed=False) for _ in range(8)]
        with pytest.raises(errors.ResourceExhausted, match="no event id left") as caught:
            Event(device, SYNC, renewed=False)
        assert caught.value.code == 207007
        assert caught.value.message_id == ("" if v100 else "EE1023")
        events.pop().close()
        events.append(Event(device, SYNC, renewed=False))
    finally:
        machine.close(force=True)


def test_record_takes_the_ids_of_finished_records_back(url: str, generation: str) -> None:
    if generation != "v100":
        pytest.skip("records on STARS v2 share one counter per stream")
    machine = Runtime(f"{url}&events=8")
    try:
        device = machine.device(0)
        with device.create_stream() as stream, device.create_event() as event:
            for _ in range(100):
                event.record(stream)
    finally:
        machine.close(force=True)


def test_idle_ids_go_back_to_the_driver(device: Device) -> None:
    ids = device.signals.ids
    used = device.hal.fake.device(0).ids[ids.kind.lower()].used
    with device.create_stream() as stream:
        device.create_event().record(stream).close()
        stream.synchronize()
    kept = len(used)
    assert kept == (1 if ids.limit else 0)
    assert ids.release_idle(now=0.0) == 0
    assert ids.release_idle(now=1e12) == kept
    assert used == set()


def test_closed_event_keeps_its_signal_until_the_waits_are_over(device: Device, streams: tuple[object, ...]) -> None:
    held, free = streams
    event = Event(device, SYNC, renewed=False)
    used = device.hal.fake.device(0).ids[device.signals.ids.kind.lower()].used
    event.record(held)
    event.wait(free)
    event.close()
    assert used
    device.hal.fake.device(0).release(held.stream_id)
    free.synchronize(30_000)
    held.synchronize(30_000)
    device.signals.ids.trim()
    assert used == set()


@pytest.mark.hardware_safe
def test_two_threads_record_in_one_stream(device: Device) -> None:
    """Numbers of a stream's counter reach the device in the order in which they were taken."""
    with device.create_stream() as one, device.create_stream() as two:

        def work() -> None:
            with device.create_event() as event:
                for _ in range(200):
                    event.record(one)
                    event.wait(two)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.synchronize(30_000)
        two.synchronize(30_000)


@pytest.mark.stars
def test_shared_event(device: Device) -> None:
    with device.create_stream() as one, device.create_stream() as two, Event(device, EventFlag.IPC) as event:
        device.hal.fake.device(0).hold(one.stream_id)
        with Event(device, EventFlag.IPC, shared=event.share()) as opened:
            event.record(one)
            opened.wait(two)
            assert not opened.query()
            assert not two.query()
            device.hal.fake.device(0).release(one.stream_id)
            opened.synchronize(30_000)
            two.synchronize(30_000)
            assert event.queries.status()
        for refused in (lambda: event.queries.read_ticks(), lambda: device.create_event().share()):
            with pytest.raises(errors.RuntimeFault):
                refused()


@pytest.mark.stars
def test_wait_for_an_event_of_another_device_needs_peer_access(url: str) -> None:
    machine = Runtime(url + "&devices=2")
    try:
        here, there = machine.device(0), machine.device(1)
        with here.create_stream() as recording, there.create_stream() as waiting, here.create_event() as event:
            here.hal.fake.device(0).hold(recording.stream_id)
            event.record(recording)
            with pytest.raises(errors.NotSupported, match="may not reach"):
                event.wait(waiting)
            PeerDriver(here.hal, here.device_id).enable(there.driver.info.physical_id())
            event.wait(waiting)
            assert not waiting.query()
            here.hal.fake.device(0).release(recording.stream_id)
            recording.synchronize(30_000)
            waiting.synchronize(30_000)
    finally:
        machine.close(force=True)
