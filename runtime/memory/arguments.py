"""Where kernel arguments wait for the device: pools of equal blocks, in memory taken once when a device is opened.

Sizes are those of the vendor's loaders; a block larger than the last pool's is allocated on its own. Blocks are made in
groups, when the ones before are in use: most programs need few, and each may cost a call to the driver. How the bytes
get from the host to a block is the pool's business:

* `bar`: device memory that the host may store to, for small blocks where the PCIe BAR is large enough;
* `dma`: a pinned host block beside each device block, joined by a DMA descriptor that is built once;
* `ub`: the same over a UB link, where the copy is queued with the stream's own tasks;
* `copy`: a synchronous driver copy, where the chip or its link knows none of these.

Streams made for fast launches have a pool of their own, one block for each position of their queue, while the device
has some left. The vendor cuts that memory into pieces of any length, in the order of the tasks; equal blocks need no
order.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from functools import partial
from typing import Any

from chips import Chip
from chips.memory_rules import internal_flags
from npuhal.late import logger
from npuhal.process_memory import blank
from runtime import errors
from runtime.driver.memory import MemoryDriver
from runtime.driver.queues.arguments import WindowDriver
from runtime.errors.closing import each

_LOG = logger(__name__)

SUPER_BYTES = 15360
_INCREMENT = 40960
_HUGE_ABOVE = 1 << 20
_BAR_BYTES = 1024 if os.uname().machine == "x86_64" else 4096
"""Largest block that is stored over the BAR."""
_BAR_COUNT = 1024
_UB_POOLS = ((4096, 1024), (16384, 128))
"""Bytes and number of blocks over UB."""
_OWN_BYTES = 1024
_MOST_OWN = 8
"""Bytes of a block of a stream's own pool, and streams of a device that have one."""
_ENDS = struct.Struct("<QQ")
_GROUP = 16
"""Blocks that are made at a time: at the open, and whenever none is free."""


class ArgumentBlock:
    """One block: its device address, and what the host writes to (`view`, at `offset`)."""

    __slots__ = ("address", "descriptor", "ends", "home", "offset", "pool", "reference", "size", "source", "target",
                 "view")  # fmt: skip

    def __init__(self, pool: ArgumentPool | None, address: int, size: int, view: memoryview, offset: int,
                 descriptor: Any = None) -> None:
        self.pool, self.address, self.size = pool, address, size
        self.home: list[ArgumentBlock] | None = None if pool is None else pool.free
        """The list of free blocks that it goes back to; a block of its own has none."""
        self.view, self.offset = view, offset
        self.target, self.source = ctypes.c_uint64(address), ctypes.c_uint64(_address_of(view, offset))
        """Both ends of a driver copy, as objects that an untyped call may take."""
        self.describe(descriptor)

    def describe(self, descriptor: Any) -> None:
        """Keep what the driver made of both ends: a DMA chain, or a copy over UB."""
        self.descriptor = descriptor
        self.reference = ctypes.byref(descriptor) if descriptor is not None else None
        chain = 0 if descriptor is None else ctypes.addressof(descriptor)
        self.ends = _ENDS.pack(self.source.value, chain)
        """Where the host writes, and the description of the copy: two addresses for compiled launches."""


def _address_of(view: memoryview, offset: int) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view, offset))


