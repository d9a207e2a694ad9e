"""The last accesses to every byte that was touched, as segments; bytes are told apart by where they really are.

Two addresses of the same bytes (a mapping of physical memory, memory opened by another process) therefore meet here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from fakes.checkers.order import Stamp
from npuhal.tuples import NamedTuple


class Work(NamedTuple):
    """A task or host call, as far as a report names it."""

    actor: int
    tick: int
    serial: int
    """Number in the order in which things really happened."""
    what: str
    stream: int
    """-1: the host."""
    device: int
    position: int
    site: Any
    """Where the program submitted it: (code object, line), or None."""


class Segment:
    """Bytes with the same history: the last write, and the reads since by actor."""

    __slots__ = ("end", "reads", "released", "write")

    def __init__(self, end: int, write: Work | None, reads: dict[int, Work] | None,
                 released: dict[int, Stamp] | None) -> None:
        self.end = end
        self.write = write
        self.reads = reads
        self.released = released
        """What waits for the value may rely on, by actor, where the last writes were value writes; else None."""

    def split(self, at: int) -> Segment:
        """Cut the segment at an address; returns the second part."""
        rest = Segment(self.end, self.write, dict(self.reads) if self.reads else None, self.released)
        self.end = at
        return rest


class Shadow:
    """Segments by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._segments: dict[int, Segment] = {}

    def cover(self, low: int, high: int) -> list[Segment]:
        """Return segments that cover a range exactly, made where there were none."""
        exact = self._segments.get(low)
        if exact is not None and exact.end == high:
            return [exact]
        self._cut(low)
        self._cut(high)
        found: list[Segment] = []
        index, at = bisect_left(self._starts, low), low
        while at < high:
            start = self._starts[index] if index < len(self._starts) else high
            if start > at:
                end = min(start, high)
                found.append(self._insert(index, at, Segment(end, None, None, None)))
            else:
                found.append(self._segments[start])
            at = found[-1].end
            index += 1
        return found

    def unite(self, low: int, high: int, segment: Segment) -> None:
        """Put one segment in the place of all that cover a range exactly."""
        first = bisect_left(self._starts, low)
        last = bisect_left(self._starts, high, first)
        for start in self._starts[first + 1 : last]:
            del self._segments[start]
        del self._starts[first + 1 : last]
        segment.end = high
        self._segments[low] = segment

    def within(self, low: int, high: int) -> list[Segment]:
        """Return the segments that overlap a range, as they are."""
        first = max(bisect_right(self._starts, low) - 1, 0)
        last = bisect_left(self._starts, high)
        return [
            segment for segment in (self._segments[start] for start in self._starts[first:last]) if segment.end > low
        ]

    def forget(self, low: int, high: int) -> None:
        """Let a range have no history: its owner changes."""
        self._cut(low)
        self._cut(high)
        first, last = bisect_left(self._starts, low), bisect_left(self._starts, high)
        for start in self._starts[first:last]:
            del self._segments[start]
        del self._starts[first:last]

    def _cut(self, at: int) -> None:
        index = bisect_right(self._starts, at) - 1
        if index < 0 or self._starts[index] == at:
            return
        segment = self._segments[self._starts[index]]
        if segment.end > at:
            self._insert(index + 1, at, segment.split(at))

    def _insert(self, index: int, start: int, segment: Segment) -> Segment:
        self._starts.insert(index, start)
        self._segments[start] = segment
        return segment
