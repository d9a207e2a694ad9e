"""HAL chapter "pools": managed memory (STARS v1), and the driver's side of stream-ordered pools (hal_semantics 7.6)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from fakes.errors import OutOfDeviceMemory
from fakes.hal.chapter import Chapter
from fakes.memory import HUGE, Block, Kind, Pool
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine import Machine

_UVM_KIND = c.MEM_UVM_VAL
_KIND_MASK = (1 << c.MEM_VIRT_WIDTH) - 1
_ADVICE = range(6)


class _Range(NamedTuple):
    """The addresses of a pool."""

    device: int
    address: int
    size: int


class PoolCalls(Chapter):
    """Functions of ascend_hal_base.h about managed memory and pools."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._pools: dict[int, _Range] = {}
        self._parts: dict[int, tuple[int, Block]] = {}
        """Physical memory behind the parts in use, by address: the pool's number and the block."""
        self._values: dict[tuple[int, int], int] = {}
        self._advice: dict[int, dict[int, tuple[int, int]]] = {}

    # -- managed memory -----------------------------------------------------------------------------------------------

    def _managed(self, address: int, size: int) -> Block | None:
        block = self.machine.memory.find(address)
        if block is None or block.kind is not Kind.DEVICE or block.flags >> c.MEM_VIRT_BIT & _KIND_MASK != _UVM_KIND:
            return None
        return block if address + size <= block.base + block.span else None

    def halMemManagedAdvise(self, address: int, size: int, advise: int, location: Any) -> int:
        """Take a hint about a range."""
        block = self._managed(address, size)
        if block is None or not size or advise not in _ADVICE:
            return c.DRV_ERROR_INVALID_VALUE
        self._advice.setdefault(block.base, {})[advise] = (location.type, location.id)
        return 0

    def halMemManagedPrefetch(self, address: int, size: int, location: Any, flags: int) -> int:
        """Move a range: host and device use the same bytes here."""
        if self._managed(address, size) is None or not size or flags or not location.type:
            return c.DRV_ERROR_INVALID_VALUE
        return 0

    def halMemManagedRangeGetAttributes(
        self, data: Any, sizes: Any, attributes: Any, count: int, address: int, size: int
    ) -> int:
        """Return hints that were given for the block of a range."""
        block = self._managed(address, size)
        if block is None or None in (data, sizes, attributes) or not count:
            return c.DRV_ERROR_INVALID_VALUE
        given = self._advice.get(block.base, {})
        targets, rooms = ((ctypes.c_uint64 * count).from_address(ctypes.addressof(one)) for one in (data, sizes))
        kinds = (ctypes.c_uint32 * count).from_address(ctypes.addressof(attributes))
        for target, room, kind in zip(targets, rooms, kinds, strict=True):
            value = c.MEM_RANGE_INVALID_DEVICE_ID
            if kind == c.MEM_RANGE_ATTR_READ_MOSTLY:
                value = int(c.READ_MOSTLY in given)
            elif kind == c.MEM_RANGE_ATTR_PREFERRED_LOC and c.PREFER_LOCATION in given:
                value = given[c.PREFER_LOCATION][1]
            image = (value & 0xFFFFFFFF).to_bytes(4, "little")[:room]
            ctypes.memmove(target, image, len(image))
        return 0

    # -- pools --------------------------------------------------------------------------------------------------------

    def halMemPoolCreate(self, pool: Any, prop: Any) -> int:
        """Take note of a pool over reserved addresses."""
        if self.device(pool.devId) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if pool.poolId in self._pools or not prop.maxSize or prop.maxSize % HUGE or not prop.va:
            return c.DRV_ERROR_INVALID_VALUE
        self._pools[pool.poolId] = _Range(pool.devId, prop.va, prop.maxSize)
        return 0

    def halMemPoolDestroy(self, pool: Any) -> int:
        """Give up a pool and all memory behind it."""
        if self._pools.pop(pool.poolId, None) is None:
            return c.DRV_ERROR_INVALID_VALUE
        for address in [address for address, (number, _) in self._parts.items() if number == pool.poolId]:
            self._release(address)
        return 0

    def _release(self, address: int) -> None:
        _, block = self._parts.pop(address)
        self.machine.memory.free(address)
        self.machine.memory.free_physical(block)

    def halMemPoolAsyncConfig(self, pool: Any, va: int, size: int, flag: int) -> int:
        """Put memory behind a part of the range, or take it away."""
        found = self._pools.get(pool.poolId)
        if found is None or not size or not found.address <= va <= va + size <= found.address + found.size:
            return c.DRV_ERROR_INVALID_VALUE
        if not flag:
            return self._give(va, size)
        try:
            block = self.machine.memory.allocate_physical(found.device, size, Pool.HUGE)
        except OutOfDeviceMemory as full:
            self.machine.problem(f"halMemPoolAsyncConfig of {size} bytes: {full}")
            return c.DRV_ERROR_OUT_OF_MEMORY
        self.machine.memory.map_physical(va, block)
        self._parts[va] = (pool.poolId, block)
        return 0

    def _give(self, va: int, size: int) -> int:
        """Release the parts that lie in a range as a whole; one that reaches beyond it stays."""
        for address in [at for at, (_, block) in self._parts.items() if va <= at and at + block.size <= va + size]:
            self._release(address)
        return 0

    def halMemPoolTrim(self, pool: Any, reserved: Any, used: int, free: int) -> int:
        """Keep what is asked for; the runtime says which parts go."""
        if pool.poolId not in self._pools or reserved is None or used > reserved.value:
            return c.DRV_ERROR_INVALID_VALUE
        reserved.value = max(used, min(reserved.value, free))
        return 0

    def halMemPoolSetAttr(self, pool: Any, attr: int, value: int) -> int:
        """Store an attribute."""
        if pool.poolId not in self._pools or not value:
            return c.DRV_ERROR_INVALID_VALUE
        self._values[pool.poolId, attr] = ctypes.c_uint64.from_address(value).value
        return 0

    def halMemPoolGetAttr(self, pool: Any, attr: int, value: Any) -> int:
        """Return an attribute that was stored, or 0."""
        if pool.poolId not in self._pools or not value:
            return c.DRV_ERROR_INVALID_VALUE
        ctypes.c_uint64.from_address(value).value = self._values.get((pool.poolId, attr), 0)
        return 0
