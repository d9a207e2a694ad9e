"""Both rings against a model that knows nothing of counters: a queue of tasks, each with its list of positions."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chips.tasks import TaskType
from runtime.core.submission.ring import NO_TASK, RingV100, RingV200, TaskInfo, TaskRing, run_callbacks
from tests.tools.examples import examples


@dataclass
class Task:
    number: int
    positions: list[int]
    task_id: int
    block: object
    told: list[int] = field(default_factory=list)


class Model:
    """What a ring of `depth` places must do, said by listing tasks."""

    def __init__(self, ring: TaskRing, depth: int) -> None:
        self.ring, self.depth = ring, depth
        self.tasks: deque[Task] = deque()
        self.next_position = self.next_id = self.number = 0
        self.finished: list[int] = []
        self.blocks: list[object] = []

    @property
    def used(self) -> int:
        return sum(len(task.positions) for task in self.tasks)

    def room(self) -> int:
        """Places that may be taken: one stays empty, and slots that the ids skipped at their wrap are out."""
        room = self.depth - 1 - self.used
        if isinstance(self.ring, RingV100) and self.tasks and self.tasks[0].task_id > self.next_id:
            room -= -NO_TASK % self.depth
        return room

    def submit(self, count: int, *, withdraw: bool) -> None:
        assert self.ring.fits(count) == (count <= self.room())
        if not self.ring.fits(count):
            return
        label = TaskInfo(TaskType.NOP, f"task {self.number}")
        ids = self.ring.take(count, self.number, label)
        positions = [(self.next_position + offset) % self.depth for offset in range(count)]
        task_id = self.next_id if isinstance(self.ring, RingV100) else positions[0]
        assert (ids.task_id, ids.task_sn, ids.position) == (task_id, self.number, positions[0])
        block, number = object(), self.number
        self.ring.arguments[ids.position] = block
        self.ring.completion_callbacks.append((self.ring.submitted, lambda: self.finished.append(number)))
        self.number += 1
        if withdraw:
            self.ring.give_back(count)
            return
        self.tasks.append(Task(number, positions, task_id, block))
        self.next_position = (self.next_position + count) % self.depth
        self.next_id = (self.next_id + 1) % NO_TASK

    def move_head(self, steps: int) -> None:
        """Let the device get on by so many places; only whole tasks count."""
        steps = min(steps, self.used)
        first = self.tasks[0].positions[0] if self.tasks else self.next_position
        done: list[Task] = []
        while self.tasks and sum(len(task.positions) for task in done) + len(self.tasks[0].positions) <= steps:
            done.append(self.tasks.popleft())
        places = sum(len(task.positions) for task in done)
        assert self.ring.done((first + steps) % self.depth) == places
        finished = len(self.finished)
        released = len(self.blocks)
        if places:
            self.ring.reclaim(places, self.blocks.extend)
        run_callbacks(self.ring.pending_callbacks)
        assert self.finished[finished:] == [task.number for task in done]
        assert self.blocks[released:] == [task.block for task in done]

    def check(self) -> None:
        ring = self.ring
        assert ring.pending == self.used
        assert ring.tail == self.next_position
        for task in self.tasks:
            assert ring.position_of(task.task_id) == task.positions[0]
            assert {ring.id_at(position) for position in task.positions} == {task.task_id}
            assert {str(ring.owners[position]) for position in task.positions} == {f"task {task.number}"}


STEP = st.one_of(
    st.tuples(st.just("submit"), st.integers(1, 5)), st.tuples(st.just("withdraw"), st.integers(1, 5)),
    st.tuples(st.just("head"), st.integers(0, 40)),
)  # fmt: skip


@pytest.mark.parametrize("kind", [RingV100, RingV200])
@given(depth=st.integers(7, 24), start=st.integers(0, 400), steps=st.lists(STEP, max_size=80))
@settings(max_examples=examples(80))
def test_a_ring_does_what_the_model_says(kind: type[TaskRing], depth: int, start: int, steps: list[tuple[str, int]],
                                         ) -> None:
    ring = kind(depth)
    model = Model(ring, depth)
    if isinstance(ring, RingV100):
        ring.next_id = model.next_id = NO_TASK - 1 - start % 30  # ids start again soon
    for what, count in steps:
        if what == "head":
            model.move_head(count)
        else:
            model.submit(count, withdraw=what == "withdraw")
        model.check()
