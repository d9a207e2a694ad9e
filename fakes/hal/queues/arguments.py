"""HAL chapter "queues": kernel arguments copied over UB, and the segments that such a copy names."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.hal.chapter import Chapter
from fakes.machine.driver import QUEUE_NUMBERS, SCHEDULERS
from npuhal import constants as c
from npuhal import structs

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

_LOCAL = 1


class ArgumentCalls(Chapter):
    """Functions of ascend_hal_base.h and trs_pkg.h that exist where a UB link joins host and card."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._segments: dict[int, tuple[int, int, int]] = {}
        """Card, first address and size, by the number that callers see as a pointer."""
        machine.on_leave.append(self._forget)

    def _forget(self, devid: int) -> None:
        self._segments = {number: row for number, row in self._segments.items() if row[0] != devid}

    def halGetTsegInfoByVa(self, devid: int, va: int, size: int, flag: int, info: Any) -> int:
        """Return the segment of a block; flag 1 is for host memory, 0 for the card's."""
        if not 0 <= devid < QUEUE_NUMBERS or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.options.args != "ub":
            return c.DRV_ERROR_NOT_SUPPORT
        if self.device(devid) is None or not size or flag not in (0, _LOCAL):
            return c.DRV_ERROR_INVALID_VALUE
        try:
            self.machine.memory.pointer(va, size, "halGetTsegInfoByVa of")
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        number = max(self._segments, default=0) + 1
        self._segments[number] = (devid, va, size)
        info.tseg_local_flag, info.tseg_ptr = flag, number
        return 0

    def halPutTsegInfo(self, devid: int, info: Any) -> int:
        """Give a segment back."""
        if not 0 <= devid < QUEUE_NUMBERS or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.options.args != "ub":
            return c.DRV_ERROR_NOT_SUPPORT
        if self._segments.get(info.tseg_ptr or 0, (-1,))[0] != devid:
            return c.DRV_ERROR_INVALID_VALUE
        del self._segments[info.tseg_ptr]
        return 0

    def halSqTaskArgsAsyncCopy(self, devid: int, info: Any) -> int:
        """Copy kernel arguments ahead of the tasks of a queue; each side must lie in the segment named for it."""
        if not 0 <= devid < QUEUE_NUMBERS or info is None or info.tsId >= SCHEDULERS or info.type != c.DRV_NORMAL_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        if not info.src or not info.dst or not info.size:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.options.args != "ub":
            return c.DRV_ERROR_NOT_SUPPORT
        device = self.device(devid)
        if device is None or info.sqId not in device.queues:
            self.machine.problem(f"halSqTaskArgsAsyncCopy: device {devid} has no SQ {info.sqId}")
            return c.DRV_ERROR_INVALID_VALUE
        for address, pointer, side in ((info.src, info.srcTsegInfo, "source"), (info.dst, info.dstTsegInfo, "target")):
            number = structs.halTsegInfo.from_address(pointer).tseg_ptr if pointer else None
            _, first, size = self._segments.get(number or 0, (0, 0, 0))
            if not first <= address <= address + info.size <= first + size:
                self.machine.problem(f"halSqTaskArgsAsyncCopy: the {side} {address:#x} is not in its segment")
                return c.DRV_ERROR_INVALID_VALUE
        memory, what = self.machine.memory, "halSqTaskArgsAsyncCopy"
        try:
            target = memory.pointer(info.dst, info.size, f"{what} to", writes=True)
            ctypes.memmove(target, memory.pointer(info.src, info.size, f"{what} from"), info.size)
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        return 0
