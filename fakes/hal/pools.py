"""HAL chapter "pools": managed memory (STARS v1), and the driver's side of stream-ordered pools (hal_semantics 7.6)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.address_space import BackingFile
from fakes.machine.blocks import HUGE, Allocation, Kind, PageKind
from npuhal import constants as c
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

_UVM_KIND = c.MEM_UVM_VAL
_KIND_MASK = (1 << c.MEM_VIRT_WIDTH) - 1
_ADVICE = range(6)


@dataclass(slots=True)
class _MemoryPool:
    """The addresses of a pool, the bytes behind all of them, and a block per run of addresses that is in use."""

    device: int
    address: int
    size: int
    bytes: BackingFile
    runs: list[Allocation] = field(default_factory=list)


class PoolCalls(Chapter):
    """Functions of ascend_hal_base.h about managed memory and pools."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._pools: dict[int, _MemoryPool] = {}
        self._values: dict[tuple[int, int], int] = {}
        self._advice: dict[int, dict[int, tuple[int, int]]] = {}
        machine.on_close.append(self._forget)

    def _forget(self, devid: int) -> None:
        for number in [number for number, pool in self._pools.items() if pool.device == devid]:
            self._destroy(number)

    # -- managed memory -----------------------------------------------------------------------------------------------

    def _managed(self, address: int, size: int) -> Allocation | None:
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

    def halMemManagedPrefetchBatch(
        self, addresses: Any, sizes: Any, count: int, locations: Any, first: Any, kinds: int, flags: int
    ) -> int:
        """Move ranges: location `i` is for the ranges from number `first[i]` on; nothing moves if one is wrong."""
        if None in (addresses, sizes, locations, first) or not count or not kinds or flags:
            return c.DRV_ERROR_INVALID_VALUE
        starts, limits = ((ctypes.c_uint64 * count).from_address(ctypes.addressof(one)) for one in (addresses, sizes))
        given = (type(locations) * kinds).from_address(ctypes.addressof(locations))
        known = all(self._managed(at, limit) is not None and limit for at, limit in zip(starts, limits, strict=True))
        return 0 if known and all(location.type for location in given) else c.DRV_ERROR_INVALID_VALUE

    def halMemManagedRangeGetAttributes(
        self, data: Any, sizes: Any, attributes: Any, count: int, address: int, size: int
    ) -> int:
        """Return hints that were given for the block of a range."""
        block = self._managed(address, size)
        if block is None or None in (data, sizes, attributes) or not count:
            return c.DRV_ERROR_INVALID_VALUE
        given = self._advice.get(block.base, {})
        targets, limits = ((ctypes.c_uint64 * count).from_address(ctypes.addressof(one)) for one in (data, sizes))
        kinds = (ctypes.c_uint32 * count).from_address(ctypes.addressof(attributes))
        for target, limit, kind in zip(targets, limits, kinds, strict=True):
            value = c.MEM_RANGE_INVALID_DEVICE_ID
            if kind == c.MEM_RANGE_ATTR_READ_MOSTLY:
                value = int(c.READ_MOSTLY in given)
            elif kind == c.MEM_RANGE_ATTR_PREFERRED_LOC and c.PREFER_LOCATION in given:
                value = given[c.PREFER_LOCATION][1]
            image = (value & 0xFFFFFFFF).to_bytes(4, "little")[:limit]
            self.machine.memory.write(target, image, "halMemManagedRangeGetAttributes to")
        return 0

    # -- pools --------------------------------------------------------------------------------------------------------

    def halMemPoolCreate(self, pool: Any, prop: Any) -> int:
        """Take note of a pool over reserved addresses."""
        if self.device(pool.devId) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if pool.poolId in self._pools or not prop.maxSize or prop.maxSize % HUGE or not prop.va:
            return c.DRV_ERROR_INVALID_VALUE
        store = self.machine.memory.open_file(pool.devId, f"npuhal-fake-pool{pool.devId}", prop.maxSize)
        self._pools[pool.poolId] = _MemoryPool(pool.devId, prop.va, prop.maxSize, store)
        return 0

    def halMemPoolDestroy(self, pool: Any) -> int:
        """Give up a pool and all memory behind it."""
        if pool.poolId not in self._pools:
            return c.DRV_ERROR_INVALID_VALUE
        self._destroy(pool.poolId)
        return 0

    def _destroy(self, number: int) -> None:
        pool = self._pools.pop(number)
        self._change(pool, pool.address, pool.size, taken=False)
        self.machine.memory.close_file(pool.bytes)

    def halMemPoolAsyncConfig(self, pool: Any, va: int, size: int, flag: int) -> int:
        """Put memory behind a part of the range, or take it away; what is in use on both sides becomes one piece."""
        found = self._pools.get(pool.poolId)
        if found is None or not size or not found.address <= va <= va + size <= found.address + found.size:
            return c.DRV_ERROR_INVALID_VALUE
        if not self._change(found, va, size, taken=bool(flag)):
            self.machine.problem(f"halMemPoolAsyncConfig of {size} bytes: the huge pages of the card are used up")
            return c.DRV_ERROR_OUT_OF_MEMORY
        return 0

    def _change(self, pool: _MemoryPool, va: int, size: int, *, taken: bool) -> bool:
        """Replace the runs that touch a range by those that there are afterwards; False when memory is short."""
        end, memory = va + size, self.machine.memory
        near = [run for run in pool.runs if run.base <= end and va <= run.base + run.size]
        used = sum(min(run.base + run.size, end) - max(run.base, va) for run in near)
        if taken:
            spans = [(min([va, *(run.base for run in near)]), max([end, *(run.base + run.size for run in near)]))]
        else:
            spans = [span for run in near for span in ((run.base, va), (end, run.base + run.size)) if span[0] < span[1]]
        if not memory.charge(pool.device, PageKind.HUGE, size - used if taken else -used):
            return False
        for run in near:
            memory.free(run.base)
            pool.runs.remove(run)
        if not taken:
            pool.bytes.drop(va - pool.address, size)
        pool.runs += [memory.map_file(pool.device, start, stop - start, pool.bytes, start - pool.address)
                      for start, stop in spans]  # fmt: skip
        return True

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
        given = self.machine.memory.read(value, 8, "halMemPoolSetAttr from")
        self._values[pool.poolId, attr] = int.from_bytes(given, "little")
        return 0

    def halMemPoolGetAttr(self, pool: Any, attr: int, value: Any) -> int:
        """Return an attribute that was stored, or 0."""
        if pool.poolId not in self._pools or not value:
            return c.DRV_ERROR_INVALID_VALUE
        stored = self._values.get((pool.poolId, attr), 0)
        self.machine.memory.write(value, stored.to_bytes(8, "little"), "halMemPoolGetAttr to")
        return 0
