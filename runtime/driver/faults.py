"""Faults that a device has reported of itself, and repair of memory that has failed beyond correction.

Source: ascend_hal_base.h, struct halFaultEventInfo and MemRepairInPara.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls

_MOST_EVENTS = 128
"""More than the driver lists at once."""

_ADDRESSES = 34
"""Item of MODULE_TYPE_MEMORY: the virtual addresses that errors beyond correction have hit."""
MOST_RANGES = c.MEM_REPAIR_MAX_CNT
"""Most ranges that the driver lists, and that one repair takes."""


@dataclass(frozen=True, slots=True)
class ReportedFault:
    """One fault that is active on a device: its number and name, and how bad it is (0 is the mildest)."""

    event_id: int
    name: str
    severity: int


class FaultDriver(HalCalls):
    """The fault chapter of the HAL for one device."""

    def active(self) -> tuple[ReportedFault, ...]:
        """Return the faults that the device has now; none where the driver keeps no list."""
        if not self.hal.has("halGetFaultEvent"):
            return ()
        events = (s.halFaultEventInfo * _MOST_EVENTS)()
        count = ctypes.c_uint32(0)
        rc = self.hal.halGetFaultEvent(
            self.device_id, ctypes.byref(s.halEventFilter()), ctypes.byref(events[0]), _MOST_EVENTS, ctypes.byref(count)
        )
        if rc == c.DRV_ERROR_NOT_SUPPORT:
            return ()
        self.check(rc, "halGetFaultEvent", f"device {self.device_id}")
        return tuple(
            ReportedFault(event.event_id, event.event_name.decode("utf-8", "replace"), event.severity)
            for event in events[: count.value]
        )


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
        return [(row.ptr, row.len) for row in block.repairAddrs[: min(block.count, MOST_RANGES)]]

    def repair(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Repair ranges, at most MOST_RANGES of them: their pages are replaced, their contents are lost."""
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
        if rc == c.DRV_ERROR_NOT_SUPPORT:
            reason = "the driver does not write the second-level cache back"
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", reason, ee="EE1015", params=("aclrtDeviceL2CacheFlush", reason)
            )
        self.check(rc, "halSetDeviceInfoByBuff", f"second-level cache of device {self.device_id}")
