"""Closing streams: plain and by force, once, and never under somebody's hands."""

from __future__ import annotations

import contextlib
import threading

import pytest

from chips.tasks import Maintenance, Nop
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.device import teardown
from runtime.core.stream.stream import Stream
from tests.unit.runtime.machines import holdings


def test_a_plain_close_waits_for_the_tasks(machine: Runtime, device: Device) -> None:
    before = holdings(machine)
    finished: list[int] = []
    stream = device.create_stream()
    for number in range(10):
        stream.submit(Nop(), finished=lambda number=number: finished.append(number))
    stream.close()
    assert finished == list(range(10))
    assert stream.closed
    assert holdings(machine) == before


def test_a_plain_close_gives_up_and_leaves_a_usable_stream(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teardown, "_TRIES", 3)
    stream = device.create_stream()
    fake = device.hal.fake.device(0)
    fake.hold(stream.stream_id)
    stream.submit(Nop())
    with pytest.raises(errors.Timeout, match="cannot be closed") as caught:
        stream.close()
    assert (caught.value.code, stream.closed) == (507046, False)
    fake.release(stream.stream_id)
    stream.submit(Nop())
    stream.synchronize()
    stream.close()


def test_force_ends_what_does_not_end(machine: Runtime, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teardown, "_TRIES", 3)
    before = holdings(machine)
    stream = device.create_stream()
    finished: list[int] = []
    device.hal.fake.device(0).hold(stream.stream_id)
    block = device.arguments.pools[0].take()
    stream.submit(Nop(), finished=lambda: finished.append(1), arguments=block)
    stream.close(force=True)
    assert finished == [1]
    assert device.arguments.pools[0].free.count(block) == 1
    assert holdings(machine) == before
    with device.create_stream() as fresh:
        fresh.submit(Nop())
        fresh.synchronize()


@pytest.mark.parametrize("force", [False, True])
def test_closing_in_many_threads_frees_once(machine: Runtime, device: Device, force: bool) -> None:
    before = holdings(machine)
    for _ in range(20):
        stream = device.create_stream()
        stream.submit(Nop())
        failures: list[BaseException] = []
        barrier = threading.Barrier(4)

        def close(stream=stream, barrier=barrier, failures=failures) -> None:  # type: ignore[no-untyped-def]
            barrier.wait()
            try:
                stream.close(force=force)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert stream.closed
    assert holdings(machine) == before


def test_a_task_that_comes_at_the_last_moment_is_waited_for(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = device.create_stream()
    finished: list[int] = []
    inner, late = teardown.end_tasks, [True]

    def end_tasks(of: object, *, force: bool) -> None:
        inner(of, force=force)  # type: ignore[arg-type]
        if late and of is stream:
            late.pop()
            stream.submit(Nop(), finished=lambda: finished.append(1))

    monkeypatch.setattr(teardown, "end_tasks", end_tasks)
    device.hal.fake.device(0).hold()
    stream.submit(Nop())
    device.hal.fake.device(0).release()
    stream.close()
    assert finished == [1]


def test_threads_that_submit_while_a_stream_closes_lose_nothing(device: Device) -> None:
    for force in (False, True) * 5:
        stream = device.create_stream()
        sent, finished, refused = [0], [0], threading.Event()

        def work(stream=stream, sent=sent, finished=finished, refused=refused) -> None:  # type: ignore[no-untyped-def]
            def done() -> None:
                finished[0] += 1

            while sent[0] < 1000:
                sent[0] += 1
                try:
                    stream.submit(Nop(), finished=done)
                except errors.InvalidHandle:
                    refused.set()
                    return

        thread = threading.Thread(target=work)
        thread.start()
        while sent[0] < 50:
            pass
        stream.close(force=force)
        thread.join()
        assert finished == sent
        stream.close()
        assert refused.is_set() or sent == [1000]


def test_draining_another_threads_stream_while_it_closes(device: Device) -> None:
    """What memory pools do when they look for free blocks; the ids of closed queues are used again at once."""
    failures: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for stream in list(device.context.streams):
                try:
                    stream.drain()
                except BaseException as failure:
                    failures.append(failure)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(60):
        with device.create_stream() as stream, device.create_event(timing=True) as event:
            event.record(stream)
            event.synchronize(10_000)
    stop.set()
    thread.join()
    assert failures == []


def test_the_default_stream_goes_with_its_device(machine: Runtime, device: Device) -> None:
    default = device.default_stream
    with pytest.raises(errors.InvalidArgument, match="cannot be closed on its own") as caught:
        default.close()
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")
    default.submit(Nop())
    device.close()
    assert default.closed
    assert holdings(machine) == {}


def test_a_plain_close_of_a_device_waits_for_its_default_stream(device: Device) -> None:
    finished: list[int] = []
    device.default_stream.submit(Nop(), finished=lambda: finished.append(1))
    device.close()
    assert finished == [1]


def test_a_lost_device_can_be_closed_by_force(machine: Runtime, device: Device) -> None:
    stream = device.create_stream()
    fake = device.hal.fake.device(0)
    fake.hold()
    stream.submit(Nop())
    device.default_stream.submit(Nop())
    fake.status = 4
    with contextlib.suppress(errors.RuntimeFault):  # the driver may refuse on the way; the way is gone to its end
        device.close(force=True)
    assert device.closed
    assert stream.closed
    fake.status = 1


class _Messages:
    """Queues that the message about a stream's end was sent on, in order."""

    def __init__(self, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
        self.over: list[tuple[Stream, bool]] = []
        submit = Stream.submit

        def watched(stream: Stream, task: object, **more: object) -> object:
            if isinstance(task, Maintenance):
                self.over.append((stream, bool(task.flag)))
            return submit(stream, task, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Stream, "submit", watched)


def test_the_scheduler_is_told_behind_the_tasks_of_a_plain_close_and_past_them_by_force(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teardown, "_TRIES", 3)
    sent, fake = _Messages(device, monkeypatch), device.hal.fake.device(0)
    plain, forced, idle = (device.create_stream() for _ in range(3))
    for stream in (plain, forced):
        fake.hold(stream.stream_id)
        stream.submit(Nop())
    with pytest.raises(errors.Timeout):
        plain.close()
    forced.close(force=True)
    idle.close()
    assert sent.over == [(plain, False), (device.control_stream, True)]
    fake.release(plain.stream_id)
    plain.close()


def test_a_plain_close_of_a_full_stream_does_not_wait_for_room_to_say_so(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teardown, "_TRIES", 3)
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    while stream.ring.fits(1):
        stream.submit(Nop())
    with pytest.raises(errors.Timeout, match="cannot be closed"):
        stream.close()
    stream.close(force=True)
