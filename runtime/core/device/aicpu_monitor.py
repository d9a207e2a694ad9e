"""Who watches how long AICPU kernels take: the AICPU itself, or STARS once the AICPU's own monitor is off.

The AICPU scheduler is asked by built-in kernels, which name no library. Firmware that does not know them keeps its
monitor, and then has to be told the process's time limits (`Timeouts.announce`).
"""

from __future__ import annotations

import contextlib
import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import AicpuKernel
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort

_CHECK, _CLOSE = "CheckKernelSupported", "CloseAicpuMonitor"
_PREFIX = "tsKernel:"
_TIMEOUT_MS = 10_000
_UNSET = 0xFF
_QUESTION = struct.Struct("<QIQI")  # name, its length, buffer for the answer, its length
_ORDER = struct.Struct("<BB2x")  # 1 switches the monitor off; result


def switch_off(device: DevicePort) -> bool:
    """Let STARS alone watch AICPU kernels, where chip and firmware can; tells whether the AICPU's monitor is off.

    Raises:
        InternalError: the AICPU scheduler knows the order and refuses it.
    """
    if not (device.chip.has("STARS_MONITOR_AICPU_TIMEOUT") and device.facts.on_host and _knows(device, _CLOSE)):
        return False
    memory = device.memory
    with ExitStack() as undo:
        order = memory.alloc(_ORDER.size, internal_flags(hbm=True))
        undo.callback(memory.free, order)
        memory.write(order, _ORDER.pack(1, _UNSET))
        _run(device, _CLOSE, order)
        _, result = _ORDER.unpack(memory.read(order, _ORDER.size))
    if result:
        raise errors.fault(
            "ACL_ERROR_RT_AICPU_INTERNAL_ERROR",
            f"the AICPU scheduler of device {device.user_id} does not switch its monitor off: result {result}",
        )
    return True


def _knows(device: DevicePort, kernel: str) -> bool:
    """Ask whether a built-in kernel exists; a scheduler that does not know the question itself knows no such kernel."""
    memory, flags = device.memory, internal_flags(hbm=True)
    name = (_PREFIX + kernel).encode()
    with ExitStack() as undo:
        blocks = []
        for size in (len(name), 4, _QUESTION.size):
            blocks.append(memory.alloc(size, flags))
            undo.callback(memory.free, blocks[-1])
        where, result, request = blocks
        memory.write(where, name)
        memory.write(result, bytes([_UNSET]) * 4)
        memory.write(request, _QUESTION.pack(where, len(name), result, 4))
        with contextlib.suppress(errors.KernelFault):
            _run(device, _CHECK, request)
        return memory.read(result, 4) == bytes(4)


def _run(device: DevicePort, kernel: str, arguments: int) -> None:
    stream = device.control_stream
    stream.submit(AicpuKernel(so_name=0, func_name=device.names.address_of(kernel), args=arguments))
    stream.settle(_TIMEOUT_MS)
