"""HAL chapter "faults": what is wrong with a card, as it tells the host by itself (hal_semantics 9)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.fault_event import FaultEvent as FaultEvent
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device

_MAX_EVENTS = 128


class FaultCalls(Chapter):
    """Functions of ascend_hal_base.h about faults."""

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

        return 0 if self.wait_for(timeout, take) else c.DRV_ERROR_NO_EVENT
