"""Libraries of AICPU programs on a device: sent whole, then opened and given up by kernels that the AICPU has built in.

Both kernels take a list of libraries in device memory; here it has one entry. Source: program.cc of the runtime,
structs CpuSoBuf and BatchProcCpuOpFromBufArgs, both packed.
"""

from __future__ import annotations

import contextlib
import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import AicpuKernel
from chips.tasks.kernel import NEVER_TIMEOUT_US
from npuhal.late import logger
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.launch.block import HostBlock
from runtime.launch.slow_path import submit_block

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_LOG = logger(__name__)
_OPEN, _GIVE_UP = "batchLoadsoFrombuf", "deleteCustOp"
_LIBRARY = struct.Struct("<QIQI")
"""Address and bytes of the library, address and bytes of its name."""
_LIST = struct.Struct("<IQ")
"""Number of libraries, address of their descriptions."""
_ANSWER_TIMEOUT_MS = 60_000


def send(device: Device, name: str, library: memoryview) -> None:
    """Bring a library to the device and have the AICPU open it under its name.

    Raises:
        OutOfMemory 207001: the device has no space for it.
        KernelFault: the AICPU refuses the library. Timeout 507046: it does not answer.
    """
    with ExitStack() as undo:
        address = device.memory.alloc(len(library), internal_flags(hbm=True))
        undo.callback(device.memory.free, address)
        device.memory.write(address, library)
        _ask(device, _OPEN, name, address, len(library), undo)


def withdraw(device: Device, name: str, size: int) -> None:
    """Have the AICPU give a library up; a device that does not is left as it is, with a warning."""
    with contextlib.suppress(errors.RuntimeFault), ExitStack() as undo:
        _ask(device, _GIVE_UP, name, 0, size, undo)
        return
    _LOG.warning("device %d: the AICPU did not give up the library %s", device.user_id, name)


def _ask(device: Device, function: str, name: str, address: int, size: int, undo: ExitStack) -> None:
    """Run a built-in kernel on one library and wait for it."""
    memory, text = device.memory, name.encode()
    blocks = []
    for length in (len(text), _LIBRARY.size):
        blocks.append(memory.alloc(length, internal_flags(hbm=True)))
        undo.callback(memory.free, blocks[-1])
    where, description = blocks
    memory.write(where, text)
    memory.write(description, _LIBRARY.pack(address, size, where, len(text)))
    task = AicpuKernel(
        so_name=0, func_name=device.names.address_of(function), args=0,
        timeout_us=NEVER_TIMEOUT_US if device.scheduler_has("OP_EXEC_TIMEOUT_MS") else 0,
    )
    stream = device.control_stream
    submit_block(stream, task, HostBlock(_LIST.pack(1, description)), TaskInfo(task.type, f"AICPU library {name}"))
    stream.settle(_ANSWER_TIMEOUT_MS)
