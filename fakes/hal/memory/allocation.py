"""HAL chapter "memory": allocation and attributes (hal_semantics 7)."""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

from fakes.errors import OutOfDeviceMemory
from fakes.hal.chapter import Chapter
from fakes.hal.memory.refusals import HOST_KINDS, is_device_number, kind_of, refusal
from fakes.machine.blocks import GIANT, Allocation, Kind, PageKind
from fakes.machine.driver import MEMORY_CARDS
from npuhal import constants as c

_INFO_KINDS = (
    c.MEM_INFO_TYPE_DDR_SIZE, c.MEM_INFO_TYPE_HBM_SIZE, c.MEM_INFO_TYPE_DDR_P2P_SIZE, c.MEM_INFO_TYPE_HBM_P2P_SIZE,
    c.MEM_INFO_TYPE_ADDR_CHECK,
)  # fmt: skip
_DRIVER_RANGE = range(0x1000_0000_0000, 0x1800_0000_0000)
"""Addresses that the first driver keeps for itself, 8 TiB: what lies there and is not allocated does not exist."""


class MemoryCalls(Chapter):
    """Functions of ascend_hal_base.h that allocate memory and tell about it."""

    # -- allocation ---------------------------------------------------------------------------------------------------

    def halMemAlloc(self, pp: Any, size: int, flag: int) -> int:
        """Allocate device or pinned host memory as the flag's bits say.

        The first driver clears the pointer once it looks for an address; what it refuses before leaves it alone.
        """
        machine, first = self.machine, self.machine.driver.first
        if pp is None or (not first and size == 0):
            return c.DRV_ERROR_INVALID_VALUE
        code = refusal(first, flag, size)
        if code:
            return code
        if first:
            pp.value = None
        if not is_device_number(first, flag):
            return c.DRV_ERROR_INVALID_DEVICE
        if size == 0:
            return c.DRV_ERROR_INVALID_VALUE
        try:
            block = self._allocate(size, flag)
        except OutOfDeviceMemory as full:
            machine.problem(f"halMemAlloc of {size} bytes: {full}")
            return c.DRV_ERROR_OUT_OF_MEMORY
        if isinstance(block, int):
            return block
        pp.value = block.base
        return 0

    def _allocate(self, size: int, flag: int) -> Allocation | int:
        """Return a block, or the code for none."""
        machine = self.machine
        device = self.device(flag & c.MEM_DEVID_MASK)
        kind = kind_of(flag)
        if kind in HOST_KINDS:
            if not any(card.opened for card in machine.devices):
                return c.DRV_ERROR_INVALID_HANDLE
            return machine.memory.allocate_host(size, device=0 if device is None else device.index, flags=flag)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if not device.opened:
            return c.DRV_ERROR_INVALID_HANDLE
        limit = machine.faults.out_of_memory_from
        if limit is not None and size >= limit:
            return c.DRV_ERROR_OUT_OF_MEMORY
        huge = PageKind.HUGE if flag & c.MEM_PAGE_HUGE else PageKind.NORMAL
        pool = PageKind.GIANT if flag & c.MEM_PAGE_GIANT else huge
        shared = kind == c.MEM_UVM_VAL or self._bar_mapped(flag)
        return machine.memory.allocate_device(device.index, size, pool, flags=flag, host_access=shared)

    def _bar_mapped(self, flag: int) -> bool:
        """With `args=bar` the host may write device memory through its address, as over a BAR that covers it."""
        return self.machine.options.args == "bar" or bool(flag & c.MEM_ADVISE_BAR)

    def halMemFree(self, address: int) -> int:
        """Free a block by its first address; what is mapped at reserved addresses is not freed like that.

        Other processes that have it open do not hinder the call: its bytes last until they have closed it.
        """
        block = self.machine.memory.find(address)
        if block is None and address:
            return self.machine.driver.unknown_memory
        if block is None or block.base != address or block.alias or block.kind not in (Kind.DEVICE, Kind.HOST):
            return c.DRV_ERROR_INVALID_VALUE
        if block.users:
            return c.DRV_ERROR_BUSY
        self.machine.memory.free(address)
        return 0

    def halMemAdvise(self, address: int, count: int, advice: int, devid: int) -> int:
        """Take advice about a block."""
        if advice in (c.ADVISE_ACCESS_READONLY, c.ADVISE_ACCESS_READWRITE):
            return 0  # nobody looks at the rest
        if not self.machine.driver.first:
            return c.DRV_ERROR_NOT_SUPPORT
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
            if memory.owns(address) or (self.machine.driver.first and address in _DRIVER_RANGE):
                return c.DRV_ERROR_NOT_EXIST
            ordinary = c.DV_MEM_USER_MALLOC if self.machine.tells_user_memory else c.DV_MEM_LOCK_HOST
            attribute.memType, attribute.devId, attribute.pageSize = ordinary, 0, memory.page
            return 0
        attribute.memType = _attribute(block)
        attribute.devId = block.device
        attribute.pageSize = block.page
        return 0

    def halMemGetInfo(self, devid: int, kind: int, info: Any) -> int:
        """Return totals and what is left: normal pages, and huge ones, of which giant ones are made."""
        if not 0 <= devid < MEMORY_CARDS or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind not in _INFO_KINDS:
            return c.DRV_ERROR_NOT_SUPPORT
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if kind == c.MEM_INFO_TYPE_ADDR_CHECK:
            return self._check_addresses(devid, info.addr_info)
        budgets = self.machine.memory.budgets[devid]
        phy = info.phy_info
        if kind in (c.MEM_INFO_TYPE_HBM_SIZE, c.MEM_INFO_TYPE_HBM_P2P_SIZE):
            normal, huge = budgets[PageKind.NORMAL], budgets[PageKind.HUGE]
            phy.total, phy.free, phy.huge_total, phy.huge_free = normal.total, normal.free, huge.total, huge.free
            phy.giant_total, phy.giant_free = huge.total // GIANT * GIANT, huge.free // GIANT * GIANT
            return 0
        ctypes.memset(ctypes.addressof(phy), 0, ctypes.sizeof(phy))  # there is no memory of the other kind
        return 0

    def halGetMemUsageInfo(self, devid: int, rows: Any, most: int, count: Any) -> int:
        """List the components that have or had memory of a card, with bytes now and at most; the largest first."""
        if self.device(devid) is None or rows is None or count is None or not most:
            return c.DRV_ERROR_INVALID_VALUE
        usage = self.machine.memory.usage[devid]
        modules = sorted(usage, key=lambda module: (-usage[module].used, module))[:most]
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
        if not self.machine.driver.first:
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


@cache
def _module_names() -> dict[int, str]:
    """Names of the components by module id, as the enumerators spell them."""
    ending = "_MODULE_ID"
    return {int(getattr(c, name)): name.removesuffix(ending) for name in c.names() if name.endswith(ending)}


def _attribute(block: Allocation) -> int:
    """Return the DV_MEM_* class of a block."""
    if block.kind is Kind.DEVICE:
        kind = kind_of(block.flags)
        return {c.MEM_DVPP_VAL: c.DV_MEM_LOCK_DEV_DVPP, c.MEM_UVM_VAL: c.DV_MEM_UVM}.get(kind, c.DV_MEM_LOCK_DEV)
    return c.DV_MEM_USER_REGISTER if block.kind is Kind.REGISTERED else c.DV_MEM_LOCK_HOST
