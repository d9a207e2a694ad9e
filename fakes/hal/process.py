"""HAL chapter "process": which process of a card belongs to which of the host (hal_semantics 2)."""

from __future__ import annotations

from typing import Any

from fakes.hal.chapter import Chapter
from fakes.machine.driver import MEMORY_CARDS
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

    def halCheckProcessStatus(self, devid: int, process_type: int, status: int, matched: Any) -> int:
        """Tell whether the device-side process is in a bad state: it never is, unless the card is down."""
        if matched is None:
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.driver.first:
            code = self._state(devid, process_type, status)
            if not code and status not in (c.STATUS_NOMEM, c.STATUS_SVM_PAGE_FALUT_ERR_OCCUR):
                code = c.DRV_ERROR_NOT_SUPPORT
        elif not c.PROCESS_CP1 <= process_type < c.PROCESS_USER or status != c.STATUS_NOMEM:
            return c.DRV_ERROR_INVALID_VALUE
        else:
            code = self._state(devid, process_type, status)
        if not code:
            matched.value = False
        return code

    def halCheckProcessStatusEx(self, devid: int, process_type: int, status: int, out: Any) -> int:
        """Like halCheckProcessStatus; the result counts what went wrong: nothing."""
        code = self._state(devid, process_type, status)
        if not code and out is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not code:
            out.result = 0
        return code

    def _state(self, devid: int, process_type: int, status: int) -> int:
        if status <= 0 or not 0 <= devid < MEMORY_CARDS:
            return c.DRV_ERROR_INVALID_VALUE
        if process_type != c.PROCESS_CP1 or status >= c.STATUS_MAX:
            return c.DRV_ERROR_NOT_SUPPORT
        return c.DRV_ERROR_INVALID_DEVICE if self.device(devid) is None else 0

    def halGetCurrentThreadNumaNode(self) -> int:
        """Return the memory node of the calling thread: the host of a fake has one."""
        return 0
