"""One task on its way through the device."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fakes.errors import MemoryFault, TaskFault
from npuhal.records import dataclass

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue

WAIT = 0
"""What a handler returns when the task cannot run yet; else it returns how many SQEs the task took."""

Handler = Callable[["Task"], int]


@dataclass(slots=True, eq=False)
class Task:
    """One SQE on its way: where it lies, what it says, and what executing it produced."""

    machine: Machine
    device: Device
    sq: SubmissionQueue
    position: int
    raw: bytes
    layout: str
    fields: Mapping[str, int]
    """Shared with other tasks of the same bits, and without the number of the task: who changes some makes a copy."""
    kind: str
    handler: Handler
    start: int = -1
    end: int = 0
    detail: str = ""
    kernel_name: str = ""
    error_code: int = 0
    warning: bool = False
    parts: list[Generator[object, None, object]] | None = None
    """What kernel functions have yet to do that have yielded."""
    touched: list[tuple[int, int, int]] | None = None
    """Address, bytes and how (fakes.checkers.race) of what it has touched; kept only while that is watched."""
    steps: int = 0
    """How many steps it has come to that are made once."""

    def touch(self, address: int, size: int, how: int) -> None:
        """Note that the task reads or writes memory."""
        if self.touched is not None:
            self.touched.append((address, size, how))

    def occupy(self, cost: int, *engines: str) -> None:
        """Spend `cost` virtual nanoseconds on the engines, all at once; none means the queue alone."""
        self.start, self.end = self.device.engines.occupy(self.sq, engines, cost)

    def following(self, index: int) -> bytes:
        """Return the SQE `index` positions behind this one."""
        sq = self.sq
        return sq.entry((self.position + index) % sq.depth)


What = TypeVar("What")
Made = TypeVar("Made")


def once(task: Task, step: Callable[[What], Made], what: What) -> Made:
    """Make a step of a task that must not be made twice, and return what comes of it.

    An interrupt (Ctrl-C, the exception of a signal handler) can break a task off anywhere. It is begun again then: what
    a handler writes can be written twice, and what it reads of what it changes, or does besides, are steps that it
    finds made. Step and memo are one operation: an interrupt comes before both or behind both, if the step ends with
    what it changes, and that is no call. A fault of a step is what comes of it, too.
    """
    memo, number = task.sq.memo, task.steps
    if number == len(memo):
        try:
            memo += map(step, (what,))
        except (TaskFault, MemoryFault) as fault:
            memo += (fault,)
    made: Made = came_of(task, number)
    return made


def came_of(task: Task, number: int) -> Any:
    """Go behind a step that was made, and return what has come of it, or raise the fault that has."""
    task.steps = number + 1
    made = task.sq.memo[number]
    if isinstance(made, TaskFault | MemoryFault):
        raise made
    return made


def accepted(task: Task) -> int:
    """Take a message whose effect is in firmware; nothing in the fake depends on it."""
    return 1
