"""Points in streams, and whether they have been passed: what decides when memory may be used again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Protocol

from npuhal.tuples import NamedTuple

Fence = Callable[[], bool]
"""A question: is everything that was submitted then done?"""


class Timeline(Protocol):
    """A stream, as far as memory cares: its ring counts what was submitted and what is done (absolute numbers)."""

    @property
    def closed(self) -> bool:
        """Whether it has ended: everything in it is done."""

    @property
    def handle(self) -> int:
        """A number that only this one has."""

    @property
    def ring(self) -> Any:
        """What counts: `submitted` and `reclaimed`."""

    def drain(self) -> None:
        """Reclaim what has been done since."""

    def observed(self) -> None:
        """Tell the race checker that the program goes by what is known to be done."""


class Lifetime:
    """A timeline that is passed only as a whole, when its owner ends: what a graph uses, it uses at each execution."""

    __slots__ = ("_ended", "graph", "handle", "ring")

    class _Ring(NamedTuple):
        submitted: int = 1
        reclaimed: int = 0

    def __init__(self, handle: int, ended: Callable[[], bool], graph: int = -1) -> None:
        """Begin; `handle` is a number that no stream has, `ended` tells whether the owner is gone, `graph` which it is.
        """
        self.handle, self._ended, self.ring, self.graph = handle, ended, self._Ring(), graph

    @property
    def closed(self) -> bool:
        """Whether the owner has ended."""
        return self._ended()

    def drain(self) -> None:
        """Do nothing: there is nothing to reclaim."""

    def observed(self) -> None:
        """Nothing is known."""


class StreamPoint(NamedTuple):
    """A point in a stream: everything submitted until then."""

    stream: Timeline
    position: int

    def passed(self) -> bool:
        """Whether it has been reached, as far as is known without asking the device."""
        return self.stream.closed or self.stream.ring.reclaimed >= self.position

    def reached(self) -> bool:
        """Whether it has been reached; asks the device if need be."""
        if self.passed():
            self.stream.observed()
            return True
        self.stream.drain()
        return self.passed()


def point_of(stream: Timeline) -> StreamPoint:
    """Return the point that a stream has been filled to."""
    return StreamPoint(stream, stream.ring.submitted)


def _idle(streams: Collection[Timeline]) -> bool:
    """Go by it that streams had nothing left."""
    for stream in streams:
        stream.observed()
    return True


def fence(streams: Collection[Timeline]) -> Fence:
    """Return a fence behind everything that streams hold now."""
    for stream in streams:
        ring = stream.ring
        if ring.reclaimed < ring.submitted and not stream.closed:
            break
    else:
        return partial(_idle, streams)
    points = [point_of(stream) for stream in streams]

    def passed() -> bool:
        while points and points[-1].reached():
            points.pop()
        return not points

    return passed
