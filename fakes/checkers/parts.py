"""Blocks that the runtime cuts out of larger pieces of memory: bounds and lifetime of each, as the driver cannot see.

A pool hands memory out and takes it back while tasks are still queued, which is right as long as they were submitted in
time. A task is therefore compared with the blocks that there were when it was submitted.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING

from fakes.checkers.names import at
from fakes.checkers.report import BOUNDS, UAF, Report

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.names import CallSite
    from fakes.checkers.shadow import Work
    from fakes.machine.blocks import Allocation

_KEPT = 256
"""Blocks of one piece that are remembered after they were given back."""
NEVER = 1 << 62


class Part:
    """One block: where, and from which step of the host to which."""

    __slots__ = ("born", "died", "end", "freed", "graph", "low", "site")

    def __init__(self, low: int, size: int, born: int, site: CallSite | None, graph: int) -> None:
        self.low, self.end, self.born, self.site = low, low + size, born, site
        self.graph = graph
        """The graph that it was taken for, which keeps it; -1: for work of a stream."""
        self.died = NEVER
        self.freed: CallSite | None = None

    def __str__(self) -> str:
        return f"block {self.low:#x}+{self.end - self.low} of a pool{at(self.site, 'taken at')}"


class _Pieces:
    """The blocks of one piece of memory."""

    __slots__ = ("gone", "live", "since", "starts")

    def __init__(self) -> None:
        self.live: dict[int, Part] = {}
        self.starts: list[int] = []
        self.gone: list[Part] = []
        self.since = 0
        """Tasks that were submitted before this step cannot be judged: what there was then is forgotten."""

    def end(self, part: Part, tick: int, where: CallSite | None) -> None:
        del self.live[part.low]
        self.starts.remove(part.low)
        part.died, part.freed = tick, where
        self.gone.append(part)
        if len(self.gone) > _KEPT:
            self.since = self.gone.pop(0).died

    def around(self, address: int) -> Part | None:
        """Return the block that begins last before an address, of those in use."""
        index = bisect_right(self.starts, address) - 1
        return None if index < 0 else self.live[self.starts[index]]


class Parts:
    """The blocks of all pieces that were cut."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._of: dict[Allocation, _Pieces] = {}

    def told(
        self, block: Allocation, address: int, size: int | None, tick: int, where: CallSite | None, graph: int = -1
    ) -> None:
        """A block begins at a step of the host, for a graph or not; without a size it ends."""
        pieces = self._of.get(block)
        if pieces is None:
            pieces = self._of[block] = _Pieces()
        if (old := pieces.live.get(address)) is not None:
            pieces.end(old, tick, where)
        if size is not None:
            pieces.live[address] = Part(address, size, tick, where, graph)
            insort(pieces.starts, address)

    def there(self, block: Allocation, address: int, tick: int) -> Part | None:
        """Return the block that an address belonged to in a step of the host; None where none is known."""
        pieces = self._of.get(block)
        if pieces is None or tick < pieces.since:
            return None
        known = (*pieces.gone, *([part] if (part := pieces.around(address)) is not None else ()))
        return next((each for each in known if each.low <= address < each.end and each.born <= tick < each.died), None)

    def forget(self, block: Allocation) -> None:
        """A whole piece is gone."""
        self._of.pop(block, None)

    def touched(self, block: Allocation, address: int, size: int, submitted: int, work: Work) -> None:
        """Bytes are touched by what was submitted in a step of the host."""
        pieces = self._of.get(block)
        if pieces is None or submitted < pieces.since:
            return
        part, end = pieces.around(address), address + size
        if part is None or part.born > submitted or address >= part.end:
            known = [old for old in pieces.gone if old.low <= address < old.end and old.born <= submitted]
            part = known[-1] if known else part
        if part is None or address >= part.end:
            self._astray(block, part, address, size, work)
        elif part.died <= submitted or part.born > submitted:
            self._gone(part, submitted, work)
        elif end > part.end:
            self._astray(block, part, address, size, work)

    def _astray(self, block: Allocation, part: Part | None, address: int, size: int, work: Work) -> None:
        names = self._checks.names
        who = names.work(work)
        text = f"{who} touches {size} bytes at {address:#x}"
        if part is None:
            text += f" of {names.block(block)}, where a pool has nothing in use"
        else:
            text += f", {address + size - part.end} bytes more than {part} has"
        self._report(BOUNDS, text, "Allocate what the task touches", who, (work.stream, work.position, address))

    def _gone(self, part: Part, submitted: int, work: Work) -> None:
        who = self._checks.names.work(work)
        if part.died <= submitted:
            text = f"{who} uses {part}, which was given back before the task was submitted{at(part.freed)}"
        else:
            text = f"{who} uses {part}, which was taken after the task was submitted"
        self._report(UAF, text, "Close the buffer after the last task that uses it was submitted", who,
                   (work.stream, work.position, part.low))  # fmt: skip

    def _report(self, check: str, text: str, cure: str, who: str, same: object) -> None:
        if self._checks.on(check):
            self._checks.report(Report(check, text, cure, (who,)), same)
