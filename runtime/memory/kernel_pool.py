"""Device memory for kernel code: 2 MiB pools, read-only and writable apart (core_spec 13.14)."""

from __future__ import annotations

import threading
from operator import attrgetter

from chips.binary.placement import aligned_base
from chips.memory_rules import internal_flags
from npuhal.records import dataclass, field
from runtime.driver.memory import MemoryDriver
from runtime.errors.closing import each

POOL_BYTES = 2 << 20
_KEPT_FREE = 5


@dataclass(slots=True)
class _CodePool:
    address: int
    read_only: bool
    free: list[tuple[int, int]] = field(default_factory=list)

    def cut(self, size: int) -> int | None:
        for index, (start, length) in enumerate(self.free):
            if length >= size:
                if length == size:
                    del self.free[index]
                else:
                    self.free[index] = (start + size, length - size)
                return start
        return None

    @property
    def idle(self) -> bool:
        return sum(length for _, length in self.free) == POOL_BYTES


class KernelPool:
    """First fit inside 2 MiB pools; released blocks are kept as they are, as the vendor's pool keeps them."""

    def __init__(self, memory: MemoryDriver) -> None:
        self._memory = memory
        self._pools: list[_CodePool] = []
        self._lock = threading.Lock()
        self._add(read_only=True)

    def _add(self, *, read_only: bool) -> _CodePool:
        flags = internal_flags(huge=True, hbm=True, device_read_only=read_only)
        address = self._memory.alloc(POOL_BYTES, flags)
        pool = _CodePool(address, read_only, [(address, POOL_BYTES)])
        self._pools.append(pool)
        return pool

    def alloc(self, size: int, *, read_only: bool) -> int | None:
        """Return a page-aligned block, or None for a size that no pool holds (the caller asks the driver then)."""
        size = aligned_base(size)
        if not 0 < size <= POOL_BYTES:
            return None
        with self._lock:
            address = self._cut(size, read_only)
            return self._add(read_only=read_only).cut(size) if address is None else address

    def _cut(self, size: int, read_only: bool) -> int | None:
        """Cut a block out of a pool that has it; the loop is in no `with`, see `npuhal.changed` on interrupts."""
        for pool in self._pools:
            if pool.read_only == read_only and (address := pool.cut(size)) is not None:
                return address
        return None

    def free(self, address: int, size: int) -> None:
        """Give a block back; pools that are entirely free are kept up to five."""
        with self._lock:
            pool = next(pool for pool in self._pools if pool.address <= address < pool.address + POOL_BYTES)
            pool.free.append((address, aligned_base(size)))
            idle = filter(attrgetter("idle"), self._pools)
            for surplus in list(idle)[_KEPT_FREE:]:
                self._pools.remove(surplus)
                self._memory.free(surplus.address)

    def close(self) -> None:
        """Free all pools."""
        pools, self._pools = self._pools, []
        each(self._memory.freeing(pool.address) for pool in reversed(pools))
