"""Stream races: two tasks touch the same bytes, one writes, and nothing orders them.

What counts is order, not time: the accesses are found unordered in whatever schedule the run happens to have, as long
as nothing (event, notify, value wait, a host that waited for the first before it submitted the second) lies between.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fakes.checkers.access import READ, RELEASE
from fakes.checkers.order import HOST, Actor, Stamp
from fakes.checkers.report import RACE, UPDATE, Report
from fakes.checkers.shadow import Segment, Shadow, Work

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.machine.blocks import Allocation

Known = Mapping[int, int]
"""The last step that is known to be over, by actor."""
NOTHING: Known = MappingProxyType({})


class Races:
    """Keeps who touched what last, and compares each access with it."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self.shadow = Shadow()

    def touch(
        self, actor: Actor, work: Work, block: Allocation | None, low: int, high: int, how: int, also: Known = NOTHING
    ) -> None:
        """Note an access to bytes at real addresses; reports what it is not ordered with.

        Args:
            also: what counts as over for these bytes beside what the actor knows.
        """
        segments = self.shadow.cover(low, high)
        if how == READ:
            self._read(actor, work, block, segments, low, also)
        else:
            self._write(actor, work, block, segments, low, high, how, also)

    def _read(
        self, actor: Actor, work: Work, block: Allocation | None, segments: list[Segment], low: int, also: Known
    ) -> None:
        mine = actor.index
        for segment in segments:
            write = segment.write
            if write is not None and write.actor != mine and not actor.knows(write.actor, write.tick):
                if mine == HOST and segment.released is not None:
                    self.acquire(actor, segment)  # the host looks for a value that a stream writes: that is an order
                elif also.get(write.actor, 0) < write.tick:
                    self._report(actor, write, work, block, low, segment.end, "written", "read")
            if segment.reads is None:
                segment.reads = {mine: work}
            else:
                segment.reads[mine] = work
            low = segment.end

    def _write(
        self, actor: Actor, work: Work, block: Allocation | None, segments: list[Segment], low: int, high: int,
        how: int, also: Known,
    ) -> None:  # fmt: skip
        mine, at = actor.index, low
        released: dict[int, Stamp] | None = None
        for segment in segments:
            write = segment.write
            values = how == RELEASE and segment.released is not None
            if (
                write is not None and write.actor != mine and not values
                and not actor.knows(write.actor, write.tick) and also.get(write.actor, 0) < write.tick
            ):  # fmt: skip
                self._report(actor, write, work, block, at, segment.end, "written", "written")
            if segment.reads is not None:
                for reader, read in segment.reads.items():
                    if how == RELEASE and reader == HOST:
                        continue  # the host may look for the value as often as it likes
                    if reader != mine and not actor.knows(reader, read.tick) and also.get(reader, 0) < read.tick:
                        self._report(actor, read, work, block, at, segment.end, "read", "written")
            if values and segment.released is not None:
                released = {**(released or {}), **segment.released}
            at = segment.end
        whole = segments[0]
        whole.write, whole.reads = work, None
        whole.released = {**(released or {}), mine: actor.stamp()} if how == RELEASE else None
        if len(segments) > 1:
            self.shadow.unite(low, high, whole)

    @staticmethod
    def acquire(actor: Actor, segment: Segment) -> None:
        """Let an actor go on after the value writes of a segment."""
        for stamp in (segment.released or {}).values():
            actor.join(stamp)

    def awaited(self, actor: Actor, low: int, high: int) -> None:
        """An actor has waited for a value in memory: it goes on after those who wrote it."""
        for segment in self.shadow.within(low, high):
            self.acquire(actor, segment)

    def users(self, actor: Actor, low: int, high: int, also: Known = NOTHING) -> list[Work]:
        """Return the accesses to a range that are not known to be over, each task once."""
        found: dict[tuple[int, int], Work] = {}
        for segment in self.shadow.within(low, high):
            for work in (*(() if segment.write is None else (segment.write,)), *(segment.reads or {}).values()):
                if not actor.knows(work.actor, work.tick) and also.get(work.actor, 0) < work.tick:
                    found[work.actor, work.tick] = work
        return list(found.values())

    def _report(
        self, actor: Actor, first: Work, second: Work, block: Allocation | None, low: int, high: int, did: str,
        does: str,
    ) -> None:
        checks, names = self._checks, self._checks.names
        inner = None if block is None else checks.part_of_graph(block)
        check = RACE if inner is None else UPDATE
        if not checks.on(check):
            return
        start = low if block is None else block.base + (low - block.pointer)
        where = f"bytes {start:#x}..{start + high - low:#x}" + ("" if block is None else f" of {names.block(block)}")
        one, two = names.work(first), names.work(second)
        text = f"{where} are {did} by {one} and {does} by {two}, and nothing orders the two"
        if inner is not None:
            text = f"tasks of {names.stream(inner.stream_id, inner.device)}, which belongs to a graph: {text}"
        known = actor.known.get(first.actor, 0)
        if known:
            text += f"; what was ordered before is task {known} of the first one, this is task {first.tick}"
        key = (first.what, first.stream, first.site, second.what, second.stream, second.site, block and block.base)
        checks.report(Report(check, text, self._cure(first, second), (one, two)), key)

    def _cure(self, first: Work, second: Work) -> str:
        names = self._checks.names
        if first.actor == HOST:
            return "Missing edge: submit the task after the host has done this"
        source = names.stream(first.stream, first.device)
        if second.actor == HOST:
            return f"Missing edge: synchronize {source} (or an event recorded in it) before the host does this"
        target = names.stream(second.stream, second.device)
        return (
            f"Missing edge: record an event in {source} behind position {first.position}, and let {target} wait for it "
            f"before position {second.position}"
        )
