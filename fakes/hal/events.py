"""HAL chapters "faults" and "callbacks": what the card tells the host by itself (hal_semantics 4.8, 9)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.lent import Lent
from fakes.schedule.scheduler import POLL
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.machine import Machine

_MAX_EVENTS = 128


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """A fault of a card: `assertion` says whether it resumed (0), occurred (1) or happens once (2)."""

    event_id: int
    name: str
    severity: int = 1
    node_type: int = 0
    assertion: int = 1
    serial: int = 0


class EventCalls(Chapter):
    """Functions of ascend_hal_base.h about faults, and receiving host callbacks."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._given: dict[int, Lent] = {}

    # -- faults -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _fill(info: Any, device: Device, event: FaultEvent) -> None:
        info.alarm_raised_time = device.engines.now
        info.event_id, info.severity, info.node_type = event.event_id, event.severity, event.node_type
        info.assertion, info.event_serial_num, info.deviceid = event.assertion, event.serial, device.index
        info.event_name = event.name.encode()[:255]

    @staticmethod
    def _wanted(filter_: Any, event: FaultEvent) -> bool:
        flags = filter_.filter_flag
        return (
            (not flags & c.HAL_EVENT_FILTER_FLAG_EVENT_ID or filter_.event_id == event.event_id)
            and (not flags & c.HAL_EVENT_FILTER_FLAG_SERVERITY or event.severity >= filter_.severity)
            and (not flags & c.HAL_EVENT_FILTER_FLAG_NODE_TYPE or filter_.node_type == event.node_type)
        )

    def halGetFaultEvent(self, devid: int, filter_: Any, infos: Any, length: int, count: Any) -> int:
        """List the faults a card has now."""
        device = self.device(devid)
        if device is None or filter_ is None or infos is None or count is None:
            return c.DRV_ERROR_PARA_ERROR
        found = [event for event in device.faults if self._wanted(filter_, event)][: min(length, _MAX_EVENTS)]
        entries = (type(infos) * max(len(found), 1)).from_address(ctypes.addressof(infos))
        for entry, event in zip(entries, found, strict=False):
            self._fill(entry, device, event)
        count.value = len(found)
        return 0

    def halReadFaultEvent(self, devid: int, timeout: int, filter_: Any, info: Any) -> int:
        """Wait for the next change of any fault, of one card or of all (-1); NO_EVENT when none comes."""
        if filter_ is None or info is None or timeout < -1 or (devid != -1 and self.device(devid) is None):
            return c.DRV_ERROR_PARA_ERROR
        devices = self.machine.devices if devid == -1 else [self.machine.devices[devid]]

        def take() -> bool:
            for device in devices:
                for event in list(device.news):
                    if self._wanted(filter_, event):
                        device.news.remove(event)
                        self._fill(info, device, event)
                        return True
            return False

        return 0 if self._wait(timeout, take) else c.DRV_ERROR_NO_EVENT

    def _wait(self, timeout: int, done: Callable[[], bool]) -> bool:
        """Wait until `done`, at most `timeout` ms (-1: for ever); notified by anything that changes the machine."""
        deadline = None if timeout < 0 else time.monotonic() + timeout / 1000
        while not done():
            left = None if deadline is None else deadline - time.monotonic()
            if self.machine.closing or (left is not None and left <= 0):
                return False
            self.machine.changed.wait(left)
        return True

    # -- host callbacks -----------------------------------------------------------------------------------------------

    def halCqReportIrqWait(self, devid: int, in_: Any, out: Any) -> int:
        """Wait until a callback CQ of a group has something; its bit is set in the bitmap."""
        device = self.device(devid)
        if device is None or in_ is None or out is None or in_.type != c.DRV_CALLBACK_TYPE or not out.cqIdBitmap:
            return c.DRV_ERROR_INVALID_VALUE
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

        return 0 if self._wait(in_.timeout, ready) else c.DRV_ERROR_WAIT_TIMEOUT

    def halCqReportGet(self, devid: int, in_: Any, out: Any) -> int:
        """Return where the reports of a callback CQ lie; they stay until halReportRelease."""
        device = self.device(devid)
        if device is None or in_ is None or out is None or in_.cqId not in device.callback_groups:
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

    def halReportRelease(self, devid: int, info: Any) -> int:
        """Give reports back, as many as halCqReportGet counted or fewer."""
        device = self.device(devid)
        if device is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        waiting = device.callbacks.get(info.cqId)
        if waiting is None or info.count > len(waiting) or info.cqId not in self._given:
            return c.DRV_ERROR_INVALID_VALUE
        for _ in range(info.count):
            waiting.popleft()
        self._given.pop(info.cqId).close()
        return 0
