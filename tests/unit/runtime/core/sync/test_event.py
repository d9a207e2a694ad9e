"""Events and notifies between threads, streams and devices."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.core.stream import stream as streams
from runtime.core.sync import event_pool
from runtime.core.sync.behind import free_behind
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from runtime.core.sync.notify import Notify
from runtime.driver.resources import IdDriver
from tests.unit.runtime.machines import V200, MakeKernel, OpenMachine, holdings


def test_an_event_is_over_when_its_own_record_is(device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch,
                                                 ) -> None:
    """Not when later tasks are, whoever submits them in between."""
    inner, more = streams.submit, [True]

    def submit_one_more(of: Stream, task: Any, **options: Any) -> Any:
        ids = inner(of, task, **options)
        if more:
            more.pop()
            inner(of, Nop(), owner="of another thread")
        return ids

    monkeypatch.setattr(streams, "submit", submit_one_more)
    fake = device.hal.fake.device(0)
    fake.hold()
    event = device.create_event().record(stream)
    assert stream.ring.submitted == 2
    assert not event.query()
    fake.step(1)
    assert event.query()
    assert stream.ring.pending == 1
    fake.release()
    stream.synchronize()


def test_two_streams_wait_for_one_record(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    log: list[str] = []
    first = make_kernel("first", lambda _context: log.append("first"))
    second = make_kernel("second", lambda _context: log.append("second"))
    fake = device.hal.fake.device(0)
    fake.hold(stream.stream_id)
    with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
        first[1](0, stream=stream)
        event.record(stream)
        for waiting in (a, b):
            waiting.wait(event)
            second[1](0, stream=waiting)
        fake.release(stream.stream_id)
        for waiting in (stream, a, b):
            waiting.synchronize(30_000)
    assert log == ["first", "second", "second"]


def test_an_event_can_be_asked_when_its_stream_is_gone(device: Device) -> None:
    event = device.create_event()
    stream = device.create_stream()
    event.record(stream)
    stream.close()
    assert event.query()
    event.synchronize(100)
    with device.create_stream() as other:
        other.wait(event)
        other.synchronize()


def test_events_that_nobody_closes_end_with_the_device(machine: Runtime, device: Device, stream: Stream) -> None:
    events = [device.create_event().record(stream) for _ in range(5)]
    notify = device.create_notify()
    device.close()
    assert holdings(machine) == {}
    for left in (*events, notify):
        left.close()
    with pytest.raises(errors.RuntimeFault):
        events[0].record()


def test_ids_come_back_however_records_and_waits_meet(device: Device) -> None:
    """Threads record, wait, synchronise and close at the same time; in the end no id is lost and none given twice."""
    ids = device.hal.fake.device(0).ids
    before = {kind: set(ids[kind].used) for kind in ("event", "notify", "cnt_notify")}
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with device.create_stream() as a, device.create_stream() as b:
                for _ in range(40):
                    with device.create_event() as event:
                        event.record(a)
                        b.wait(event)
                        event.record(b)
                        a.wait(event)
                        event.query()
                a.synchronize(30_000)
                b.synchronize(30_000)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    device.signals.ids.trim()
    assert {kind: set(ids[kind].used) for kind in before} == before


def test_the_head_of_another_stream_is_read_only_while_nobody_can_close_that(device: Device, stream: Stream) -> None:
    """Its queue may be another stream's, or nobody's, as soon as it was closed."""
    card, taken, freed = device.hal.fake.device(0), [], []
    card.hold(stream.stream_id)
    stream.submit(Nop())
    read = stream.read_head

    def read_head() -> int:
        other = threading.Thread(target=lambda: taken.append(stream.lock.acquire(blocking=False)))
        other.start()
        other.join()
        return read()

    stream.read_head = read_head
    free_behind(device, lambda: freed.append(True))
    assert (taken, freed) == ([False], [])
    stream.read_head = read
    card.release(stream.stream_id)
    stream.synchronize()
    assert freed == [True]


def test_a_record_that_fails_gives_its_id_back(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V200}").device(0)  # v1 repeats a refused send for as long as the device lives
    stream = device.create_stream()
    ids = device.hal.fake.device(0).ids
    event = device.create_event()
    event.record(stream)
    stream.synchronize()
    used = {kind: len(ids[kind].used) for kind in ("event", "notify", "cnt_notify")}
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_INNER_ERR")
    with pytest.raises(errors.RuntimeFault):
        event.record(stream)
    assert event.query()
    assert {kind: len(ids[kind].used) for kind in used} == used


def test_time_between_two_records(device: Device, stream: Stream) -> None:
    start, end = device.create_event(timing=True), device.create_event(timing=True)
    start.record(stream)
    end.record(stream)
    end.synchronize()
    assert end - start >= 0
    assert start - end == -(end - start)
    with pytest.raises(TypeError):
        _ = end - 1  # type: ignore[operator]


def test_notifies_go_back(machine: Runtime, device: Device, stream: Stream) -> None:
    before = holdings(machine)
    with device.create_notify() as notify:
        notify.record(stream)
        notify.wait(stream)
        stream.synchronize(10_000)
    notify.close()
    assert holdings(machine) == before
    with pytest.raises(errors.InvalidHandle):
        notify.record(stream)


def test_events_that_are_dropped_without_a_close_leave_nothing_behind(device: Device, stream: Stream) -> None:
    """Neither a handle nor an id nor an object, however often; the ids of the last ones go with the next event."""
    handles, ids = device.runtime.handles, device.signals.ids
    device.create_event().record(stream)
    stream.synchronize()
    device.create_event().close()
    known, held, alive = len(handles), ids.held, len(device.signals.events)
    for _ in range(200):
        with device.create_stream() as other:
            event = device.create_event().record(stream)
            other.wait(event)
            device.create_notify().record(stream)
            del event
    stream.synchronize()
    gc.collect()
    device.create_event().close()
    stream.synchronize()
    assert (len(handles), len(device.signals.events)) == (known, alive)
    assert ids.held <= held + 1
    notifies = device.hal.fake.device(0).ids["notify"].used
    assert len(notifies) <= ids.limit + 2


def test_a_handle_keeps_an_event_alive(device: Device) -> None:
    handles = device.runtime.handles
    event = device.create_event()
    handle, place = event.handle, weakref.ref(event)
    assert event.handle == handle
    del event
    gc.collect()
    kept = place()
    assert kept is not None
    assert handles.get(handle, type(kept)) is kept
    kept.close()
    assert not handles.holds(handle)
    assert kept.handle == handle


def test_ids_of_dropped_events_are_found_when_there_are_none_left(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b1?events=4").device(0)
    stream = device.create_stream()
    for _ in range(40):
        device.create_event().record(stream)
    with pytest.raises(errors.ResourceExhausted) as caught:
        _ = [device.create_event().record(stream) for _ in range(5)]
    assert caught.value.code == 207007


def test_the_driver_is_told_which_ids_device_code_uses(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it gives them and when it gets them back, and they are never mixed with others."""
    told: list[tuple[str, int]] = []
    alloc, free = IdDriver.alloc, IdDriver.free

    def see_alloc(ids: IdDriver, kind: str, *, priority: int = 0, flags: int = 0) -> int:
        told.append((f"take {kind}", flags))
        return alloc(ids, kind, priority=priority, flags=flags)

    def see_free(ids: IdDriver, kind: str, number: int, *, flags: int = 0) -> None:
        told.append((f"give {kind}", flags))
        free(ids, kind, number, flags=flags)

    monkeypatch.setattr(IdDriver, "alloc", see_alloc)
    monkeypatch.setattr(IdDriver, "free", see_free)
    kind = device.signals.ids.kind
    Event(device, EventFlag.DEVICE_ONLY, renewed=False).close()
    Notify(device, device_only=True).close()
    Notify(device).close()
    assert told == [(f"take {kind}", 0x20), (f"give {kind}", 0x20), ("take NOTIFY", 0x20), ("give NOTIFY", 0x20),
                    ("take NOTIFY", 0), ("give NOTIFY", 0)]


