"""Task rings: ids, positions, room, what a head means, and what is called when places are free again."""

from __future__ import annotations

import weakref
from collections import deque

import hypothesis.strategies as st
import pytest
from hypothesis import given

from chips.tasks import TaskType
from runtime.core.submission.ring import NO_TASK, RingV100, RingV200, TaskInfo, TaskRing, run_callbacks

DEPTH = {RingV100: 2048, RingV200: 2049}
LABEL = TaskInfo(TaskType.KERNEL_AICORE, "a kernel")
RINGS = pytest.mark.parametrize("kind", [RingV100, RingV200])


def keep(_blocks: list[object]) -> None:
    """Take argument blocks back and do nothing."""


def advance(ring: TaskRing, tasks: int) -> None:
    """Pass so many tasks of one SQE through a ring, one at a time."""
    for _ in range(tasks):
        ring.take(1, 0, LABEL)
        ring.reclaim(1, keep)


@RINGS
def test_one_place_stays_empty(kind: type[TaskRing]) -> None:
    ring = kind(8)
    assert ring.fits(7)
    assert not ring.fits(8)
    for _ in range(7):
        ring.take(1, 0, LABEL)
    assert ring.pending == 7
    assert not ring.fits(1)


@RINGS
def test_positions_run_round_the_ring(kind: type[TaskRing]) -> None:
    ring = kind(8)
    advance(ring, 6)
    ids = ring.take(3, 77, LABEL)
    assert ids.position == 6
    assert ids.task_sn == 77
    assert ring.tail == 1
    assert [ring.owners[position] for position in (6, 7, 0)] == [LABEL] * 3
    assert {ring.id_at(position) for position in (6, 7, 0)} == {ids.task_id}


def test_v200_names_a_task_by_its_first_position() -> None:
    ring = RingV200(8)
    advance(ring, 6)
    ids = ring.take(3, 0, LABEL)
    assert ids.task_id == ids.position == 6
    assert ring.position_of(6) == 6
    assert ring.position_of(5) is None


def test_v200_counts_allocations_and_takes_them_back() -> None:
    ring = RingV200(8)
    assert [ring.take(1, 0, LABEL)[3] for _ in range(3)] == [1, 2, 3]
    ring.give_back(1)
    assert ring.take(1, 0, LABEL)[3] == 3


def test_v100_ids_are_not_positions() -> None:
    ring = RingV100(8)
    first = ring.take(3, 0, LABEL)
    second = ring.take(1, 0, LABEL)
    assert (first.task_id, first.position) == (0, 0)
    assert (second.task_id, second.position) == (1, 3)
    assert ring.position_of(1) == 3
    assert ring.position_of(2) is None


def test_v100_ids_count_modulo_65535() -> None:
    ring = RingV100(2048)
    ids = []
    for _ in range(65_536 + 2048):
        ids.append(ring.take(1, 0, LABEL).task_id)
        ring.reclaim(1, keep)
    assert ids == [number % NO_TASK for number in range(len(ids))]
    assert NO_TASK not in ids


def test_v100_skips_the_last_slot_of_the_pool_when_ids_start_again() -> None:
    # Slots are ids modulo 2048: id 65534 has slot 2046, id 0 has slot 0. Slot 2047 is out until id 0 is at the head.
    ring = RingV100(2048)
    advance(ring, 65_530)
    before = 0
    while ring.fits(1):
        ring.take(1, 0, LABEL)
        before += 1
    assert before == 2046
    assert ring.ids[(ring.submitted - 1) % 2048] == 65_530 + before - 1 - NO_TASK
    ring.reclaim(5, keep)  # ids 65530 to 65534 are gone: id 0 is the oldest
    room = 0
    while ring.fits(1):
        ring.take(1, 0, LABEL)
        room += 1
    assert room == 6
    assert ring.pending == 2047


def test_v100_takes_the_last_id_back() -> None:
    ring = RingV100(2048)
    advance(ring, 65_534)
    limit = ring.limit
    assert ring.take(1, 0, LABEL).task_id == 65_534
    assert (ring.next_id, ring.flips) == (0, 1)
    assert ring.limit == limit - 1
    ring.give_back(1)
    assert (ring.next_id, ring.flips, ring.limit, ring.pending) == (65_534, 0, limit, 0)


