"""Points in streams, and whether they have been passed: what decides when memory may be used again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

Fence = Callable[[], bool]
"""A question: is everything that was submitted then done?"""


class Timeline(Protocol):
    """A stream, as far as memory cares: its ring counts what was submitted and what is done (absolute numbers)."""

    closed: bool
    handle: int
    ring: Any

    def drain(self) -> None:
        """Look at what has been done since."""


class Mark(NamedTuple):
    """A point in a stream: everything submitted until then."""

    stream: Timeline
    position: int

    def passed(self) -> bool:
        """Whether it has been reached, as far as is known without asking the device."""
        return self.stream.closed or self.stream.ring.reclaimed >= self.position

    def reached(self) -> bool:
        """Whether it has been reached; asks the device if need be."""
        if self.passed():
            return True
        self.stream.drain()
        return self.passed()


def mark(stream: Timeline) -> Mark:
    """Return the point that a stream has been filled to."""
    return Mark(stream, stream.ring.submitted)


def fence(streams: Iterable[Timeline]) -> Fence:
    """Return a fence behind everything that streams hold now."""
    marks = [mark(stream) for stream in streams]

    def passed() -> bool:
        while marks and marks[-1].reached():
            marks.pop()
        return not marks

    return passed
