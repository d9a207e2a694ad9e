"""HAL chapter "queues": messages to the task scheduler itself (hal_semantics 3 and 4.9)."""

from __future__ import annotations

import struct
from typing import Any

from fakes.hal.chapter import Chapter
from fakes.machine import aborts
from npuhal import constants as c


class SchedulerCalls(Chapter):
    """halTsdrvCtl of ascend_hal_base.h."""

    def halTsdrvCtl(self, devid: int, command: int, param: int, size: int, out: int, out_size: Any) -> int:
        """Callback group number, and messages to the task scheduler (see `fakes.machine.aborts`).

        The answer of a message begins with the operation that was asked for, and is as long as the message was.
        """
        device, memory = self.device(devid), self.machine.memory
        if command == c.TSDRV_CTL_CMD_CB_GROUP_NUM_GET:
            if not out or out_size is None:
                return c.DRV_ERROR_INVALID_VALUE
            out_size.value = 4
            groups = self.machine.options.callback_groups
            memory.write(out, groups.to_bytes(4, "little"), "halTsdrvCtl to")
            return 0
        if command != c.TSDRV_CTL_CMD_CTRL_MSG:
            return c.DRV_ERROR_NOT_SUPPORT
        if device is None or not param or size != 16 or not out or out_size is None:
            return c.DRV_ERROR_INVALID_VALUE
        _, length, message = struct.unpack("<IIQ", memory.read(param, size, "halTsdrvCtl from"))
        if not message or not 4 <= length <= 256:
            return c.DRV_ERROR_INVALID_VALUE
        operation, *_ = struct.unpack("<I", memory.read(message, 4, "halTsdrvCtl from"))
        body = memory.read(message + 4, length - 4, "halTsdrvCtl from").ljust(aborts.BODY_BYTES, b"\0")
        answer = aborts.answer(device, operation, body)
        if answer is None:
            return c.DRV_ERROR_NOT_SUPPORT
        data = (struct.pack("<I", operation) + answer).ljust(length, b"\0")[: min(length, out_size.value)]
        memory.write(out, data, "halTsdrvCtl to")
        out_size.value = len(data)
        return 0
