"""A memory driver for pools: hands out addresses, remembers what it gave, and fails when told to."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any


class FakeMemory:
    """Allocations are real host memory, so that pools may look into them."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.flags: dict[int, int] = {}
        self.descriptors: set[int] = set()
        self.allowed = -1
        """Calls that still succeed; -1 for all."""

    def _count(self) -> None:
        if self.allowed == 0:
            raise MemoryError("told to fail")
        self.allowed -= self.allowed > 0

    def alloc(self, size: int, flags: int) -> int:
        self._count()
        block = (ctypes.c_char * (size + 4096))()
        address = -(-ctypes.addressof(block) // 4096) * 4096
        self.blocks[address], self.flags[address] = block, flags
        return address

    def freeing(self, address: int) -> Callable[[], None]:
        return partial(self.free, address)

    def free(self, address: int) -> None:
        del self.blocks[address]

    def convert(self, src: int, dst: int, size: int) -> Any:
        self._count()
        descriptor = ctypes.c_uint64(src)
        self.descriptors.add(id(descriptor))
        return descriptor

    # -- windows and segments --------------------------------------------------------------------------------------

    copies_over_ub = True

    def open(self, address: int, size: int) -> int:
        self._count()
        self.descriptors.add(address)
        return address

    def close(self, address: int) -> None:
        self.descriptors.remove(address)

    def segment(self, address: int, size: int, *, host: bool) -> Any:
        self._count()
        self.descriptors.add(address)
        return address

    def release(self, segment: Any) -> None:
        self.descriptors.remove(segment)

    def ub_copy(self, src: int, dst: int, source: Any, target: Any) -> Any:
        return ctypes.c_uint64(src)

    def destroy_dma(self, descriptor: Any) -> None:
        self.descriptors.remove(id(descriptor))
