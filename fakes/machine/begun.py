"""Tasks whose kernel functions have begun and wait for others."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from npuhal.records import dataclass

if TYPE_CHECKING:
    from fakes.machine.queues import SubmissionQueue


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
