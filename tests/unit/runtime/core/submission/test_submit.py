"""The slow path out: undone when encoding or sending fails, patient when the ring is full, final when it must be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chips.tasks import EventRecord, Nop, NotifyWait, TaskType
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.core.submission import submit
from runtime.core.submission.ring import TaskInfo
from tests.unit.runtime.machines import holdings

Sent = Callable[[Stream], None]


class Witness:
    """Counts what is asked of a task's arguments and callback."""

    def __init__(self, device: Device) -> None:
        self.finished = 0
        self.block = device.arguments.pools[0].take()
        assert self.block is not None
        self.pool = device.arguments.pools[0]

    def options(self) -> dict[str, Any]:
        return {"finished": self.finish, "arguments": self.block}

    def finish(self) -> None:
        self.finished += 1

    @property
    def returned(self) -> int:
        return self.pool.free.count(self.block)


@pytest.fixture
def witness(device: Device) -> Witness:
    return Witness(device)


def test_what_belongs_to_a_task_comes_back_when_it_is_done(device: Device, stream: Stream, witness: Witness) -> None:
    device.hal.fake.device(0).hold()
    ids = stream.submit(Nop(), **witness.options())
    assert ids.position == 0
    assert stream.ring.owners[0] == TaskInfo(TaskType.NOP, "nop")
    assert not stream.query()
    assert (witness.finished, witness.returned) == (0, 0)
    device.hal.fake.device(0).release()
    stream.synchronize()
    assert (witness.finished, witness.returned) == (1, 1)


def test_a_task_that_cannot_be_encoded_is_undone(machine: Runtime, stream: Stream, witness: Witness) -> None:
    before = holdings(machine)
    with pytest.raises(Exception, match="notify"):
        stream.submit(NotifyWait(notify_id=1 << 40), **witness.options())
    assert (witness.finished, witness.returned) == (1, 1)
    assert (stream.ring.submitted, stream.ring.in_flight_start, stream.reports.expected) == (0, None, {})
    ids = stream.submit(Nop())
    assert (ids.task_id, ids.position) == (0, 0)
    stream.synchronize()
    assert holdings(machine) == before


def test_a_task_that_the_chip_has_no_builder_for_is_refused(stream: Stream, witness: Witness) -> None:
    class Odd(Nop):
        type = -1  # type: ignore[assignment]

    with pytest.raises(Exception, match=r"-1|Odd"):
        stream.submit(Odd(), **witness.options())
    assert (witness.finished, witness.returned) == (1, 1)
    assert stream.ring.submitted == 0


@pytest.mark.parametrize("code", ["DRV_ERROR_INNER_ERR", "DRV_ERROR_INVALID_VALUE", "DRV_ERROR_NO_DEVICE"])
def test_a_refused_send_is_undone_on_v2_and_repeated_on_v1(device: Device, stream: Stream, witness: Witness,
                                                           code: str) -> None:
    device.hal.fake.faults.on_call("halSqTaskSend", code, times=2)
    if device.chip.generation == "v100":
        stream.submit(Nop(), **witness.options())
        stream.synchronize()
        assert (witness.finished, witness.returned, stream.ring.submitted) == (1, 1, 1)
        return
    task = EventRecord(event_id=1, report=True)
    for attempt in (1, 2):
        with pytest.raises(errors.RuntimeFault) as caught:
            stream.submit(task, finished=witness.finish, reported=lambda _cqe: None)
        assert (caught.value.hal_call, caught.value.hal_name) == ("halSqTaskSend", code)
        assert caught.value.code == 507899
        assert (witness.finished, stream.ring.submitted, stream.reports.expected) == (attempt, 0, {})
    assert stream.submit(Nop()).task_id == 0
    stream.synchronize()


def test_missing_credit_is_no_error(device: Device, stream: Stream, witness: Witness) -> None:
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_NO_RESOURCES", times=2500)
    stream.submit(Nop(), **witness.options())
    stream.synchronize()
    assert (witness.finished, witness.returned) == (1, 1)


def test_a_device_that_dies_ends_the_wait_for_credit(device: Device, stream: Stream, witness: Witness) -> None:
    fake = device.hal.fake.device(0)
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_NO_RESOURCES", times=0)
    fake.status = 4
    try:
        with pytest.raises(errors.RuntimeFault):
            stream.submit(Nop(), **witness.options())
        assert (witness.finished, witness.returned, stream.ring.pending) == (1, 1, 0)
    finally:
        fake.status = 1
        device.hal.fake.faults.clear()


def test_closed_streams_take_nothing(device: Device, witness: Witness) -> None:
    stream = device.create_stream()
    stream.close()
    with pytest.raises(errors.InvalidHandle):
        stream.submit(Nop(), **witness.options())
    assert (witness.finished, witness.returned) == (1, 1)


def test_a_full_ring_is_waited_for(device: Device, stream: Stream) -> None:
    fake = device.hal.fake.device(0)
    fake.hold()
    for _ in range(stream.ring.depth - 1):
        stream.submit(Nop())
    assert not stream.ring.fits(1)
    done: list[int] = []
    inside = threading.Event()

    def send() -> None:
        inside.set()
        done.append(stream.submit(Nop()).position)

    thread = threading.Thread(target=send)
    thread.start()
    assert inside.wait(30)
    assert not done
    fake.release()
    thread.join(60)
    assert done == [stream.ring.depth - 1]
    stream.synchronize()


def test_more_sqes_than_a_ring_has_never_fit(stream: Stream) -> None:
    with stream.lock, pytest.raises(errors.RuntimeFault, match="never fit into a ring"):
        submit.make_space(stream, stream.ring.depth)


def test_closing_ends_the_wait_for_room(device: Device) -> None:
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    for _ in range(stream.ring.depth - 1):
        stream.submit(Nop())
    failures: list[errors.RuntimeFault] = []
    inside = threading.Event()

    def send() -> None:
        inside.set()
        try:
            stream.submit(Nop())
        except errors.RuntimeFault as fault:
            failures.append(fault)

    thread = threading.Thread(target=send)
    thread.start()
    assert inside.wait(30)
    device.hal.fake.device(0).queues[stream.queues.sq_id].enabled = False  # v100 need not wait for it to end
    stream.close(force=True)
    thread.join(60)
    assert not thread.is_alive()
    assert [fault.code for fault in failures] in ([107017], [])


def test_two_threads_fill_one_ring(stream: Stream) -> None:
    finished: list[int] = []

    def work(first: int) -> None:
        for number in range(first, first + 1500):
            stream.submit(Nop(), finished=lambda number=number: finished.append(number))

    threads = [threading.Thread(target=work, args=(10_000 * index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert sorted(finished) == [10_000 * index + number for index in range(2) for number in range(1500)]


def test_a_failing_callback_does_not_stop_the_others(stream: Stream, witness: Witness) -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    stream.device.hal.fake.device(0).hold()
    stream.submit(Nop(), finished=fail)
    stream.submit(Nop(), **witness.options())
    stream.device.hal.fake.device(0).release()
    with pytest.raises(ValueError, match="on purpose"):
        stream.synchronize()
    stream.synchronize()
    assert (witness.finished, witness.returned) == (1, 1)
