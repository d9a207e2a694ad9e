"""What becomes of the task at the head of a queue when it is tried, and those that have begun and wait for others."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from npuhal.records import dataclass

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

NOT_PLAIN, RAN, STOPPED, WAITS, DONE = range(5)
"""On the fast paths (`fakes.executor.fast_path`, `plain_signals`): it is not for the task; a kernel has run, and may
have written to memory; it has failed or hangs; it has to wait; a task of another kind is done."""


@dataclass(slots=True)
class Begun:
    """A task whose functions have begun and wait."""

    sq: SubmissionQueue
    position: int
    done: int
    engines: tuple[str, ...]
    cost: int
    detail: str
    parts: list[Generator[object, None, object]]

    @property
    def alive(self) -> bool:
        """Whether the task is still at the head of its queue: it may have been ended from outside."""
        sq = self.sq
        return not sq.destroyed and sq.enabled and (sq.head, sq.done) == (self.position, self.done)


def go_through(device: Device) -> None:
    """Execute the task that an interrupt has broken off, before anything else; see `fakes.executor.task.once`."""
    sq = device.current
    if sq is not None and sq.memo and sq.runnable and device.queues.get(sq.sq_id) is sq:
        device.machine.executor.execute(device, sq)
        if sq.head == sq.tail:
            device.active.pop(sq.sq_id, None)
        device.machine.changed.notify_all()
