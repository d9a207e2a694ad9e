"""HAL chapter "queues": the reports by which a card asks the host to call functions (hal_semantics 4.8)."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.traits import CompletionKind
from fakes.hal.chapter import Chapter
from fakes.schedule.scheduler import POLL
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.lent import Lent
    from fakes.machine.ports import Machine

_MOST_REPORTS = 256 // 12
"""Reports that the library hands out at a time: it stages 256 bytes."""


class CallbackCalls(Chapter):
    """Functions of ascend_hal_base.h that receive host callbacks."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._given: dict[int, Lent] = {}
        self._reports = machine.chip.traits.completion is CompletionKind.REPORTS
        """Whether commands are reported in the CQ of their queues, which is read in these steps too."""

    @staticmethod
    def _reported(device: Device) -> bool:
        """Let the card work; tells whether it has reported something."""
        device.turn(POLL)
        return bool(device.commands.reports)

    def halCqReportIrqWait(self, devid: int, in_: Any, out: Any) -> int:
        """Wait until a callback CQ of a group has something; its bit is set in the bitmap."""
        device = self.device(devid)
        if device is not None and in_ is not None and in_.type == c.DRV_NORMAL_TYPE and self._reports:
            return 0 if self.wait_for(in_.timeout, partial(self._reported, device)) else c.DRV_ERROR_WAIT_TIMEOUT
        if device is None or in_ is None or out is None or in_.type != c.DRV_CALLBACK_TYPE or not out.cqIdBitmap:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.checks is not None:
            self.machine.checks.listens()
        size = out.cqIdBitmapSize
        ctypes.memset(out.cqIdBitmap, 0, size)

        def ready() -> bool:
            device.turn(POLL)
            numbers = [cq for cq, group in device.callback_groups.items()
                       if group == in_.grpId and device.callbacks.get(cq) and cq < size * 8]  # fmt: skip
            for number in numbers:
                byte = ctypes.c_uint8.from_address(out.cqIdBitmap + number // 8)
                byte.value |= 1 << number % 8
            return bool(numbers)

        return 0 if self.wait_for(in_.timeout, ready) else c.DRV_ERROR_WAIT_TIMEOUT

    def halCqReportGet(self, devid: int, in_: Any, out: Any) -> int:
        """Return where the reports of a callback CQ lie; they stay until halReportRelease."""
        device = self.device(devid)
        if device is None or in_ is None or out is None:
            return c.DRV_ERROR_INVALID_VALUE
        if in_.type == c.DRV_NORMAL_TYPE and self._reports:
            return self._lend_reports(device, out)
        if in_.cqId not in device.callback_groups:
            return c.DRV_ERROR_INVALID_VALUE
        waiting = device.callbacks.get(in_.cqId) or ()
        if self.machine.checks is not None:
            self.machine.checks.heard(device, c.DRV_CALLBACK_TYPE, in_.cqId)
        data = b"".join(waiting)
        if (before := self._given.pop(in_.cqId, None)) is not None:
            before.close()
        lent = self._given[in_.cqId] = self.machine.memory.lend(data)
        out.count, out.reportPtr = len(waiting), lent.address
        return 0

    def _lend_reports(self, device: Device, out: Any) -> int:
        """Say where the first reports about commands lie."""
        commands = device.commands
        first = list(commands.reports)[:_MOST_REPORTS]
        commands.given = self.machine.memory.lend(b"".join(first))
        for sq in device.queues.values() if len(first) == len(commands.reports) else ():
            device.observe(sq)
            if self.machine.checks is not None:
                self.machine.checks.looked(sq)
        out.count, out.reportPtr = len(first), commands.given.address
        return 0

    def halReportRelease(self, devid: int, info: Any) -> int:
        """Give reports back, as many as halCqReportGet counted or fewer."""
        device = self.device(devid)
        if device is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if info.type == c.DRV_NORMAL_TYPE and self._reports:
            if device.commands.given is None or info.count > len(device.commands.reports):
                return c.DRV_ERROR_INVALID_VALUE
            for _ in range(info.count):
                device.commands.reports.popleft()
            device.commands.given.close()
            device.commands.given = None
            return 0
        waiting = device.callbacks.get(info.cqId)
        if waiting is None or info.count > len(waiting) or info.cqId not in self._given:
            return c.DRV_ERROR_INVALID_VALUE
        for _ in range(info.count):
            waiting.popleft()
        self._given.pop(info.cqId).close()
        return 0