class ArgumentPool:
    """Equal blocks. Taking one is a list pop, giving it back an append: both are atomic without a lock."""

    __slots__ = ("_base", "_blocks", "_grows", "_host", "_memory", "_segments", "_spans", "_view", "_window",
                 "_windows", "count", "free", "size", "way")  # fmt: skip

    def __init__(self, memory: MemoryDriver, windows: WindowDriver, way: str, size: int, count: int,
                 ready: int = _GROUP) -> None:
        """Take the memory for `count` blocks, and make as many as are to be `ready` at once."""
        self._memory, self._windows, self.way, self.size, self.count = memory, windows, way, size, count
        self._grows = threading.Lock()
        self._spans: list[int] = []
        self._segments: list[Any] = []
        self._window = 0
        self._blocks: list[ArgumentBlock] = []
        self.free: list[ArgumentBlock] = []
        try:
            self._base, self._host = self._reserve(size * count)
            where = (ctypes.c_char * (size * count)).from_address(self._host) if self._host else blank(size * count)
            self._view = memoryview(where).cast("B")
            self._make(ready)
        except BaseException:
            self.close()
            raise

    def _reserve(self, total: int) -> tuple[int, int]:
        """Allocate all memory; returns its address on the device and, unless only the driver copies there, our side."""
        way = self.way
        base = self._allocate(internal_flags(huge=total > _HUGE_ABOVE, hbm=True, p2p=way == "bar"), total)
        host = self._allocate(internal_flags(host=True), total) if way in ("dma", "ub") else 0
        if way == "bar":
            host = self._windows.open(base, total)
            self._window = base
        if way == "ub":
            for address in (host, base):
                self._segments.append(self._windows.segment(address, total, host=address == host))
        return base, host

    def _make(self, count: int) -> bool:
        """Make up to `count` blocks more; False where all there may be exist."""
        start = len(self._blocks)
        try:
            for offset in range(start * self.size, min(start + count, self.count) * self.size, self.size):
                address = self._base + offset
                descriptor = self._join(self._host + offset, address)
                self._blocks.append(ArgumentBlock(self, address, self.size, self._view, offset, descriptor))
        finally:
            self.free.extend(reversed(self._blocks[start:]))
        return len(self._blocks) > start

    def _allocate(self, flags: int, size: int) -> int:
        self._spans.append(self._memory.alloc(size, flags))
        return self._spans[-1]

    def _join(self, host: int, device: int) -> Any:
        if self.way == "dma":
            return self._memory.convert(host, device, self.size)
        return self._windows.ub_copy(host, device, *self._segments) if self.way == "ub" else None

    def join_again(self) -> None:
        """Create the copy descriptors of all blocks again: they were made for another card."""
        if self.way == "dma":
            for block in self._blocks:
                block.describe(self._join(block.source.value, block.address))
        if self.way == "ub":
            device, host = self._spans
            for segment, address in zip(self._segments, (host, device), strict=True):
                self._windows.renew(segment, address, self.size * self.count, host=address == host)

    @property
    def unused(self) -> int:
        """How many blocks may still be taken."""
        return len(self.free) + self.count - len(self._blocks)

    def take(self) -> ArgumentBlock | None:
        """Return a free block, or None where all there may be are in use."""
        while True:
            try:
                return self.free.pop()
            except IndexError:
                with self._grows:  # another thread may have made some while this one waited
                    if not self.free and not self._make(_GROUP):
                        return None

    def close(self) -> None:
        """Free descriptors and memory."""
        chains = [block.descriptor for block in self._blocks] if self.way == "dma" else []
        segments, window, spans = self._segments, self._window, self._spans
        self._blocks, self._segments, self._window, self._spans = [], [], 0, []
        self.free.clear()
        each([
            *(partial(self._memory.destroy_dma, chain) for chain in chains),
            *(partial(self._windows.release, segment) for segment in reversed(segments)),
            *(partial(self._windows.close, window) for _ in range(bool(window))),
            *(partial(self._memory.free, address) for address in reversed(spans)),
        ])  # fmt: skip


def _counted(plan: tuple[str, int, int]) -> bool:
    """Whether a pool has blocks."""
    return bool(plan[2])


