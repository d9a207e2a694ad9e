"""Faults that a device has reported of itself (ascend_hal_base.h, struct halFaultEventInfo)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls

_MOST_EVENTS = 128
"""More than the driver lists at once."""


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
