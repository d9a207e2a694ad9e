"""HAL chapter "memory control": halMemCtl, by which the memory manager is asked for what has no function of its own."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.hal.memory.refusals import module_of
from fakes.machine.driver import MEMORY_CARDS
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

_BAR_FEATURES = c.CTRL_SUPPORT_PCIE_BAR_MEM_MASK | c.CTRL_SUPPORT_PCIE_BAR_HUGE_MEM_MASK
_NO_MODULE = 0xFF
"""The module id of an address that no component has asked for."""
_FIRST_ONLY = (
    c.CTRL_TYPE_ADDR_MAP, c.CTRL_TYPE_ADDR_UNMAP, c.CTRL_TYPE_GET_DOUBLE_PGTABLE_OFFSET, c.CTRL_TYPE_PROCESS_CP_MMAP,
    c.CTRL_TYPE_PROCESS_CP_MUNMAP, c.CTRL_TYPE_GET_DCACHE_ADDR,
)  # fmt: skip


class ControlCalls(Chapter):
    """The function of ascend_hal_base.h that has many meanings."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._handlers = {
            c.CTRL_TYPE_ADDR_MAP: self._map_registers,
            c.CTRL_TYPE_ADDR_UNMAP: self._unmap_registers,
            c.CTRL_TYPE_SUPPORT_FEATURE: self._supported,
            c.CTRL_TYPE_GET_DOUBLE_PGTABLE_OFFSET: self._table_offset,
            c.CTRL_TYPE_MEM_REPAIR: self._repair,
            c.CTRL_TYPE_GET_ADDR_MODULE_ID: self._module,
            c.CTRL_TYPE_PROCESS_CP_MMAP: self._map_for_process,
            c.CTRL_TYPE_PROCESS_CP_MUNMAP: self._unmap_for_process,
            c.CTRL_TYPE_GET_DCACHE_ADDR: self._data_cache,
        }

    def halMemCtl(self, kind: int, param: int, size: int, out: int, out_size: Any) -> int:
        """Features of the memory driver, windows onto device registers, repair, and whose an address is."""
        handler = self._handlers.get(kind)
        if handler is None or (kind in _FIRST_ONLY and not self._knows(kind)):
            return c.DRV_ERROR_NOT_SUPPORT
        return handler(param, size, out, out_size)

    def _knows(self, kind: int) -> bool:
        """The later driver maps no registers; the fake does for it, as runtimes of before ask for them."""
        return self.machine.driver.first or kind in (c.CTRL_TYPE_ADDR_MAP, c.CTRL_TYPE_ADDR_UNMAP)

    def _take(self, address: int, size: int) -> bytes:
        return self.machine.memory.read(address, size, "halMemCtl from")

    def _answer(self, address: int, data: bytes, out_size: Any) -> int:
        self.machine.memory.write(address, data, "halMemCtl to")
        if out_size is not None:
            out_size.value = len(data)
        return 0

    def _supported(self, param: int, _size: int, out: int, out_size: Any) -> int:
        if not param or not out:
            return c.DRV_ERROR_INVALID_VALUE
        (asked,) = struct.unpack("<Q", self._take(param, 8))
        return self._answer(out, struct.pack("<Q", asked & self._features()), out_size)

    def _features(self) -> int:
        features = c.CTRL_SUPPORT_GIANT_PAGE_MASK | c.CTRL_SUPPORT_DEV_MEM_REGISTER_MASK
        return features | _BAR_FEATURES if self.machine.options.args == "bar" else features

    def _table_offset(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Return how far the second page table of a card lies from the first: there is one."""
        if not param or not out or out_size is None or size != 4:
            return c.DRV_ERROR_INVALID_VALUE
        (devid,) = struct.unpack("<I", self._take(param, size))
        return c.DRV_ERROR_INVALID_VALUE if devid >= MEMORY_CARDS else self._answer(out, bytes(8), out_size)

    def _module(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Return the number of the component that an address was allocated for."""
        if not param or not out or out_size is None or size != 8:
            return c.DRV_ERROR_INVALID_VALUE
        (address,) = struct.unpack("<Q", self._take(param, size))
        block = self.machine.memory.find(address)
        return self._answer(out, struct.pack("<I", _NO_MODULE if block is None else module_of(block.flags)), out_size)

    def _map_for_process(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Map for a process on the device: there are none that a host maps for."""
        wrong = not param or not out or out_size is None or size != ctypes.sizeof(s.ProcessCpMmap)
        return c.DRV_ERROR_INVALID_VALUE if wrong else c.DRV_ERROR_NOT_SUPPORT

    def _unmap_for_process(self, param: int, size: int, out: int, out_size: Any) -> int:
        wrong = not param or out or out_size is not None or size != ctypes.sizeof(s.ProcessCpMunmap)
        return c.DRV_ERROR_INVALID_VALUE if wrong else c.DRV_ERROR_NOT_SUPPORT

    def _data_cache(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Return the addresses that are set aside for the data cache of the cores: none."""
        wrong = param or size or not out or out_size is None
        return c.DRV_ERROR_INVALID_VALUE if wrong else c.DRV_ERROR_NOT_SUPPORT

    def _repair(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Replace pages that have failed (MemRepairInPara): they work again, and hold zeros."""
        if not param or size != ctypes.sizeof(s.MemRepairInPara):
            return c.DRV_ERROR_INVALID_VALUE
        if out or out_size is not None:
            return c.DRV_ERROR_NOT_SUPPORT
        asked = s.MemRepairInPara.from_buffer_copy(self._take(param, size))
        device = self.device(asked.devid)
        if device is None or not 0 < asked.count <= c.MEM_REPAIR_MAX_CNT:
            return c.DRV_ERROR_INVALID_VALUE
        rows = [(row.ptr, row.len) for row in asked.repairAddrs[: asked.count]]
        if not set(rows) <= set(device.failed_memory):
            return c.DRV_ERROR_INVALID_VALUE
        for address, length in rows:
            ctypes.memset(self.machine.memory.pointer(address, length, "repair of", writes=True), 0, length)
        device.failed_memory[:] = [row for row in device.failed_memory if row not in rows]
        return 0

    def _map_registers(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Give a register block of the cores an address in device memory (AddrMapInPara, AddrMapOutPara)."""
        if not param or size != 8 or not out:
            return c.DRV_ERROR_INVALID_VALUE
        kind, devid = struct.unpack("<II", self._take(param, size))
        device = self.device(devid)
        if device is None or not 0 <= kind < c.ADDR_MAP_TYPE_MAX:
            return c.DRV_ERROR_INVALID_VALUE
        block = self.machine.memory.allocate_device(devid, 4096)
        block.label = f"registers {kind}"
        return self._answer(out, struct.pack("<QQ", block.base, block.size), out_size)

    def _unmap_registers(self, param: int, size: int, _out: int, _out_size: Any) -> int:
        if not param or size != 24:
            return c.DRV_ERROR_INVALID_VALUE
        _, address, _ = struct.unpack("<QQQ", self._take(param, size))
        self.machine.memory.free(address)
        return 0
