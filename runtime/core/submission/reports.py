"""Completion entries of one stream: who waits for which, and what the last failed one has stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.completion import Cqe
    from chips.env import TaskIds

Taker = Callable[[Any], None]
"""Gets the entry of its task, or None where there will be none."""


@dataclass(frozen=True, slots=True)
class Halted:
    """A queue that the hardware stops at a report: where it goes on, whether it does, and how long that may take."""

    head: int
    enable: bool
    deadline: float


class Reports:
    """What is expected of the completion queue of a stream.

    `expected` maps the number by which the entry of a task is recognised (its id on older chips, its serial number on
    STARS v2) to the absolute end of the task and to who takes the entry.
    """

    __slots__ = ("arrived", "counts_ids", "expected", "halted", "lock")

    def __init__(self, arrived: Callable[[], bool], *, counts_ids: bool) -> None:
        """Args:
            arrived: asks the driver whether an entry waits.
            counts_ids: whether tasks are recognised by their 16-bit id, not by a serial number.
        """
        self.arrived, self.counts_ids = arrived, counts_ids
        self.renew_lock()
        self.expected: dict[int, tuple[int, Taker]] = {}
        self.halted: Halted | None = None
        """What the queue waits for after a failed task, until the hardware has stopped it."""

    def renew_lock(self) -> None:
        """Take a new lock: in a child of fork, the old one may be held by a thread that is not there."""
        self.lock = threading.RLock()
        """Held while entries are taken. May be asked for under the stream's lock, never the other way round."""

    def expect(self, ids: TaskIds, end: int, taker: Taker) -> None:
        """Let somebody have the entry of a task that is about to be sent."""
        self.expected[ids.task_id if self.counts_ids else ids.task_sn] = end, taker

    def forget(self, ids: TaskIds) -> None:
        """Expect nothing of a task: it was not sent."""
        self.expected.pop(ids.task_id if self.counts_ids else ids.task_sn, None)

    def withdraw(self, taker: Taker) -> None:
        """Expect nothing for somebody whose task was not sent, and whose number is not known any more."""
        for key, (_, other) in list(self.expected.items()):
            if other == taker:
                self.expected.pop(key, None)

    def take(self, cqe: Cqe) -> None:
        """Give an entry to whoever expects it."""
        expected = self.expected.pop(cqe.task_id if self.counts_ids else cqe.task_sn, None)
        if expected is not None:
            expected[1](cqe)

    def is_due(self, reclaimed: int) -> bool:
        """Whether a task that is done has asked for an entry that was not taken yet."""
        oldest = list(self.expected.values())[:1]
        return bool(oldest) and oldest[0][0] <= reclaimed

    def give_up(self, reclaimed: int) -> None:
        """Tell whoever waits for the entry of a task that is done, or was ended, that there will be none."""
        with self.lock:
            self._give_up(reclaimed)

    def _give_up(self, reclaimed: int) -> None:
        """Do that under the lock; the loop is in no `with`, see `npuhal.changed` on interrupts."""
        for key, (end, taker) in list(self.expected.items()):
            if end <= reclaimed and self.expected.pop(key, None) is not None:
                taker(None)
