"""HAL chapter "memory": allocation, attributes, features and repair (hal_semantics 7)."""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

from fakes.errors import OutOfDeviceMemory
from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Block, Kind, Pool
from npuhal import constants as c
from npuhal import structs as s

_KIND_SHIFT, _KIND_MASK = c.MEM_VIRT_BIT, (1 << c.MEM_VIRT_WIDTH) - 1
_HOST_KINDS = (c.MEM_HOST_VAL, c.MEM_HOST_UVA_VAL)
_NOT_ON_V2 = c.MEM_READONLY | c.MEM_ADVISE_TS | c.MEM_ADVISE_4G
_CONTIGUOUS_LIMIT = 4 << 20
_BAR_FEATURES = c.CTRL_SUPPORT_PCIE_BAR_MEM_MASK | c.CTRL_SUPPORT_PCIE_BAR_HUGE_MEM_MASK


class MemoryCalls(Chapter):
    """Functions of ascend_hal_base.h that allocate memory and tell about it."""

    # -- allocation ---------------------------------------------------------------------------------------------------

    def halMemAlloc(self, pp: Any, size: int, flag: int) -> int:
        """Allocate device or pinned host memory as the flag's bits say."""
        if pp is None or size == 0:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(flag & c.MEM_DEVID_MASK)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        kind = flag >> _KIND_SHIFT & _KIND_MASK
        if kind not in (c.MEM_DEV_VAL, c.MEM_HOST_VAL, c.MEM_DVPP_VAL, c.MEM_SVM_VAL, c.MEM_HOST_AGENT_VAL,
                        c.MEM_RESERVE_VAL, c.MEM_HOST_UVA_VAL, c.MEM_UVM_VAL):  # fmt: skip
            return c.DRV_ERROR_NOT_SUPPORT
        old = self.machine.plugin.name == "v100"
        modelled = (*_HOST_KINDS, c.MEM_DEV_VAL, c.MEM_DVPP_VAL, *([c.MEM_UVM_VAL] if old else []))
        if kind not in modelled or (not old and flag & _NOT_ON_V2):
            return c.DRV_ERROR_NOT_SUPPORT
        if not device.opened:
            return c.DRV_ERROR_INVALID_HANDLE
        huge = bool(flag & c.MEM_PAGE_HUGE)
        if flag & c.MEM_CONTIGUOUS_PHY and size > _CONTIGUOUS_LIMIT and not huge:
            return c.DRV_ERROR_INVALID_VALUE
        limit = self.machine.faults.out_of_memory_from
        if limit is not None and kind not in _HOST_KINDS and size >= limit:
            return c.DRV_ERROR_OUT_OF_MEMORY
        try:
            if kind in _HOST_KINDS:
                block = self.machine.memory.allocate_host(size, device=device.index, flags=flag)
            else:
                pool = Pool.GIANT if flag & c.MEM_PAGE_GIANT else Pool.HUGE if huge else Pool.NORMAL
                shared = kind == c.MEM_UVM_VAL or self._bar_mapped(flag)
                block = self.machine.memory.allocate_device(
                    device.index, size, pool, flags=flag, host_access=shared
                )
        except OutOfDeviceMemory as full:
            self.machine.problem(f"halMemAlloc of {size} bytes: {full}")
            return c.DRV_ERROR_OUT_OF_MEMORY
        pp.value = block.base
        return 0

    def _bar_mapped(self, flag: int) -> bool:
        """With `args=bar` the host may write device memory through its address, as over a BAR that covers it."""
        return self.machine.options.args == "bar" or bool(flag & c.MEM_ADVISE_BAR)

    def halMemFree(self, address: int) -> int:
        """Free a block by its first address."""
        block = self.machine.memory.find(address)
        if block is None or block.base != address or block.kind not in (Kind.DEVICE, Kind.HOST):
            return c.DRV_ERROR_INVALID_VALUE if self.machine.plugin.name == "v100" else c.DRV_ERROR_NOT_EXIST
        if block.users or self.machine.imported_elsewhere(block):
            return c.DRV_ERROR_BUSY
        self.machine.memory.free(address)
        return 0

    def halMemAdvise(self, address: int, count: int, advice: int, devid: int) -> int:
        """Take advice about a block."""
        if not address or not count or self.device(devid) is None or not 0 <= advice < c.ADVISE_TYPE_MAX:
            return c.DRV_ERROR_INVALID_VALUE
        return 0

    # -- questions ----------------------------------------------------------------------------------------------------

    def drvMemGetAttribute(self, address: int, attribute: Any) -> int:
        """Say what an address is."""
        if not address or attribute is None:
            return c.DRV_ERROR_INVALID_VALUE
        memory = self.machine.memory
        block = memory.find(address)
        if block is None:
            if memory.owns(address):
                return c.DRV_ERROR_NOT_EXIST
            attribute.memType, attribute.devId, attribute.pageSize = c.DV_MEM_USER_MALLOC, 0, memory.page
            return 0
        attribute.memType = _attribute(block)
        attribute.devId = block.device
        attribute.pageSize = block.page
        return 0

    def halMemGetInfo(self, devid: int, kind: int, info: Any) -> int:
        """Return totals and what is left, normal, huge and giant pages apart."""
        device = self.device(devid)
        if device is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind == c.MEM_INFO_TYPE_ADDR_CHECK:
            return self._check_addresses(devid, info.addr_info)
        budgets = self.machine.memory.budgets[devid]
        phy = info.phy_info
        if kind in (c.MEM_INFO_TYPE_HBM_SIZE, c.MEM_INFO_TYPE_HBM_P2P_SIZE):
            phy.total, phy.free = budgets[Pool.NORMAL].total, budgets[Pool.NORMAL].free
            phy.huge_total, phy.huge_free = budgets[Pool.HUGE].total, budgets[Pool.HUGE].free
            phy.giant_total, phy.giant_free = budgets[Pool.GIANT].total, budgets[Pool.GIANT].free
            return 0
        if kind in (c.MEM_INFO_TYPE_DDR_SIZE, c.MEM_INFO_TYPE_DDR_P2P_SIZE):
            ctypes.memset(ctypes.addressof(phy), 0, ctypes.sizeof(phy))
            return 0
        return c.DRV_ERROR_NOT_SUPPORT

    def halGetMemUsageInfo(self, devid: int, rows: Any, room: int, count: Any) -> int:
        """List the components that have or had memory of a card, with bytes now and at most; the largest first."""
        if self.device(devid) is None or rows is None or count is None or not room:
            return c.DRV_ERROR_INVALID_VALUE
        usage = self.machine.memory.usage[devid]
        modules = sorted(usage, key=lambda module: (-usage[module].used, module))[:room]
        entries = (type(rows) * max(len(modules), 1)).from_address(ctypes.addressof(rows))
        for entry, module in zip(entries, modules, strict=False):
            entry.name = _module_names().get(module, "UNKNOWN").encode()[:31]
            entry.cur_mem_size, entry.mem_peak_size = usage[module].used, usage[module].peak
        count.value = len(modules)
        return 0

    def _check_addresses(self, devid: int, info: Any) -> int:
        """Check up to 1024 addresses: each must be memory of the device."""
        if not info.addr or not 0 < info.cnt <= 1024:
            return c.DRV_ERROR_INVALID_VALUE
        listed = self.machine.memory.read(info.addr, 8 * info.cnt, "halMemGetInfo from")
        for (address,) in struct.iter_unpack("<Q", listed):
            block = self.machine.memory.find(address)
            if block is None or block.device != devid:
                return c.DRV_ERROR_INVALID_VALUE
        return 0

    def drvMemAddressTranslate(self, address: int, physical: Any) -> int:
        """Return the physical address of device memory; the 950 family does not have it."""
        if self.machine.plugin.name != "v100":
            return c.DRV_ERROR_NOT_SUPPORT
        block = self.machine.memory.find(address)
        if block is None or physical is None or block.kind is not Kind.DEVICE:
            return c.DRV_ERROR_INVALID_VALUE
        physical.value = self.machine.physical(address, block.device)
        return 0

    def drvMemSmmuQuery(self, devid: int, ssid: Any) -> int:
        """Return the sub-stream id of the device process."""
        device = self.device(devid)
        if device is None or ssid is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not device.opened:
            return c.DRV_ERROR_INVALID_HANDLE
        ssid.value = device.identity.ssid
        return 0

    def halMemCtl(self, kind: int, param: int, size: int, out: int, out_size: Any) -> int:
        """Features of the memory driver, and windows onto device registers."""
        if kind == c.CTRL_TYPE_SUPPORT_FEATURE:
            if not param or size != 16 or not out:
                return c.DRV_ERROR_INVALID_VALUE
            memory = self.machine.memory
            asked = int.from_bytes(memory.read(param, 8, "halMemCtl from"), "little")
            memory.write(out, (asked & self._features()).to_bytes(8, "little"), "halMemCtl to")
            if out_size is not None:
                out_size.value = 8
            return 0
        if kind == c.CTRL_TYPE_ADDR_MAP:
            return self._map_registers(param, size, out, out_size)
        if kind == c.CTRL_TYPE_MEM_REPAIR:
            return self._repair(param, size)
        if kind == c.CTRL_TYPE_ADDR_UNMAP:
            return self._unmap_registers(param, size)
        if kind in (c.CTRL_TYPE_GET_DCACHE_ADDR, c.CTRL_TYPE_PROCESS_CP_MMAP, c.CTRL_TYPE_PROCESS_CP_MUNMAP):
            return c.DRV_ERROR_NOT_SUPPORT
        return c.DRV_ERROR_NOT_SUPPORT if kind >= 0 else c.DRV_ERROR_INVALID_VALUE

    def _repair(self, param: int, size: int) -> int:
        """Replace pages that have failed (MemRepairInPara): they work again, and hold zeros."""
        if not param or size != ctypes.sizeof(s.MemRepairInPara):
            return c.DRV_ERROR_INVALID_VALUE
        asked = s.MemRepairInPara.from_buffer_copy(self.machine.memory.read(param, size, "halMemCtl from"))
        device = self.device(asked.devid)
        rows = [(row.ptr, row.len) for row in asked.repairAddrs[: min(asked.count, c.MEM_REPAIR_MAX_CNT)]]
        if device is None or not set(rows) <= set(device.failed_memory):
            return c.DRV_ERROR_INVALID_VALUE
        for address, length in rows:
            ctypes.memset(self.machine.memory.pointer(address, length, "repair of"), 0, length)
        device.failed_memory[:] = [row for row in device.failed_memory if row not in rows]
        return 0

    def _features(self) -> int:
        features = c.CTRL_SUPPORT_GIANT_PAGE_MASK | c.CTRL_SUPPORT_DEV_MEM_REGISTER_MASK
        return features | _BAR_FEATURES if self.machine.options.args == "bar" else features

    def _map_registers(self, param: int, size: int, out: int, out_size: Any) -> int:
        """Give a register block of the cores an address in device memory (AddrMapInPara, AddrMapOutPara)."""
        if not param or size != 8 or not out:
            return c.DRV_ERROR_INVALID_VALUE
        kind, devid = struct.unpack("<II", self.machine.memory.read(param, 8, "halMemCtl from"))
        device = self.device(devid)
        if device is None or not 0 <= kind < c.ADDR_MAP_TYPE_MAX:
            return c.DRV_ERROR_INVALID_VALUE
        block = self.machine.memory.allocate_device(devid, 4096)
        block.label = f"registers {kind}"
        self.machine.memory.write(out, struct.pack("<QQ", block.base, block.size), "halMemCtl to")
        if out_size is not None:
            out_size.value = 16
        return 0

    def _unmap_registers(self, param: int, size: int) -> int:
        if not param or size != 24:
            return c.DRV_ERROR_INVALID_VALUE
        _, address, _ = struct.unpack("<QQQ", self.machine.memory.read(param, size, "halMemCtl from"))
        self.machine.memory.free(address)
        return 0

@cache
def _module_names() -> dict[int, str]:
    """Names of the components by module id, as the enumerators spell them."""
    ending = "_MODULE_ID"
    return {int(getattr(c, name)): name.removesuffix(ending) for name in c.names() if name.endswith(ending)}


def _attribute(block: Block) -> int:
    """Return the DV_MEM_* class of a block."""
    if block.kind is Kind.DEVICE:
        kind = block.flags >> _KIND_SHIFT & _KIND_MASK
        return {c.MEM_DVPP_VAL: c.DV_MEM_LOCK_DEV_DVPP, c.MEM_UVM_VAL: c.DV_MEM_UVM}.get(kind, c.DV_MEM_LOCK_DEV)
    return c.DV_MEM_USER_REGISTER if block.kind is Kind.REGISTERED else c.DV_MEM_LOCK_HOST
