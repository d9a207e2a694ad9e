"""Task slots: what of a stream's SQ ring is taken, and which task sits where (core_spec 6.2, 6.3).

Counters here are absolute (they never wrap); a ring position is the counter modulo the depth. One slot stays empty,
so that head == tail means idle.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from chips.env import TaskIds
from chips.tasks import TaskType
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.completion import ModelStatus
    from runtime.memory.arguments import ArgumentBlock

NO_TASK = 0xFFFF
"""The id that v100 never gives to a task."""

TICK = 64
"""Entries submitted between two reclaims, and the most that a limited one takes back (core_spec 11)."""

class TasksInside(Protocol):
    """The tasks of a model, as those see them who wait for its end."""

    def failed(self, status: ModelStatus) -> InnerTask | None:
        """Return the task by which an execution failed; None where it is not known any more."""

    def standing(self) -> list[InnerTask]:
        """Return the tasks that an execution has got to."""


class TaskInfo(NamedTuple):
    """What a task is called in messages, the type by which its errors are read, and the kernel that it launches."""

    type: TaskType
    name: str
    kernel: Any = None
    inside: TasksInside | None = None
    """What it waits for, where the task waits for the end of a model."""

    def __str__(self) -> str:
        return self.name


class InnerTask(NamedTuple):
    """A task inside a model: what it is called, which node it is, and where it lies."""

    info: TaskInfo
    node: Any
    where: str
    """Node, model, user's stream and place of capture, for messages."""
    stream_id: int
    task_id: int
    arguments: tuple[int, int]
    """Address and size of a kernel's arguments."""
    captured_at: str
    """"file:line" of the call, where that was noted."""


Finished = Callable[[], None]
_take_first: Callable[[deque[Finished]], Finished] = deque.popleft


def run_callbacks(callbacks: deque[Finished]) -> None:
    """Call everything in a queue, in order and all of it; the first failure is raised at the end.

    Each callback is taken out before it is called: threads may share a queue, and what an interrupt leaves is called
    by the next thread that runs them.
    """
    first: Exception | None = None
    while callbacks:
        try:
            # No signal is looked for between taking and calling.
            for callback in map(_take_first, repeat(callbacks, len(callbacks))):
                try:
                    callback()
                except Exception as failure:
                    first = first or failure
        except IndexError:
            break  # another thread took the last one
    if first is not None:
        raise first


