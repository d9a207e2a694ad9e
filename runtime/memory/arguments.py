"""Where kernel arguments wait for the device: pools of equal blocks, made once when a device is opened.

Three sizes as the vendor's loader has them (chip properties argsItemSize and *AllocatorSize); a block larger than the
last is allocated on its own. How the bytes get from the host to a block depends on the machine:

* `dma`: a pinned host block beside each device block, joined by a DMA descriptor that is built once;
* `bar`: device memory that the host may store to;
* `copy`: a synchronous driver copy (STARS v2 without a BAR).
"""

from __future__ import annotations

import ctypes
from typing import Any

from chips import Chip
from chips.memory_rules import internal_flags
from runtime.driver.memory import MemoryDriver

SUPER_BYTES = 15360
_INCREMENT = 40960
_HUGE_ABOVE = 1 << 20


class ArgumentBlock:
    """One block: its device address, and what the host writes to (`view`, at `offset`)."""

    __slots__ = ("address", "descriptor", "offset", "pool", "reference", "size", "source", "target", "view")

    def __init__(self, pool: ArgumentPool | None, address: int, size: int, view: memoryview, offset: int,
                 descriptor: Any = None) -> None:
        self.pool, self.address, self.size = pool, address, size
        self.view, self.offset = view, offset
        self.target, self.source = ctypes.c_uint64(address), ctypes.c_uint64(_address_of(view, offset))
        """Both ends of a driver copy, as objects that an untyped call may take."""
        self.descriptor = descriptor
        self.reference = ctypes.byref(descriptor) if descriptor is not None else None


def _address_of(view: memoryview, offset: int) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view, offset))


class ArgumentPool:
    """Equal blocks. Taking one is a list pop, giving it back an append: both are atomic without a lock."""

    __slots__ = ("_blocks", "_free", "_memory", "_spans", "free", "size", "way")

    def __init__(self, memory: MemoryDriver, way: str, size: int, count: int) -> None:
        self._memory, self.way, self.size = memory, way, size
        self._spans: list[int] = []
        self._blocks: list[ArgumentBlock] = []
        self.free: list[ArgumentBlock] = []
        try:
            self._fill(count)
        except BaseException:
            self.close()
            raise

    def _fill(self, count: int) -> None:
        total = self.size * count
        base = self._memory.alloc(total, internal_flags(huge=total > _HUGE_ABOVE, hbm=True))
        self._spans.append(base)
        if self.way == "dma":
            host = self._memory.alloc(total, internal_flags(host=True))
            self._spans.append(host)
            view = memoryview((ctypes.c_char * total).from_address(host)).cast("B")
        elif self.way == "bar":
            view = memoryview((ctypes.c_char * total).from_address(base)).cast("B")
        else:
            host = 0
            view = memoryview(bytearray(total))
        for index in range(count):
            offset = index * self.size
            dma = self._memory.convert(host + offset, base + offset, self.size) if self.way == "dma" else None
            self._blocks.append(ArgumentBlock(self, base + offset, self.size, view, offset, dma))
        self.free.extend(reversed(self._blocks))

    def take(self) -> ArgumentBlock | None:
        """Return a free block, or None."""
        try:
            return self.free.pop()
        except IndexError:
            return None

    def close(self) -> None:
        """Free descriptors and memory."""
        for block in self._blocks:
            if block.descriptor is not None:
                self._memory.destroy_dma(block.descriptor)
        self._blocks.clear()
        self.free.clear()
        while self._spans:
            self._memory.free(self._spans.pop())


class ArgumentPools:
    """The three pools of a device, smallest first."""

    __slots__ = ("_memory", "pools", "way")

    def __init__(self, memory: MemoryDriver, chip: Chip, *, bar: bool) -> None:
        self._memory = memory
        self.way = "bar" if bar else "dma" if chip.generation == "v100" else "copy"
        item = int(chip.prop("argsItemSize"))
        self.pools: list[ArgumentPool] = []
        plan = (
            (item, int(chip.prop("argInitCountSize"))),
            (SUPER_BYTES, int(chip.prop("superArgAllocatorSize"))),
            (item + _INCREMENT, int(chip.prop("maxArgAllocatorSize"))),
        )
        try:
            for size, count in plan:
                if count:
                    self.pools.append(ArgumentPool(memory, self.way, size, count))
        except BaseException:
            self.close()
            raise

    def pool_for(self, size: int) -> ArgumentPool | None:
        """Return the smallest pool whose blocks hold `size` bytes, or None when none does."""
        for pool in self.pools:
            if size <= pool.size:
                return pool
        return None

    def one_off(self, size: int) -> ArgumentBlock:
        """Allocate a block of its own; `release` frees it with the task."""
        address = self._memory.alloc(size, internal_flags(huge=size > _HUGE_ABOVE, hbm=True))
        return ArgumentBlock(None, address, size, memoryview(bytearray(size)), 0)

    def release(self, blocks: list[ArgumentBlock]) -> None:
        """Take blocks back from tasks that are done."""
        for block in blocks:
            if block.pool is None:
                self._memory.free(block.address)
            else:
                block.pool.free.append(block)

    def close(self) -> None:
        """Free all pools."""
        while self.pools:
            self.pools.pop().close()