def test_ids_that_nobody_used_for_three_seconds_go_back_to_the_driver(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b1").device(0)
    pool, stream = device.signals.ids, device.create_stream()
    free = device.hal.fake.device(0).ids["event"].used
    before = set(free)
    events = [device.create_event() for _ in range(3)]
    for event in events:
        event.record(stream)
    stream.synchronize(30_000)
    for event in events:
        event.close()
    assert len(set(free) - before) == 3
    assert pool.held == 0
    assert pool.release_idle(pool._touched + 2.9) == 0
    assert pool.release_idle(pool._touched + 3.0) == 3
    assert set(free) == before
    assert pool.release_idle(pool._touched + 9.0) == 0


@pytest.mark.parametrize("soc", ["ascend910b1", "ascend950pr_9599", "ascend310b1"])
def test_a_wait_does_not_pass_by_what_an_earlier_event_has_set(open_machine: OpenMachine, soc: str) -> None:
    device = open_machine(f"fake://{soc}").device(0)
    card, first, second = device.hal.fake.device(0), device.create_stream(), device.create_stream()
    for _ in range(3):
        event = device.create_event()
        event.record(first)
        event.wait(second)
        device.synchronize(30_000)
        event.close()
    card.hold(first.stream_id)
    event = device.create_event()
    event.record(first)
    event.wait(second)
    card.run_until_idle()
    assert not second.query()
    card.release(first.stream_id)
    second.synchronize(30_000)


def test_the_monitor_gives_up_idle_ids(open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_pool, "IDLE_S", 0.0)
    machine = open_machine("fake://ascend910b1")
    device = machine.device(0)
    event = device.create_event()
    event.record(device.primary_stream)  # type: ignore[arg-type]
    device.synchronize(30_000)
    event.close()
    assert device.signals.ids._free
    machine.monitor.look()
    assert not device.signals.ids._free