@RINGS
def test_give_back_takes_what_was_attached_with_it(kind: type[TaskRing]) -> None:
    ring = kind(8)
    called: list[str] = []
    ring.take(1, 0, LABEL)
    ring.completion_callbacks.append((ring.submitted, lambda: called.append("kept")))
    ids = ring.take(2, 0, LABEL)
    ring.arguments[ids.position] = "block"
    ring.completion_callbacks.append((ring.submitted, lambda: called.append("given back")))
    ring.give_back(2)
    assert ring.pending == 1
    assert ring.arguments == [None] * 8
    ring.reclaim(1, keep)
    run_callbacks(ring.pending_callbacks)
    assert called == ["kept"]


@RINGS
@pytest.mark.parametrize(
    ("head", "done"),
    [(0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 5), (6, 0), (7, 0)],
    ids=["nothing", "first", "inside", "last of the task", "behind the task", "all", "beyond", "stale"],
)
def test_a_task_of_several_sqes_is_done_when_all_of_them_are(kind: type[TaskRing], head: int, done: int) -> None:
    ring = kind(8)
    for count in (1, 3, 1):
        ring.take(count, 0, LABEL)
    assert ring.done(head) == done


@RINGS
def test_a_long_task_across_the_end_of_the_ring(kind: type[TaskRing]) -> None:
    ring = kind(8)
    advance(ring, 6)
    ring.take(4, 0, LABEL)
    ring.take(1, 0, LABEL)
    assert [ring.done(head) for head in (6, 7, 0, 1, 2, 3)] == [0, 0, 0, 0, 4, 5]


@RINGS
def test_a_head_of_the_past_means_nothing(kind: type[TaskRing]) -> None:
    ring = kind(8)
    advance(ring, 5)
    ring.take(2, 0, LABEL)
    assert [ring.done(head) for head in (3, 4, 5)] == [0, 0, 0]


@RINGS
def test_blocks_go_back_before_callbacks_are_called(kind: type[TaskRing]) -> None:
    ring = kind(8)
    log: list[object] = []
    advance(ring, 6)
    for number in range(4):
        ids = ring.take(1, 0, LABEL)
        ring.arguments[ids.position] = f"block {number}" if number != 1 else None
        ring.completion_callbacks.append((ring.submitted, lambda number=number: log.append(f"task {number}")))
    ring.reclaim(3, log.append)
    assert log == []
    run_callbacks(ring.pending_callbacks)
    assert log == [["block 0", "block 2"], "task 0", "task 1", "task 2"]
    assert ring.pending == 1
    assert [block for block in ring.arguments if block is not None] == ["block 3"]


class Needed:
    """Something that a task needs."""


@RINGS
def test_what_a_task_needs_is_let_go_where_no_lock_is_held(kind: type[TaskRing]) -> None:
    ring = kind(8)
    advance(ring, 6)
    needed = Needed()
    gone = weakref.ref(needed)
    for _ in range(4):
        ids = ring.take(1, 0, LABEL)
    ring.keep()[ids.position] = (needed,)
    del needed
    ring.reclaim(4, lambda _: None)
    assert gone() is not None
    run_callbacks(ring.pending_callbacks)
    assert gone() is None


def test_tell_calls_everybody_and_raises_the_first_failure() -> None:
    called: list[int] = []

    def fail(number: int) -> None:
        called.append(number)
        raise ValueError(number)

    queue = deque([lambda: fail(1), lambda: fail(2), lambda: called.append(3)])
    with pytest.raises(ValueError, match="1"):
        run_callbacks(queue)
    assert called == [1, 2, 3]
    assert not queue


def test_what_an_interrupt_leaves_is_told_next_time() -> None:
    called: list[int] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    queue = deque([lambda: called.append(1), interrupt, lambda: called.append(2)])
    with pytest.raises(KeyboardInterrupt):
        run_callbacks(queue)
    assert called == [1]
    run_callbacks(queue)
    assert called == [1, 2]


@given(
    st.integers(0, NO_TASK - 1), st.lists(st.integers(1, 3), min_size=1, max_size=60), st.integers(0, 60),
    st.integers(0, NO_TASK - 1),
)
def test_the_position_of_an_id_is_the_first_pending_one(first: int, sizes: list[int], done: int, other: int) -> None:
    ring = RingV100(256)
    ring.next_id = first
    for serial, size in enumerate(sizes):
        ring.take(size, serial, LABEL)
    ring.reclaimed = sum(sizes[: min(done, len(sizes) - 1)])
    pending = [(ring.reclaimed + offset) % ring.depth for offset in range(ring.pending)]
    for task_id in {*ring.ids[: sum(sizes)], first, other}:
        assert ring.position_of(task_id) == next((at for at in pending if ring.ids[at] == task_id), None)
