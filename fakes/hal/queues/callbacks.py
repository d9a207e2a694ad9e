"""HAL chapter "queues": the reports by which a card asks the host to call functions (hal_semantics 4.8)."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.traits import CompletionKind
from fakes.hal.chapter import Chapter
from fakes.schedule.scheduler import POLL, SEND, WAIT
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine

_MOST_REPORTS = 256 // 12
"""Reports that the library hands out at a time: it stages 256 bytes."""


GROUPS = 1024
"""Groups of threads that take requests of a card: events of the scheduler in the host's kernel."""
_WORD_BITS = 64
"""Bits of an element of the bitmap of queues, whose size counts elements."""


def await_call(chapter: Chapter, device: Device, group: int, timeout: int) -> bytes | int:
    """Wait for a request to a group, at most `timeout` ms (0: look once; negative: for ever); or return a code."""
    if not 0 <= group < GROUPS:
        return c.DRV_ERROR_PARA_ERROR
    calls = device.host_calls
    waiting, frees = calls.waiting(group), calls.frees(group)
    reports = chapter.await_reports(
        device, timeout, partial(device.turn, WAIT if timeout else SEND),
        lambda: [waiting.popleft()] if waiting else [], lambda: calls.frees(group) != frees, c.DRV_ERROR_WAIT_TIMEOUT,
    )  # fmt: skip
    return reports if isinstance(reports, int) else reports[0] if reports else c.DRV_ERROR_NO_EVENT


class CallbackCalls(Chapter):
    """Functions of ascend_hal_base.h that receive host callbacks."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._reports = machine.chip.traits.completion is CompletionKind.REPORTS
        """Whether commands are reported in the CQ of their queues, which is read in these steps too."""

    @staticmethod
    def _reported(device: Device) -> bool:
        """Let the card work; tells whether it has reported something."""
        device.turn(POLL)
        return bool(device.commands.reports)

    def halCqReportIrqWait(self, devid: int, in_: Any, out: Any) -> int:
        """Wait for a request to a group, and take it; the bit of its callback CQ is set in the bitmap."""
        device = self.device(devid)
        if device is not None and in_ is not None and in_.type == c.DRV_NORMAL_TYPE and self._reports:
            return 0 if self.wait_for(in_.timeout, partial(self._reported, device)) else c.DRV_ERROR_WAIT_TIMEOUT
        if device is None or in_ is None or out is None or in_.type != c.DRV_CALLBACK_TYPE or not out.cqIdBitmap:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.checks is not None:
            self.machine.checks.listens()
        report = await_call(self, device, in_.grpId, in_.timeout)
        if isinstance(report, int):
            return report
        number = device.host_calls.queue_of(report)
        if number // _WORD_BITS >= out.cqIdBitmapSize:
            return c.DRV_ERROR_INVALID_VALUE
        ctypes.memset(out.cqIdBitmap, 0, out.cqIdBitmapSize * _WORD_BITS // 8)
        ctypes.c_uint8.from_address(out.cqIdBitmap + number // 8).value = 1 << number % 8
        device.host_calls.stage(self.machine.memory, report)
        return 0

    def halCqReportGet(self, devid: int, in_: Any, out: Any) -> int:
        """Return where the request lies that was taken from a callback CQ: each has one address for it."""
        device = self.device(devid)
        if device is None or in_ is None or out is None:
            return c.DRV_ERROR_INVALID_VALUE
        if in_.type == c.DRV_NORMAL_TYPE and self._reports:
            return self._lend_reports(device, out)
        if in_.cqId not in device.host_calls.groups:
            return c.DRV_ERROR_INVALID_VALUE
        address, out.count = device.host_calls.staged(in_.cqId)
        out.reportPtr = address or None
        if self.machine.checks is not None:
            self.machine.checks.heard(device, c.DRV_CALLBACK_TYPE, in_.cqId)
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
        """Give back as many reports as halCqReportGet counted, or fewer of commands."""
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
        _, count = device.host_calls.staged(info.cqId)
        if not count or info.count != count:
            return c.DRV_ERROR_INVALID_VALUE
        device.host_calls.release(info.cqId)
        return 0
