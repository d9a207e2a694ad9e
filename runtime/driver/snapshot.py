"""What the driver itself keeps of a process while its cards are exchanged (halProcessRes*, ascend_hal_base.h)."""

from __future__ import annotations

import ctypes
from typing import Any

from npuhal import structs as s
from runtime import errors
from runtime.driver.calls import HalCalls


class ProcessDriver(HalCalls):
    """Calls about the process as a whole."""

    def __init__(self, hal: Any) -> None:
        super().__init__(hal, 0)

    def backup(self) -> None:
        """Let the driver keep which memory the process has, and where.

        Raises:
            NotSupported 207000: this driver cannot.
        """
        self._call("halProcessResBackup", s.hal_proc_res_backup_info())

    def restore(self) -> None:
        """Map that memory on the cards that are open now; what was in it is gone with the old ones.

        Raises:
            NotSupported 207000: this driver cannot.
        """
        self._call("halProcessResRestore", s.hal_proc_res_restore_info())

    def _call(self, name: str, info: Any) -> None:
        if not self.hal.has(name):
            raise errors.fault(
                "RT_ERROR_DRV_NOT_SUPPORT", f"this driver has no {name}", hint="update the driver of the host"
            )
        self.check(getattr(self.hal, name)(ctypes.byref(info)), name)
