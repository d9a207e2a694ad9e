"""Ids that the task scheduler hands out: streams, events, notifies, count-notifies, models."""

from __future__ import annotations

import ctypes
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from runtime import errors
from runtime.driver.calls import HalCalls

STREAM, EVENT, MODEL, NOTIFY, COUNT_NOTIFY = "STREAM", "EVENT", "MODEL", "NOTIFY", "CNT_NOTIFY"
SQ = "SQ"
"""Queues: not handed out here, but counted (`usage`)."""
_CENSUS = {STREAM: "streams", EVENT: "events", MODEL: "models", NOTIFY: "notifies", COUNT_NOTIFY: "count-notifies"}


class IdDriver(HalCalls):
    """halResourceIdAlloc and friends of one device (ascend_hal_base.h)."""

    __slots__ = ("ts_id",)

    def __init__(self, calls: HalCalls, ts_id: int = 0) -> None:
        super().__init__(calls.hal, calls.device_id)
        self.ts_id = ts_id

    def _input(self, kind: str, resource_id: int = 0) -> Any:
        info = s.halResourceIdInputInfo()
        info.type, info.tsId, info.resourceId = getattr(c, f"DRV_{kind}_ID"), self.ts_id, resource_id
        return info

    def alloc(self, kind: str, *, priority: int = 0, flags: int = 0) -> int:
        """Return a new id; an exhausted kind raises ResourceExhausted with message EE1023."""
        info = self._input(kind)
        info.res[0], info.res[1] = priority, flags
        out = s.halResourceIdOutputInfo()
        rc = self.hal.halResourceIdAlloc(self.device_id, ctypes.byref(info), ctypes.byref(out))
        if rc:
            raise self._exhausted(rc, kind)
        return int(out.resourceId)

    def free(self, kind: str, resource_id: int, *, flags: int = 0) -> None:
        """Give an id back, with the flags it was taken with; the driver refuses one that this process does not own."""
        info = self._input(kind, resource_id)
        info.res[1] = flags
        rc = self.hal.halResourceIdFree(self.device_id, ctypes.byref(info))
        self.check(rc, "halResourceIdFree", f"{kind.lower()} id {resource_id}")

    def usage(self, kind: str) -> tuple[int, int]:
        """Return (how many ids of a kind the device has, how many all processes use): halResourceInfoQuery."""
        info = s.halResourceInfo()
        rc = self.hal.halResourceInfoQuery(
            self.device_id, self.ts_id, getattr(c, f"DRV_RESOURCE_{kind}_ID"), ctypes.byref(info)
        )
        self.check(rc, "halResourceInfoQuery", kind.lower())
        return int(info.capacity), int(info.usedNum)

    def fire(self, kind: str, resource_id: int) -> None:
        """Set an event or a notify from the host (DRV_ID_RECORD)."""
        self._configure(resource_id, "DRV_ID_RECORD", 0, kind)

    def bind_logic_cq(self, stream_id: int, cq_id: int) -> None:
        """Let a stream's completions arrive in a logic CQ."""
        self._configure(stream_id, "DRV_STREAM_BIND_LOGIC_CQ", cq_id)

    def unbind_logic_cq(self, stream_id: int) -> None:
        """Undo `bind_logic_cq`."""
        self._configure(stream_id, "DRV_STREAM_UNBIND_LOGIC_CQ", 0)

    def _configure(self, resource_id: int, prop: str, value: int, kind: str = STREAM) -> None:
        info = self._input(kind, resource_id)
        para = s.halResourceConfigInfo()
        para.prop = getattr(c, prop)
        para.value[0] = value
        rc = self.hal.halResourceConfig(self.device_id, ctypes.byref(info), ctypes.byref(para))
        self.check(rc, "halResourceConfig", f"{prop}, {kind.lower()} id {resource_id}")

    def _exhausted(self, rc: int, kind: str) -> errors.RuntimeFault:
        fault = self.fault(rc, "halResourceIdAlloc", f"{kind.lower()} on device {self.device_id}")
        if isinstance(fault, errors.ResourceExhausted):
            fault.hint = (
                f"too many {_CENSUS[kind]} are alive on device {self.device_id}: pair each create with a close, "
                "and look for other processes on the device"
            )
        return fault
