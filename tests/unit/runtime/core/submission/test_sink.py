"""Sinks: which of them takes a task, what it sees of it, and what is undone."""

from __future__ import annotations

from typing import Any

import pytest

from chips.env import TaskIds
from chips.tasks import Nop, Task
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.sink import HARDWARE, OwnSink, Target, group_exhausted, group_interrupted
from runtime.core.submission.submit import send
from runtime.core.submission.task_ids import FIRST_SLOTS, PooledRing, TaskPool


class Recording(OwnSink):
    """A sink that notes what it was given."""

    immediate = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[bytes] = []
        self.kept: list[tuple[Task, str, int]] = []
        self.spoiled: list[BaseException] = []
        self.refusal: Exception | None = None

    def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> Target:
        if self.refusal is not None:
            raise self.refusal
        return Target(stream, self)

    def alloc(self, stream: Stream, count: int, info: TaskInfo) -> TaskIds:
        return stream.ring.take(count, 1, info)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        self.sent.append(sqes)

    def rollback(self, stream: Stream, count: int) -> bool:
        stream.ring.give_back(count)
        return True

    def record(self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: Any) -> None:
        self.kept.append((task, info.name, ids.position))

    def spoil(self, failure: BaseException) -> None:
        self.spoiled.append(failure)


def test_the_last_that_was_laid_is_in_force(stream: Stream) -> None:
    below, above = Recording("below"), Recording("above")
    stream.sinks.lay(below)
    stream.sinks.lay(above)
    assert stream.sink is above
    assert stream.sq_path == "above"
    stream.submit(Nop())
    assert (len(below.sent), len(above.sent)) == (0, 1)
    assert above.kept == [(Nop(), "nop", 0)]
    stream.sinks.lift(below)
    assert stream.sink is above
    stream.sinks.lift(above)
    assert stream.sink is stream.own_sink is HARDWARE
    assert stream.sinks.over == ()
    stream.ring.give_back(1)


def test_a_refusal_leaves_nothing(stream: Stream) -> None:
    sink = Recording("an update")
    sink.refusal = errors.fault("RT_ERROR_TASK_NOT_SUPPORT", "not now", ee="EE1006", params=("a", "b", "c"))
    stream.sinks.lay(sink)
    ended: list[int] = []
    with pytest.raises(errors.NotSupported) as caught:
        stream.submit(Nop(), finished=lambda: ended.append(1))
    assert caught.value is sink.refusal
    assert sink.spoiled == [sink.refusal]
    assert ended == [1]
    assert stream.ring.submitted == 0


def test_what_is_done_with_at_once_gives_everything_back(device: Device, stream: Stream) -> None:
    class Counting(Recording):
        def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> None:  # type: ignore[override]
            self.sent.append(bytes(count))

    sink, ended = Counting("a count"), list[int]()
    stream.sinks.lay(sink)
    pool = device.arguments.pools[0]
    unused, block = pool.unused, pool.take()
    assert stream.submit(Nop(), finished=lambda: ended.append(1), arguments=block) == TaskIds(0)
    assert (len(sink.sent), ended, pool.unused, stream.ring.submitted) == (1, [1], unused, 0)


def test_the_stream_itself_can_be_sent_to_past_what_is_laid_over_it(stream: Stream) -> None:
    sink = Recording("a capture")
    stream.sinks.lay(sink)
    send(stream, Nop())
    stream.sinks.lift(sink)
    stream.synchronize(30_000)
    assert stream.ring.reclaimed == 1
    assert sink.sent == []


def test_a_change_of_the_sink_drops_prepared_launches(stream: Stream) -> None:
    sink = Recording("a capture")
    for change in (stream.sinks.lay, stream.sinks.lift):
        stream.launchers["key"] = lambda: None
        epoch = stream.epoch.now
        change(sink)
        assert not stream.launchers
        assert epoch.blocked
        assert epoch is not stream.epoch.now
    assert not stream.blocked


def test_faults_of_task_groups(stream: Stream) -> None:
    assert group_exhausted(stream, "kernel k").code == 507000
    assert group_interrupted(stream, "kernel k", "a group").code == 107034


def test_the_pool_grows_to_its_limit_and_no_further() -> None:
    pool = TaskPool(FIRST_SLOTS + 1)
    ring = PooledRing(2 * FIRST_SLOTS, pool)
    for _ in range(FIRST_SLOTS + 1):
        ring.take(1, 0, "t")
    assert pool.slots == FIRST_SLOTS + 1
    with pytest.raises(errors.ResourceExhausted, match="all 1025 tasks"):
        ring.take(1, 0, "t")
    assert pool.used == ring.pending == FIRST_SLOTS + 1
    ring.give_back(1)
    assert ring.take(1, 0, "t").task_id == FIRST_SLOTS


def test_pooled_ids_count_on_and_skip_what_is_in_use() -> None:
    pool = TaskPool(100)
    ring = PooledRing(16, pool)
    assert [ring.take(1, 0, "t").task_id for _ in range(3)] == [0, 1, 2]
    ring.reclaim(1, lambda blocks: None)
    assert pool.used == 2
    ring._next = 0xFFFE
    assert ring.take(2, 0, "t").task_id == 0xFFFE
    assert ring.take(1, 0, "t").task_id == 0
    assert ring.take(1, 0, "t").task_id == 3
    assert ring.position_of(3) == 6
    ring.give_back(1)
    assert ring.take(1, 0, "t").task_id == 3
    ring.reclaim(ring.pending, lambda blocks: None)
    assert pool.used == 0


def test_a_pool_that_is_used_up_leaves_no_room() -> None:
    pool = TaskPool(1)
    ring = PooledRing(16, pool)
    ring.take(1, 0, "t")
    assert not ring.fits(1)
    with pytest.raises(errors.ResourceExhausted, match="all 1 tasks"):
        ring.take(1, 0, "t")
