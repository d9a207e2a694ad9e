"""Messages to the task scheduler: maintenance, profiling, debugging, overflow."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "AicpuInfoLoad",
    "ClearFloatStatus",
    "DataDumpLoadInfo",
    "DebugRegister",
    "DebugRegisterForStream",
    "DebugUnregister",
    "DebugUnregisterForStream",
    "Flip",
    "GetDeviceMessage",
    "GetFloatStatus",
    "GetStarsVersion",
    "Maintenance",
    "MaintenanceKind",
    "Nop",
    "NotifyClear",
    "OverflowSwitch",
    "ProfilerDynamic",
    "ProfilerTraceEx",
    "ProfilingDisable",
    "ProfilingEnable",
    "RingBufferControl",
    "SqLock",
    "StreamClear",
    "StreamTag",
]


@described
class GetFloatStatus(Task):
    """Store the overflow status at ``addr`` (64 bytes); ``debug`` reads the debug flag instead."""

    type: ClassVar[TaskType] = TaskType.NPU_GET_FLOAT_STATUS
    addr: int
    size: int = 64
    check_mode: int = 0
    debug: bool = False


class MaintenanceKind(enum.IntEnum):
    """What a maintenance task asks for (task_info.hpp, MT_*)."""

    STREAM_DESTROY = 0
    EVENT_DESTROY = 1
    STREAM_RECYCLE = 2


@described
class Nop(Task):
    """Do nothing."""

    type: ClassVar[TaskType] = TaskType.NOP


@described
class Maintenance(Task):
    """Housekeeping of a stream or event; ``flag`` with STREAM_RECYCLE forces the recycling of ``target_id``."""

    type: ClassVar[TaskType] = TaskType.MAINTENANCE
    kind: MaintenanceKind = MaintenanceKind.STREAM_DESTROY
    target_id: int = 0
    flag: bool = False


@described
class GetStarsVersion(Task):
    """Ask the task scheduler's version, telling it ours (``build_version``); the answer is in the completion entry."""

    type: ClassVar[TaskType] = TaskType.GET_STARS_VERSION
    build_version: int = 7


@described
class Flip(Task):
    """Tell the profiler that 16-bit task ids start again: how often they did; ``sub_type`` 1 names another stream."""

    type: ClassVar[TaskType] = TaskType.FLIP
    flip_number: int
    sub_type: int = 0
    target_stream_id: int = 0


@described
class SqLock(Task):
    """Keep the queue to one hardware slot (``lock``) or let it go."""

    type: ClassVar[TaskType] = TaskType.SET_SQ_LOCK_UNLOCK
    lock: bool


@described
class StreamClear(Task):
    """Throw away what another stream still has to do; ``step`` picks the phase."""

    type: ClassVar[TaskType] = TaskType.COMMON_CMD
    stream_id: int
    step: int


@described
class NotifyClear(Task):
    """Reset a notify through the task scheduler."""

    type: ClassVar[TaskType] = TaskType.COMMON_CMD
    notify_id: int


@described
class ProfilingEnable(Task):
    """Start profiling for a process."""

    type: ClassVar[TaskType] = TaskType.PROFILING_ENABLE
    pid: int
    events: tuple[int, ...] = ()
    start_cycle: int = 0
    stop_cycle: int = 0
    user_defined: int = 0
    timeline: int = 0
    task_based: int = 0
    task_log: int = 0
    soc_log: int = 0


@described
class ProfilingDisable(ProfilingEnable):
    """Stop profiling for a process."""

    type: ClassVar[TaskType] = TaskType.PROFILING_DISABLE


@described
class ProfilerDynamic(Task):
    """Switch dynamic profiling; STARS chips have no builder for it."""

    type: TaskType = TaskType.PROFILER_DYNAMIC_ENABLE  # type: ignore[misc]
    pid: int = 0


@described
class ProfilerTraceEx(Task):
    """Put a mark into the profiling trace."""

    type: ClassVar[TaskType] = TaskType.PROFILER_TRACE_EX
    trace_id: int
    model_id: int
    tag_id: int


@described
class DataDumpLoadInfo(Task):
    """Hand the AICPU the description of what to dump."""

    type: ClassVar[TaskType] = TaskType.DATADUMP_LOADINFO
    info: int
    length: int
    kernel_kind: int = 0


@described
class AicpuInfoLoad(Task):
    """Hand the AICPU an information block."""

    type: ClassVar[TaskType] = TaskType.AICPU_INFO_LOAD
    info: int
    length: int


@described
class DebugRegister(Task):
    """Register a debugger for a model; ``addr`` is the physical address of its buffer."""

    type: ClassVar[TaskType] = TaskType.DEBUG_REGISTER
    model_id: int
    addr: int
    flag: int


@described
class DebugUnregister(Task):
    """Remove a model's debugger."""

    type: ClassVar[TaskType] = TaskType.DEBUG_UNREGISTER
    model_id: int


@described
class DebugRegisterForStream(Task):
    """Register a debugger for a stream; ``addr`` is the physical address of its buffer."""

    type: ClassVar[TaskType] = TaskType.DEBUG_REGISTER_FOR_STREAM
    stream_id: int
    addr: int
    flag: int


@described
class DebugUnregisterForStream(Task):
    """Remove a stream's debugger."""

    type: ClassVar[TaskType] = TaskType.DEBUG_UNREGISTER_FOR_STREAM
    stream_id: int


@described
class RingBufferControl(Task):
    """Give the task scheduler its error ring buffer, or take it back (``delete``).

    ``addr`` is the device address, ``phy_addr`` the physical one that v100 tells.
    """

    type: ClassVar[TaskType] = TaskType.DEVICE_RINGBUFFER_CONTROL
    addr: int
    length: int
    phy_addr: int = 0
    delete: bool = False
    pid: int = 0


@described
class GetDeviceMessage(Task):
    """Let the task scheduler write a message (error, stack) to ``addr``, whose physical address is ``phy_addr``."""

    type: ClassVar[TaskType] = TaskType.GET_DEVICE_MSG
    addr: int
    length: int
    phy_addr: int = 0
    kind: int = 0


@described
class ClearFloatStatus(Task):
    """Clear the overflow status; ``debug`` clears the debug flag instead."""

    type: ClassVar[TaskType] = TaskType.NPU_CLEAR_FLOAT_STATUS
    check_mode: int = 0
    debug: bool = False


@described
class OverflowSwitch(Task):
    """Turn overflow detection of a stream on or off."""

    type: ClassVar[TaskType] = TaskType.SET_OVERFLOW_SWITCH
    stream_id: int
    on: bool


@described
class StreamTag(Task):
    """Give a stream the tag that operators of a graph engine carry."""

    type: ClassVar[TaskType] = TaskType.SET_STREAM_GE_OP_TAG
    stream_id: int
    tag: int
