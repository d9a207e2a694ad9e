"""Memory that has failed beyond correction, and its repair; what is cached of memory (memory and info chapters)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls

_ADDRESSES = 34
"""Item of MODULE_TYPE_MEMORY: the virtual addresses that errors beyond correction have hit."""
MOST = c.MEM_REPAIR_MAX_CNT
"""Most ranges that the driver lists, and that one repair takes."""


class RepairDriver(HalCalls):
    """What a device knows of its failed memory. Answered as struct MemRepairInPara."""

    def failed(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of the ranges that errors beyond correction have hit."""
        block = s.MemRepairInPara()
        size = ctypes.c_int32(ctypes.sizeof(block))
        rc = self.hal.halGetDeviceInfoByBuff(
            self.device_id, c.MODULE_TYPE_MEMORY, _ADDRESSES, ctypes.addressof(block), ctypes.byref(size)
        )
        self.check(rc, "halGetDeviceInfoByBuff", f"failed memory of device {self.device_id}")
        return [(row.ptr, row.len) for row in block.repairAddrs[: min(block.count, MOST)]]

    def repair(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Repair ranges, at most MOST of them: their pages are replaced, their contents are lost."""
        block = s.MemRepairInPara(devid=self.device_id, count=len(ranges))
        for row, (address, size) in zip(block.repairAddrs, ranges, strict=False):
            row.ptr, row.len = address, size
        rc = self.hal.halMemCtl(
            c.CTRL_TYPE_MEM_REPAIR, ctypes.addressof(block), ctypes.sizeof(block), None, None
        )
        self.check(rc, "halMemCtl", f"repair of {len(ranges)} ranges of device {self.device_id}")

    def flush_l2(self) -> None:
        """Write back what the device's second-level cache holds."""
        kind = ctypes.c_int32(c.DRV_L2BUFF_CLEAN_CSP)
        rc = self.hal.halSetDeviceInfoByBuff(
            self.device_id, c.MODULE_TYPE_L2BUFF, c.INFO_TYPE_L2BUFF_INVALID_CACHE, ctypes.addressof(kind),
            ctypes.sizeof(kind),
        )
        self.check(rc, "halSetDeviceInfoByBuff", f"second-level cache of device {self.device_id}")
