"""Arithmetic overflow: whether kernels report it, and its status as tasks: read to memory, cleared (core_spec 4.3)."""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import ClearFloatStatus, GetFloatStatus, OverflowSwitch
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

STATUS_BYTES = 64
"""Size of the status; its first word says whether something overflowed."""

_POINTER = struct.Struct("<Q")


def read_status(stream: StreamPort, address: int, size: int, *, check_mode: int = 0, debug: bool = False) -> None:
    """Let a stream store the overflow status in device memory when it gets there.

    The device follows a pointer to the buffer, so a cell with the pointer lives on the device until the task is done.

    Args:
        size: of the buffer; exactly 64 bytes.
        debug: the status that debugging keeps.

    Raises:
        InvalidArgument 107000: another size (EE1001).
    """
    if size != STATUS_BYTES:
        reason = f"the overflow status has {STATUS_BYTES} bytes, the buffer for it {size}"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1001", params=(reason,),
            hint=f"give {STATUS_BYTES} bytes of device memory",
        )
    memory = stream.device.memory
    with memory.new(_POINTER.size, internal_flags(hbm=True)) as cell:
        memory.write(cell, _POINTER.pack(address))
    task = GetFloatStatus(addr=cell, check_mode=check_mode, debug=debug)
    stream.submit(task, owner="overflow status read", finished=partial(memory.free, cell))


def set_check(stream: StreamPort, on: bool) -> None:
    """Turn overflow reports of a stream's kernels on or off for what is submitted from now on.

    Launchers are built again.

    Raises:
        NotSupported 207000: the chip cannot do it per stream.
    """
    stream.check_open()
    if not stream.device.chip.has("STREAM_ATTR_OVERFLOW_CHECK"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{stream.device.chip.soc} has no overflow switch per stream"
        )
    if on != stream.env.overflow_enabled:
        stream.context.default_stream.submit(
            OverflowSwitch(stream_id=stream.stream_id, on=on), owner="overflow switch"
        )
        stream.change_environment(overflow_enabled=on)


def clear_status(stream: StreamPort, *, check_mode: int = 0, debug: bool = False) -> None:
    """Let a stream clear the overflow status when it gets there."""
    stream.submit(ClearFloatStatus(check_mode=check_mode, debug=debug), owner="overflow status clear")
