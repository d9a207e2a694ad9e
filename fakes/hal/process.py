"""HAL chapter "process": which process of a card belongs to which of the host (hal_semantics 2)."""

from __future__ import annotations

import ctypes
from typing import Any

from fakes.hal.chapter import Chapter
from npuhal import constants as c


class ProcessCalls(Chapter):
    """Functions of ascend_hal_base.h about processes."""

    def drvDeviceGetBareTgid(self) -> int:
        """Return the process id outside of any container."""
        return self.machine.pid

    def halQueryDevpid(self, info: Any, dev_pid: Any) -> int:
        """Return the id of the device-side process of a host process."""
        if info is None or dev_pid is None:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(info.devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if not device.opened or info.hostpid != self.machine.pid:
            return c.DRV_ERROR_NO_PROCESS
        dev_pid.value = 10_000 + device.identity.ssid
        return 0

    def halCheckProcessStatus(self, devid: int, process_type: int, _status: int, matched: Any) -> int:
        """Tell whether the device-side process is in a bad state: it never is, unless the card is down."""
        device = self.device(devid)
        if device is None or matched is None:
            return c.DRV_ERROR_INVALID_VALUE
        if process_type != c.PROCESS_CP1:
            return c.DRV_ERROR_INVALID_VALUE
        matched.value = False
        return 0

    def halCheckProcessStatusEx(self, devid: int, process_type: int, status: int, out: Any) -> int:
        """Like halCheckProcessStatus; the result counts what went wrong: nothing."""
        if out is None:
            return c.DRV_ERROR_INVALID_VALUE
        rc = self.halCheckProcessStatus(devid, process_type, status, ctypes.c_bool())
        out.result = 0
        return rc

    def halGetCurrentThreadNumaNode(self) -> int:
        """Return the memory node of the calling thread: the host of a fake has one."""
        return 0