class TaskRing:
    """Ring of one stream: what was submitted, what was reclaimed, and per position who is there.

    `limit` is the absolute count up to which submission needs no look at the device.
    """

    __slots__ = (
        "arguments",
        "completion_callbacks",
        "depth",
        "in_flight_start",
        "kept",
        "limit",
        "owners",
        "pending_callbacks",
        "reclaimed",
        "submitted",
    )  # fmt: skip

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.submitted = self.reclaimed = 0
        self.limit = depth - 1
        self.in_flight_start: int | None = None
        """Where `submitted` was before the `take` of the task that is being sent; None between tasks."""
        self.owners: list[TaskInfo | None] = [None] * depth
        """Per position: the label of the task (what it is called in an error), shared by all its SQEs."""
        self.arguments: list[ArgumentBlock | None] = [None] * depth
        """Per position: the argument block that goes back to its pool when the task is reclaimed."""
        self.kept: list[Any] | None = None
        """Per position: what has to live until the task is reclaimed; made by `keep` where it is needed."""
        self.completion_callbacks: deque[tuple[int, Finished]] = deque()
        """What is called when tasks are reclaimed: (absolute end, callback), in order."""
        self.pending_callbacks: deque[Finished] = deque()
        """Callbacks of reclaimed tasks that nobody has called yet; `run_callbacks` takes them when no lock is held."""

    @property
    def pending(self) -> int:
        """SQEs submitted and not yet reclaimed."""
        return self.submitted - self.reclaimed

    @property
    def tail(self) -> int:
        """Ring position that the next SQE takes."""
        return self.submitted % self.depth

    def keep(self) -> list[Any]:
        """Return what is kept per position, from now on there."""
        if self.kept is None:
            self.kept = [None] * self.depth
        return self.kept

    def attend(self, end: int, callback: Finished) -> None:
        """Owe a callback when everything before an absolute count was reclaimed (only under the stream's lock)."""
        completion_callbacks = self.completion_callbacks
        index = len(completion_callbacks)
        while index and completion_callbacks[index - 1][0] > end:
            index -= 1
        completion_callbacks.insert(index, (end, callback))

    def fits(self, count: int) -> bool:
        """Whether `count` SQEs can be taken without overtaking the head."""
        return self.submitted + count <= self.limit

    def take(self, count: int, serial: int, owner: TaskInfo) -> TaskIds:
        """Take `count` positions for one task and return its numbers; the caller has checked `fits`."""
        raise NotImplementedError

    def give_back(self, count: int) -> None:
        """Undo the `take` just made, with what was attached to the task (only under the stream's lock)."""
        self.submitted -= count
        self.in_flight_start = None
        self.arguments[self.submitted % self.depth] = None
        if self.completion_callbacks and self.completion_callbacks[-1][0] > self.submitted:
            self.completion_callbacks.pop()

    def undo(self, count: int) -> None:
        """Undo a `take` that may have been broken off before its last step."""
        taken, self.in_flight_start = self.submitted != self.in_flight_start, None
        if taken:
            self.give_back(count)

    def id_at(self, position: int) -> int:
        """Return the id of the task whose SQE sits at a position."""
        raise NotImplementedError

    def position_of(self, task_id: int) -> int | None:
        """Return the first position of a pending task, or None."""
        raise NotImplementedError

    def position_behind(self, task_id: int | None) -> int:
        """Return the position behind a task that is pending; that of the oldest pending one for any other id."""
        position = None if task_id is None else self.position_of(task_id)
        return (self.reclaimed if position is None else position + 1) % self.depth

    def attach(self, position: int, block: ArgumentBlock | None) -> None:
        """Let the task at a position have another argument block; the one that it had is the caller's."""
        self.arguments[position] = block

    def start_over(self) -> None:
        """Go on at position 0 of a queue that the host keeps; everything has been reclaimed."""
        self.submitted = self.reclaimed = 0

    def tidy(self) -> None:
        """Finish what an interrupt has broken off behind a send."""

    def forget(self) -> None:
        """Forget what tasks were called: kernels that only these hold end then."""
        self.owners[:] = [None] * self.depth

    def restart(self) -> None:
        """Go on at position 0 of a queue that was created again; everything was reclaimed, absolute counts go on."""
        self.submitted = self.reclaimed = -(-self.submitted // self.depth) * self.depth
        self.limit = self._new_limit()

    def done(self, head: int, limit: int = 0) -> int:
        """Return how many pending SQEs are finished when the device's head is at position `head`.

        A task of several SQEs counts only when all of them are behind the head. A head outside the pending range
        (stale or not yet readable) gives 0.

        Args:
            limit: look at most so many positions on (core_spec 11.3); 0 is no limit.
        """
        count, pending = (head - self.reclaimed) % self.depth, self.submitted - self.reclaimed
        if count == 0 or count > pending:
            return 0
        if 0 < limit < count:
            count = limit
            head = (self.reclaimed + limit) % self.depth
        if count < pending:
            running = self.id_at(head)
            while count and self.id_at((self.reclaimed + count - 1) % self.depth) == running:
                count -= 1
        return count

    def reclaim(self, count: int, release: Callable[[list[Any]], None]) -> None:
        """Free `count` positions; what their argument blocks go back by, and their callbacks, is pending then."""
        first = self.reclaimed % self.depth
        # An interrupt comes after a call or a jump back: what `_blank` takes out is pending with the next call in it.
        if self.kept is not None and (held := self._column(self.kept, first, count)):
            self._blank(self.kept, first, count, held.clear)
        if used := self._column(self.arguments, first, count):
            self._blank(self.arguments, first, count, partial(release, used))
        self.reclaimed += count
        self.limit = self._new_limit()
        completion_callbacks, reclaimed = self.completion_callbacks, self.reclaimed
        while completion_callbacks and completion_callbacks[0][0] <= reclaimed:
            callback = completion_callbacks[0][1]
            del completion_callbacks[0]
            self.pending_callbacks.append(callback)

    def _new_limit(self) -> int:
        return self.reclaimed + self.depth - 1

    def _column(self, column: list[Any], first: int, count: int) -> list[Any]:
        """Return what is in so many positions of a column, from a first one on."""
        found = [*filter(None, column[first : first + count])]
        if (beyond := first + count - self.depth) > 0:
            found += filter(None, column[:beyond])
        return found

    def _blank(self, column: Any, first: int, count: int, pending_callbacks: Finished) -> None:
        """Empty these positions of a column; what was in them goes back by a pending callback."""
        beyond = first + count - self.depth
        if beyond > 0:
            column[first:] = [None] * (count - beyond)
            column[:beyond] = [None] * beyond
        else:
            column[first : first + count] = [None] * count
        self.pending_callbacks.append(pending_callbacks)


class RingV100(TaskRing):
    """Ids count modulo 65535 and are not positions: task id, slot (id modulo pool) and position are three things."""

    __slots__ = ("flips", "ids", "next_id")

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.ids = array("H", [NO_TASK]) * depth
        self.next_id = 0
        self.flips = 0
        """How often the ids have started again."""

    def wrap_ids(self) -> None:
        """Start again at id 0; the slots between the last id and the end of the pool stay unused until then."""
        skipped = self._skipped
        # nothing from here on can be interrupted
        self.next_id = 0
        self.flips += 1
        self.limit -= skipped

    def tidy(self) -> None:
        """Start again at id 0 where an interrupt has come before that."""
        if self.next_id == NO_TASK:
            self.wrap_ids()

    @property
    def _skipped(self) -> int:
        return -NO_TASK % self.depth

    def _new_limit(self) -> int:
        limit = self.reclaimed + self.depth - 1
        wrapped = self.submitted != self.reclaimed and self.ids[self.reclaimed % self.depth] > self.next_id
        return limit - self._skipped if wrapped else limit

    def take(self, count: int, serial: int, owner: TaskInfo) -> TaskIds:
        """Take positions; all of them carry the task's id."""
        self.in_flight_start = self.submitted
        task_id = self.next_id
        first = self.submitted % self.depth
        self.ids[first], self.owners[first] = task_id, owner
        for offset in range(1, count):
            position = (first + offset) % self.depth
            self.ids[position] = task_id
            self.owners[position] = owner
        self.submitted += count
        self.next_id = task_id + 1
        if self.next_id == NO_TASK:
            self.wrap_ids()
        return TaskIds(task_id, serial, first)

    def give_back(self, count: int) -> None:
        """Free the positions again; the id is used by the next task."""
        super().give_back(count)
        freed = self.ids[self.submitted % self.depth]
        if self.next_id == 0 and freed == NO_TASK - 1:  # the ids have started again behind its task
            self.flips -= 1
        self.next_id = freed
        self.limit = self._new_limit()

    def id_at(self, position: int) -> int:
        """Return the id written at a position."""
        return self.ids[position]

    def position_of(self, task_id: int) -> int | None:
        """Find the first pending position that carries an id.

        Pending tasks have ids that follow each other, and each has one position at least.
        """
        oldest = self.ids[self.reclaimed % self.depth]
        behind = (task_id - oldest) % NO_TASK
        if behind >= (self.next_id - oldest) % NO_TASK:
            return None  # it was reclaimed
        for offset in range(behind, self.pending):
            position = (self.reclaimed + offset) % self.depth
            if self.ids[position] == task_id:
                return position
        return None


class RingV200(TaskRing):
    """Id equals position: every SQE of a task names the task's first position."""

    __slots__ = ("allocations", "firsts")

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.firsts = array("H", [NO_TASK]) * depth
        self.allocations = 0

    def take(self, count: int, serial: int, owner: TaskInfo) -> TaskIds:
        """Take positions; the task is called by the first of them."""
        self.in_flight_start = self.submitted
        first = self.submitted % self.depth
        for offset in range(count):
            position = (first + offset) % self.depth
            self.firsts[position] = first
            self.owners[position] = owner
        self.submitted += count
        self.allocations += 1
        return TaskIds(first, serial, first, self.allocations)

    def give_back(self, count: int) -> None:
        """Move the tail back (the v200 roll-back of a send that failed)."""
        super().give_back(count)
        self.allocations -= 1

    def id_at(self, position: int) -> int:
        """Return the first position of the task at a position."""
        return self.firsts[position]

    def position_of(self, task_id: int) -> int | None:
        """Return the id itself if that position is pending."""
        offset = (task_id - self.reclaimed) % self.depth
        return task_id if offset < self.pending else None
