"""Managed memory and the driver's side of stream-ordered pools (pools chapter)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from npuhal import structs as s
from runtime.driver.calls import HalCalls
from runtime.driver.vmm import PhysicalKind


class ManagedDriver(HalCalls):
    """halMemManaged*: where managed memory is kept, and hints about its use. STARS v1 only."""

    def advise(self, address: int, size: int, advice: int, kind: int, number: int) -> None:
        """Give a hint (uvmMemAdviseType) about a range and a location."""
        rc = self.hal.halMemManagedAdvise(address, size, advice, _location(kind, number))
        self.check(rc, "halMemManagedAdvise", f"{size} bytes at {address:#x}, advice {advice}")

    def prefetch(self, address: int, size: int, kind: int, number: int) -> None:
        """Move a range to a location."""
        rc = self.hal.halMemManagedPrefetch(address, size, _location(kind, number), 0)
        self.check(rc, "halMemManagedPrefetch", f"{size} bytes at {address:#x}")

    def prefetch_many(
        self, ranges: Sequence[tuple[int, int]], locations: Sequence[tuple[int, int]], starts: Sequence[int]
    ) -> None:
        """Move ranges (address, size): location k, a (kind, number), is for the ranges from `starts[k]` on."""
        count = len(ranges)
        starts_at, sizes = ((ctypes.c_uint64 * count)(*column) for column in zip(*ranges, strict=True))
        packed = (s.drv_uvm_location * len(locations))(*(_location(*location) for location in locations))
        rc = self.hal.halMemManagedPrefetchBatch(
            starts_at, sizes, count, packed, (ctypes.c_uint64 * len(starts))(*starts), len(starts), 0
        )
        self.check(rc, "halMemManagedPrefetchBatch", f"{count} ranges")

    def attributes(self, address: int, size: int, kinds: list[int], sizes: list[int]) -> list[bytes]:
        """Return attributes of a range (DEVMM_MEM_RANGE_ATTRIBUTE), each in as many bytes as asked for."""
        blocks = [ctypes.create_string_buffer(size) for size in sizes]
        data = (ctypes.c_void_p * len(kinds))(*map(ctypes.addressof, blocks))
        rc = self.hal.halMemManagedRangeGetAttributes(
            data, (ctypes.c_uint64 * len(kinds))(*sizes), (ctypes.c_uint32 * len(kinds))(*kinds), len(kinds), address,
            size,
        )
        self.check(rc, "halMemManagedRangeGetAttributes", f"{size} bytes at {address:#x}")
        return [block.raw for block in blocks]


def _location(kind: int, number: int) -> Any:
    made = s.drv_uvm_location()
    made.type, made.id = kind, number
    return made


class PoolDriver(HalCalls):
    """halMemPool*: tell the driver which parts of a reserved address range are in use."""

    def create(self, number: int, address: int, size: int, kind: PhysicalKind) -> None:
        """Make a pool over a reserved address range; `number` names it from now on."""
        prop = s.soma_mem_pool_prop()
        prop.mem_prop, prop.va, prop.maxSize = kind.prop(), address, size
        self.check(self.hal.halMemPoolCreate(self._pool(number), prop), "halMemPoolCreate", f"{size} bytes")

    def destroy(self, number: int) -> None:
        """Take a pool away."""
        self.check(self.hal.halMemPoolDestroy(self._pool(number)), "halMemPoolDestroy")

    def use(self, number: int, address: int, size: int, *, taken: bool) -> None:
        """Tell that a part of the range is taken from now on, or given back."""
        rc = self.hal.halMemPoolAsyncConfig(self._pool(number), address, size, int(taken))
        self.check(rc, "halMemPoolAsyncConfig", f"{size} bytes at {address:#x}")

    def trim(self, number: int, reserved: int, used: int, keep: int) -> int:
        """Let the driver give memory back until `keep` bytes are left; returns what it still holds."""
        value = ctypes.c_uint64(reserved)
        rc = self.hal.halMemPoolTrim(self._pool(number), ctypes.byref(value), used, keep)
        self.check(rc, "halMemPoolTrim")
        return value.value

    def _pool(self, number: int) -> Any:
        made = s.soma_mem_pool_t()
        made.poolId, made.devId = number, self.device_id
        return made
