"""The blocks of a pool by what they are: in use, free by owner and size, kept warm, waiting for streams.

The blocks and their neighbours are what is true; lists and counters follow from them. An interrupt (Ctrl-C, the
exception of a signal handler) may come between a block and a list: then `mend` makes all lists again.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from runtime.memory.blocks import LARGE_SEGMENT, NOBODY, SMALL, UNIT, Block, joinable
from runtime.memory.fences import StreamPoint, point_of
from runtime.memory.statistics import PoolCounters


class Mending:
    """`with lock, mending:`; what leaves it by an exception makes the lists of blocks again."""

    __slots__ = ("_lists",)

    def __init__(self, lists: BlockLists) -> None:
        self._lists = lists

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._lists.mend()


class BlockLists(PoolCounters):
    """What a pool knows of its blocks; everything is called with the lock held."""

    def __init__(self) -> None:
        super().__init__()
        self._free: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        self._blocks: dict[int, Block] = {}
        self._pending: list[Block] = []
        self._warm: dict[tuple[int, int], list[Block]] = {}
        """Blocks as they were given back, by the stream they were taken for and their size: first in every search."""
        self._mending = Mending(self)

    def mend(self) -> None:
        """Make lists and counters agree with the blocks again, after an interrupt between two steps."""
        pending = {id(block) for block in self._pending}
        self._free, self._warm, idle = {}, {}, []
        for block in self._blocks.values():
            if block.used or id(block) in pending:
                continue
            if not block.free and block.home != NOBODY and hasattr(block, "stream"):  # on its way into a list, or warm
                block.points = tuple(map(point_of, dict.fromkeys((block.stream, *block.users))))
                block.users.clear()
            block.free = False
            idle.append(block)
        for block in idle:
            if block.address in self._blocks:  # not joined with one before it
                self._put(block)
        used = [block for block in self._blocks.values() if block.used]
        whole = {block.segment for block in self._blocks.values()}
        self.statistics.count_again(used, self._pending, sum(segment.size for segment in whole), len(whole))

    def _rest(self, block: Block) -> None:
        """Let everybody find a block when its stream has come to where it was given back."""
        block.points = (point_of(block.stream),)
        self._put(block)

    def _cool(self) -> None:
        """Let everybody find the blocks that were kept warm."""
        for kept in self._warm.values():
            for block in kept:
                self._rest(block)
        self._warm.clear()

    def _find(self, wanted: int, small: bool, handle: int) -> Block | None:
        """Take the smallest block that fits, of the stream's own or of everybody's, out of the lists."""
        best: tuple[int, int] | None = None
        chosen: list[tuple[int, int]] = []
        for home in (handle, NOBODY):
            rows = self._free.get((home, small), [])
            index = bisect_left(rows, (wanted, 0))
            if index < len(rows) and (best is None or rows[index][0] < best[0]):
                best, chosen = rows[index], rows
        if best is None or (not small and best[0] - wanted > LARGE_SEGMENT and best[0] == self._whole(best[1])):
            return None  # a huge segment is not broken into for a request of an ordinary one
        chosen.remove(best)
        block = self._blocks[best[1]]
        block.free = False
        return block

    def _whole(self, address: int) -> int:
        return self._blocks[address].segment.size

    def _cut(self, block: Block, wanted: int) -> None:
        """Leave what a request does not need as a block of its own."""
        rest = block.size - wanted
        if rest < UNIT or (not block.segment.small and rest <= SMALL):
            return
        tail = Block(block.segment, block.address + wanted, rest)
        tail.before, tail.after, block.after = block, block.after, tail
        if tail.after is not None:
            tail.after.before = tail
        tail.home, tail.points = block.home, block.points
        block.size = wanted
        self._blocks[tail.address] = tail
        self._enter(tail)

    def _put(self, block: Block) -> None:
        """Enter a free block, joined with free neighbours of the same owner, or of a stream and nobody."""
        for other in (block.before, block.after):
            if other is not None and other.free and joinable(other.home, block.home):
                self._leave(other)
                block = self._join(*((other, block) if other.address < block.address else (block, other)))
        self._enter(block)

    def _join(self, first: Block, second: Block) -> Block:
        latest: dict[int, StreamPoint] = {}
        for point in (*first.points, *second.points):
            known = latest.get(point.stream.handle)
            if known is None or known.position < point.position:
                latest[point.stream.handle] = point
        points = tuple(latest.values())
        # nothing from here on can be interrupted
        first.size += second.size
        first.after = second.after
        if second.after is not None:
            second.after.before = first
        first.home, first.points = first.home or second.home, points
        del self._blocks[second.address]
        return first

    def _enter(self, block: Block) -> None:
        block.free = True
        insort(self._free.setdefault((block.home, block.segment.small), []), (block.size, block.address))

    def _leave(self, block: Block) -> None:
        block.free = False
        self._free[block.home, block.segment.small].remove((block.size, block.address))

    def _reached(self) -> set[StreamPoint]:
        """Ask the device which of the points that blocks wait for have been passed; called without the lock's need."""
        with self._lock:
            asked = {point for block in self._waiting() for point in block.points}
        return {point for point in asked if point.reached()}

    def _waiting(self) -> list[Block]:
        free = [self._blocks[address] for (home, _), rows in self._free.items() if home for _, address in rows]
        return free + self._pending

    def _settle(self, passed: set[StreamPoint]) -> None:
        """Let everybody use what no stream uses any more."""
        settled = [block for block in self._waiting() if passed.issuperset(block.points)]
        for block in settled:  # all of them before any is joined with its neighbours
            if block.free:
                self._leave(block)
            else:
                self._pending.remove(block)
                self.statistics.rested(block.size)
            block.home, block.points = NOBODY, ()
        for block in settled:
            self._put(block)