class ArgumentPools:
    """The pools of a device, smallest first, and those of single streams."""

    __slots__ = ("_lock", "_memory", "_own", "_windows", "pools", "way")

    def __init__(self, memory: MemoryDriver, windows: WindowDriver, chip: Chip, *, bar: bool = False, ub: bool = False,
                 on_host: bool = True) -> None:
        """Make the pools.

        Args:
            bar: whether the host can store to device memory. ub: whether a UB link joins the two. on_host: whether
                this process runs on a host at all, rather than on the device's own cores.
        """
        self._memory, self._windows, self._lock = memory, windows, threading.Lock()
        dma = on_host and not chip.has("MEM_H2D_MANAGER_POLICY_SYNC_FORCE")
        self.way = "ub" if ub and windows.copies_over_ub else "bar" if bar else "dma" if dma else "copy"
        """How small blocks reach the device."""
        self.pools: list[ArgumentPool] = []
        self._own: dict[Any, ArgumentPool] = {}
        item = int(chip.prop("argsItemSize"))
        plan = [
            (item, int(chip.prop("argInitCountSize"))), (SUPER_BYTES, int(chip.prop("superArgAllocatorSize"))),
            (item + _INCREMENT, int(chip.prop("maxArgAllocatorSize"))),
        ]  # fmt: skip
        ways = [(self.way, *each) for each in _UB_POOLS] if self.way == "ub" else [
            *((self.way, _BAR_BYTES, _BAR_COUNT) for _ in range(self.way == "bar")),
            *(("dma" if dma else "copy", *each) for each in plan),
        ]  # fmt: skip
        try:
            for way, size, count in filter(_counted, ways):  # no `if`: see `npuhal.changed` on interrupts
                self.pools.append(ArgumentPool(memory, windows, way, size, count))
        except BaseException:
            self.close()
            raise

    def join_again(self) -> None:
        """Create the copy descriptors of all blocks again, for another card."""
        with self._lock:
            for pool in (*self.pools, *self._own.values()):
                pool.join_again()

    def give_own(self, stream: Any, depth: int) -> bool:
        """Make a pool for a stream that is made for fast launches; False where the device has none to give."""
        with self._lock:
            if self.way not in ("bar", "ub") or len(self._own) >= _MOST_OWN:
                return False
            try:
                self._own[stream] = ArgumentPool(self._memory, self._windows, self.way, _OWN_BYTES, depth)
            except errors.RuntimeFault as fault:
                _LOG.warning("%r launches with arguments in the pools of its device: %s", stream, fault)
                return False
            return True

    def take_own(self, stream: Any) -> None:
        """Free the pool of a stream that has ended."""
        with self._lock:
            self._own.pop(stream).close()

    def pool_for(self, size: int, stream: Any = None) -> ArgumentPool | None:
        """Return the smallest pool whose blocks hold `size` bytes, or None when none does.

        Args:
            stream: the stream that the tasks go to, where they go there at once: it may have blocks of its own.
        """
        own = self._own.get(stream)
        if own is not None and size <= own.size:
            return own
        for pool in self.pools:
            if size <= pool.size:
                return pool
        return None

    def largest(self, size: int) -> ArgumentPool | None:
        """Return the pool of the largest blocks if they hold `size` bytes, else None."""
        return self.pools[-1] if self.pools and size <= self.pools[-1].size else None

    def behind(self, pool: ArgumentPool, size: int) -> ArgumentPool | None:
        """Return where to look when a pool of the BAR window is empty: the next one whose blocks hold `size` bytes.

        Blocks of their own cost an allocation each; other pools are as large as their device's work needs.
        """
        if pool.way != "bar":
            return None
        rest = self.pools[self.pools.index(pool) + 1 :] if pool in self.pools else self.pools
        return next((other for other in rest if size <= other.size), None)

    def one_off(self, size: int) -> ArgumentBlock:
        """Allocate a block of its own; `release` frees it with the task."""
        address = self._memory.alloc(size, internal_flags(huge=size > _HUGE_ABOVE, hbm=True))
        return ArgumentBlock(None, address, size, memoryview(bytearray(size)), 0)

    def release(self, blocks: list[ArgumentBlock]) -> None:
        """Take blocks back, at least one, from tasks that are done."""
        homes = [block.home for block in blocks]
        if len(set(map(id, homes))) == 1 and homes[0] is not None:  # they mostly come from one pool
            homes[0].extend(blocks)
            return
        for block, home in zip(blocks, homes, strict=True):
            if home is not None:
                home.append(block)
            else:
                self._memory.free(block.address)

    def close(self) -> None:
        """Free all pools."""
        pools = [*self.pools, *self._own.values()]
        self._own.clear()
        self.pools.clear()
        each(pool.close for pool in reversed(pools))
