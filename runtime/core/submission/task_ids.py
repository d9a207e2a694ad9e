"""The older way to number tasks: a pool of task slots per device, and a 16-bit id per stream (core_spec 6.4).

Streams that own no task ring take their numbers here: those of chips with the older scheduler, and streams that only
collect tasks for a model. The pool grows on demand up to the chip's limit; a stream hands out ids 0 to 65534 in turn
and never one that is still in use.
"""

from __future__ import annotations

import threading
from typing import Any

from chips.env import TaskIds
from runtime import errors
from runtime.core.submission.ring import NO_TASK, TaskInfo, TaskRing

FIRST_SLOTS = 1024
"""Slots a pool starts with; it grows by as many."""


class TaskPool:
    """Slots for the tasks of all streams of a device that have no ring."""

    __slots__ = ("limit", "lock", "slots", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.slots = min(FIRST_SLOTS, limit)
        self.used = 0
        """Changed by rings with the lock held, in one step with what they know of the task."""
        self.lock = threading.Lock()

    def grow(self) -> None:
        """Make more slots, as all are used; the lock is held.

        Raises:
            ResourceExhausted 207005: the chip's limit is reached.
        """
        if self.slots == self.limit:
            raise errors.fault(
                "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", f"all {self.limit} tasks of the device are in use",
                layer="core", hint="synchronise streams that have much work queued",
            )
        self.slots = min(self.slots + FIRST_SLOTS, self.limit)


class PooledRing(TaskRing):
    """Positions of a queue whose tasks are numbered by the pool scheme."""

    __slots__ = ("_next", "_pool", "_taken", "ids")

    def __init__(self, depth: int, pool: TaskPool) -> None:
        super().__init__(depth)
        self.ids = [NO_TASK] * depth
        self._pool = pool
        self._next = 0
        self._taken: dict[int, int] = {}
        """Ids in use, and the absolute position behind each task."""

    def fits(self, count: int) -> bool:
        """Whether the queue has space for `count` entries and the pool for a task."""
        return super().fits(count) and (self._pool.used < self._pool.limit)

    def take(self, count: int, serial: int, owner: TaskInfo) -> TaskIds:
        """Take a slot of the pool, the next free id, and positions that carry it."""
        task_id = self._next
        while task_id in self._taken:
            task_id = (task_id + 1) % NO_TASK
        first = self.submitted % self.depth
        self.ids[first], self.owners[first] = task_id, owner
        for offset in range(1, count):
            position = (first + offset) % self.depth
            self.ids[position] = task_id
            self.owners[position] = owner
        pool = self._pool
        with pool.lock:
            if pool.used == pool.slots:
                pool.grow()
            # nothing from here on can be interrupted
            self.in_flight_start = self.submitted
            self._next = (task_id + 1) % NO_TASK
            self._taken[task_id] = self.submitted + count
            pool.used += 1
            self.submitted += count
        return TaskIds(task_id, serial, first)

    def give_back(self, count: int) -> None:
        """Undo the take just made; its id is the next one again."""
        task_id, pool = self.ids[(self.submitted - count) % self.depth], self._pool
        with pool.lock:
            if task_id in self._taken:
                # nothing from here on can be interrupted
                self._next = task_id
                del self._taken[task_id]
                pool.used -= 1
        super().give_back(count)

    def reclaim(self, count: int, release: Any) -> None:
        """Free positions; ids and slots of tasks whose last position is among them become free again."""
        with self._pool.lock:
            self._finish(self.reclaimed + count)
        super().reclaim(count, release)

    def _finish(self, end: int) -> None:
        """Give up ids and slots of tasks that end at or before an absolute position; the pool's lock is held.

        In no `with`, see `npuhal.changed` on loops and interrupts; done again, it finds what is left to do.
        """
        taken, pool = self._taken, self._pool
        for position in range(self.reclaimed, end):
            task_id = self.ids[position % self.depth]
            if taken.get(task_id, end + 1) <= end:
                # nothing from here on can be interrupted
                del taken[task_id]
                pool.used -= 1

    def id_at(self, position: int) -> int:
        """Return the id written at a position."""
        return self.ids[position]

    def position_of(self, task_id: int) -> int | None:
        """Find the first pending position that carries an id."""
        for offset in range(self.pending):
            position = (self.reclaimed + offset) % self.depth
            if self.ids[position] == task_id:
                return position
        return None
