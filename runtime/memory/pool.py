"""A caching allocator in stream order: what a stream frees, its later work may use at once, without a driver call.

Memory comes from the driver in segments that are cut into blocks. A block belongs to the stream it was asked for. When
it is freed it waits for that stream only: the same stream may have it back immediately, because its work runs in
order; everybody else once the device has passed the point of the free. Neighbours that are free for the same stream
are joined again; a segment that is free as a whole can go back to the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from runtime import errors
from runtime.errors.arguments import whole as whole_number
from runtime.errors.arguments import whole_or_none
from runtime.errors.closing import each
from runtime.memory.allocator import below
from runtime.memory.block_lists import BlockLists
from runtime.memory.blocks import LARGE_SEGMENT, NOBODY, SMALL, SMALL_SEGMENT, UNIT, Block, Segment, Snapshot
from runtime.memory.fences import Timeline, point_of
from runtime.memory.ledger import POOL, SEGMENT, InUse, Ledger, most
from runtime.memory.statistics import amount


class Source(Protocol):
    """Where segments come from."""

    @property
    def annotate(self) -> Callable[..., None] | None:
        """What tells tools (address, bytes, graph) of what is handed out, bytes None: taken back; None: nobody listens.
        """

    def take(self, size: int) -> int:
        """Return the address of new memory; raises OutOfMemory."""

    def give(self, address: int) -> None:
        """Take memory back."""

    def shortage(self) -> str:
        """Say in words how much there is and who holds it."""


_MOST_WARM = 32
"""Sizes of which blocks are kept warm, and blocks of each."""
_MOST_SIZES = 4096


class CachingPool(BlockLists):
    """The pool of one device; all methods may be called from any thread."""

    def __init__(self, source: Source, rounded: Callable[[int], int], ledger: Ledger) -> None:
        """Start empty.

        Args:
            rounded: what a request becomes by the chip's rule (multiples of 32, padding).
            ledger: knows whether call sites of requests are kept, and the one that runs now.
        """
        super().__init__()
        self._source, self._rounded, self._ledger = source, rounded, ledger
        self._annotate = source.annotate
        self._looked_at = False
        self._wanted: dict[int, int] = {}
        self._limit: int | None = None
        ledger.parts.append(self)
        if ledger.journals:
            self.listen(True)

    # -- limits ----------------------------------------------------------------------------------------------------

    @property
    def limit(self) -> int | None:
        """The most bytes that the pool may hold of the driver's memory; None: as much as there is.

        Setting it gives cached memory back where needed; InvalidArgument 107000 where blocks in use do not fit.
        """
        return self._limit

    @limit.setter
    def limit(self, value: int | None) -> None:
        value = whole_or_none("pool.limit", "bytes", value)
        with self._lock:
            if value is not None and value < self.statistics.reserved_bytes.current:
                self._trim(value)
                if self.statistics.reserved_bytes.current > value:
                    raise errors.fault(
                        "ACL_ERROR_RT_PARAM_INVALID", f"the pool cannot be limited to {value} bytes: segments of "
                        f"{self.statistics.reserved_bytes.current} bytes hold blocks in use",
                        hint="close buffers first, or choose a larger limit",
                    )
            self._limit = value

    # -- blocks ----------------------------------------------------------------------------------------------------

    def take(self, size: int, stream: Timeline) -> Block:
        """Return a block for work of a stream.

        Raises:
            OutOfMemory 207001: neither the pool nor, within the limit, the driver has that much.
        """
        wanted = self._wanted.get(size) or self._round(size)
        with self._lock:
            try:
                if kept := self._warm.get((stream.handle, wanted)):
                    block = kept[-1]
                    del kept[-1]  # no call: an interrupt cannot come before somebody has the block
                    return self._hand_out(block, size)
            except BaseException:
                self.mend()
                raise
        return self._take(size, wanted, stream)

    def _hand_out(self, block: Block, size: int) -> Block:
        """Note that a block is in use now, for a request of so many bytes."""
        block.requested = size
        block.site = self._ledger.call_site() if self._ledger.traces else ""
        self.statistics.took(block.size, size)
        if self._annotate is not None:
            self._annotate(block.address, size, getattr(block.stream, "graph", -1))
        block.used = True
        return block

    def _round(self, size: int) -> int:
        """Work out what a request takes, and remember it."""
        wanted = -(-self._rounded(size) // UNIT) * UNIT
        if len(self._wanted) < _MOST_SIZES:
            self._wanted[size] = wanted
        return wanted

    def _take(self, size: int, wanted: int, stream: Timeline) -> Block:
        """Take a block that is not kept warm."""
        small = wanted <= SMALL
        with self._lock, self._mending:
            self._cool()
            block = self._find(wanted, small, stream.handle)
            if block is not None:
                return self._assign(block, wanted, size, stream)
        settled = self._reached()
        with self._lock, self._mending:
            self._settle(settled)
            block = self._find(wanted, small, stream.handle) or self._grow(wanted, small, size)
            return self._assign(block, wanted, size, stream)

    def _assign(self, block: Block, wanted: int, size: int, stream: Timeline) -> Block:
        """Give a free block to a stream, as much of it as is wanted."""
        self._cut(block, wanted)
        block.stream, block.home, block.points = stream, stream.handle, ()
        return self._hand_out(block, size)

    def give(self, block: Block) -> None:
        """Take a block back in the order of the stream it was taken for; twice does nothing."""
        with self._lock:
            if not block.used:
                return
            try:
                block.used = False
                self.statistics.gave(block.size, block.requested)
                if self._annotate is not None:
                    self._annotate(block.address, None)
                if not block.users:
                    kept = self._warm.get((block.home, block.size))
                    if kept is None and len(self._warm) < _MOST_WARM:
                        kept = self._warm[block.home, block.size] = []
                    if kept is not None and len(kept) < _MOST_WARM:
                        kept.append(block)
                    else:
                        self._rest(block)
                else:
                    block.points = (point_of(block.stream), *map(point_of, block.users))
                    block.users.clear()
                    block.home = -1
                    self._pending.append(block)
                    self.statistics.pends(block.size)
            except BaseException:
                self.mend()
                raise

    def record(self, block: Block, stream: Timeline) -> None:
        """Note that a further stream uses a block: its work so far must be over before the block is used again."""
        with self._lock:
            if stream.handle != block.home and stream not in block.users:
                block.users.append(stream)

    def _grow(self, wanted: int, small: bool, asked: int) -> Block:
        """Get a segment for a request, giving cached memory back first where there is none left."""
        if small:
            size = SMALL_SEGMENT
        elif wanted <= LARGE_SEGMENT // 2:
            size = LARGE_SEGMENT
        else:
            size = -(-wanted // SMALL_SEGMENT) * SMALL_SEGMENT
        held = self.statistics.reserved_bytes
        if self._limit is not None and held.current + size > self._limit:
            self._retry(max(self._limit - size, 0))
            if held.current + size > self._limit:
                exact = -(-wanted // UNIT) * UNIT
                if held.current + exact > self._limit:
                    raise self._exhausted(asked)
                size = exact
        try:
            address = self._source.take(size)
        except errors.OutOfMemory:
            self._retry(0)
            try:
                address = self._source.take(size)
            except errors.OutOfMemory as empty:
                if "first" in empty.details:  # the device is down
                    raise
                raise self._exhausted(asked, empty) from empty
        self.statistics.num_driver_allocs += 1
        self.statistics.segment.add(1)
        held.add(size)
        if self._looked_at:
            self._note_segment(True, address, size)
        block = Block(Segment(address, size, small), address, size)
        self._blocks[address] = block
        block.free = False
        return block

    def _retry(self, keep: int) -> None:
        self.statistics.num_alloc_retries += 1
        self._settle(self._reached())
        self._trim(keep)

    def _exhausted(self, asked: int, empty: errors.RuntimeFault | None = None) -> errors.RuntimeFault:
        statistics = self.statistics
        statistics.num_ooms += 1
        limit = "" if self._limit is None else f", limit {self._limit}"
        held, used = statistics.reserved_bytes.current, statistics.bytes
        return errors.fault(
            "ACL_ERROR_RT_MEMORY_ALLOCATION",
            f"the pool has no {asked} bytes ({amount(asked)}) left: {used} of its {held} bytes are in use"
            f"{self._holders()}{limit}; {self._source.shortage()}",
            hint=self._cure(empty is None),
            details={"asked": asked, "allocated": used, "reserved": held, "limit": self._limit},
            hal=below(empty),
        )

    def _cure(self, limited: bool) -> str:
        """Say what helps where the pool cannot grow, because of its limit or because the device is full."""
        ways = ["close buffers"] if self.statistics.bytes else []
        ways.append("raise `pool.limit`" if limited else "free other memory on the device, of this process or others "
                    "(`npuhal info`)")
        return f"{', or '.join([*ways, 'ask for less'])}"

    def _holders(self) -> str:
        """Say where the blocks in use were asked for, the largest share first."""
        size: Counter[str] = Counter()
        count: Counter[str] = Counter()
        idle = {block.address for kept in (*self._warm.values(), self._pending) for block in kept}
        for block in self._blocks.values():
            if not block.free and block.address not in idle:
                size[block.site] += block.size
                count[block.site] += 1
        return most([(site, share, count[site]) for site, share in size.most_common()]) if size else ""

    # -- giving back -----------------------------------------------------------------------------------------------

    def trim(self, keep: int = 0) -> int:
        """Give segments that are free as a whole back to the driver until at most `keep` bytes are held.

        Returns the bytes given back.
        """
        return self._trim(whole_number("pool.trim", "keep", keep))

    def _trim(self, keep: int) -> int:
        with self._lock, self._mending:
            self._cool()
        settled = self._reached()
        with self._lock, self._mending:
            self._settle(settled)
            held, before = self.statistics.reserved_bytes, self.statistics.reserved_bytes.current
            for block in sorted(self._whole_segments(), key=lambda block: block.size):
                if held.current <= keep:
                    break
                self._leave(block)
                del self._blocks[block.address]
                self._source.give(block.address)
                if self._looked_at:
                    self._note_segment(False, block.address, block.size)
                self.statistics.num_driver_frees += 1
                self.statistics.segment.take(1)
                held.take(block.size)
            return before - held.current

    def _whole_segments(self) -> list[Block]:
        """Return the segments that are free as a whole and belong to nobody."""
        return [
            self._blocks[address]
            for (home, _), rows in self._free.items() if home == NOBODY
            for size, address in rows if size == self._whole(address)
        ]  # fmt: skip

    def empty_cache(self) -> None:
        """Give back to the driver what is not in use; the same as `trim()`, as users of torch.npu know it."""
        self.trim()

    def close(self) -> None:
        """Give everything back; nothing runs any more, and blocks still in use are lost to their users."""
        with self._lock:
            for part in reversed(self.in_use()) if self._looked_at else ():
                self._ledger.note(False, part)
            segments = list(dict.fromkeys(block.segment.address for block in self._blocks.values()))
            self._blocks.clear()
            self._free.clear()
            self._pending.clear()
            self._warm.clear()
        each(partial(self._source.give, address) for address in segments)

    # -- who looks -------------------------------------------------------------------------------------------------

    def listen(self, wanted: bool) -> None:
        """Tell the ledger's journals of blocks and segments from now on, or no more."""
        with self._lock:
            self._looked_at = wanted
            self._annotate = self._note if wanted else self._source.annotate

    def _note(self, address: int, size: int | None, graph: int = -1) -> None:
        """Tell tools and journals of a block that was taken for a request, or given back (size None)."""
        if self._source.annotate is not None:
            self._source.annotate(address, size, graph)
        self._ledger.note(size is not None, _in_use(self._blocks[address]))

    def _note_segment(self, taken: bool, address: int, size: int) -> None:
        self._ledger.note(taken, InUse(SEGMENT, address, size, size, ""))

    def in_use(self) -> list[InUse]:
        """Return the segments, and the blocks in use inside them."""
        with self._lock:
            idle = {id(block) for kept in (*self._warm.values(), self._pending) for block in kept}
            segments = {block.segment for block in self._blocks.values()}
            rows = [InUse(SEGMENT, one.address, one.size, one.size, "") for one in sorted(segments)]
            rows += map(_in_use, (block for block in self._blocks.values() if not block.free and id(block) not in idle))
            return rows

    # -- what there is ---------------------------------------------------------------------------------------------

    def holder(self, address: int) -> object:
        """Return what stands for who has the block at an address; None where there is no block (any more)."""
        block = self._blocks.get(address)
        return None if block is None else block.used

    def block(self, address: int) -> Block:
        """Return the block that begins at an address."""
        return self._blocks[address]

    def held_for(self, home: int) -> int:
        """Return the bytes of blocks that only one stream, or one graph, may use: in use, or kept for it."""
        with self._lock:
            return sum(block.size for block in self._blocks.values() if block.home == home)

    def memory_snapshot(self) -> list[Snapshot]:
        """Return every block, by address."""
        with self._lock, self._mending:
            self._cool()
            return [
                Snapshot(block.segment.address, block.address, block.size, self._state(block))
                for _, block in sorted(self._blocks.items())
            ]

    def _state(self, block: Block) -> str:
        if block in self._pending:
            return "active_pending_free"
        return "inactive" if block.free else "active_allocated"


def _in_use(block: Block) -> InUse:
    graph = getattr(block.stream, "graph", -1)
    return InUse(POOL if graph < 0 else f"graph {graph}", block.address, block.size, block.requested, block.site)
