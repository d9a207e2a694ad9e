"""Messages to the task scheduler: placeholders with a payload (RtDavidPlaceHolderSqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule, direct
from chips.generations.v200.model import program
from chips.programs.body import float_status
from chips.tasks import (
    AicpuInfoLoad,
    ClearFloatStatus,
    DataDumpLoadInfo,
    DebugRegister,
    DebugRegisterForStream,
    DebugUnregister,
    DebugUnregisterForStream,
    GetDeviceMessage,
    GetFloatStatus,
    Maintenance,
    MaintenanceKind,
    Nop,
    OverflowSwitch,
    ProfilerTraceEx,
    ProfilingDisable,
    ProfilingEnable,
    RingBufferControl,
    StreamTag,
    TaskType,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_FORCE_RECYCLE = 0x67

BARE = (
    TaskType.FUSION_ISSUE,
    TaskType.CREATE_STREAM,
    TaskType.REMOTE_EVENT_WAIT,
    TaskType.CREATE_L2_ADDR,
    TaskType.RDMA_SEND,
    TaskType.LABEL_SWITCH,
    TaskType.LABEL_GOTO,
    TaskType.PROFILER_TRACE,
    TaskType.RDMA_DB_SEND,
    TaskType.FFTS_PLUS,
    TaskType.BARRIER,
    TaskType.ACTIVE_AICPU_STREAM,
    TaskType.STREAM_SWITCH_N,
    TaskType.ONLINEPROF_START,
    TaskType.ONLINEPROF_STOP,
    TaskType.STREAM_LABEL_GOTO,
    TaskType.FUSIONDUMP_ADDR_SET,
    TaskType.MODEL_EXIT_GRAPH,
    TaskType.ADCPROF,
    TaskType.REDUCE_ASYNC_V2,
    TaskType.SET_STREAM_MODE,
    TaskType.GET_STARS_VERSION,
    TaskType.FLIP,
    TaskType.SET_SQ_LOCK_UNLOCK,
    TaskType.UPDATE_ADDRESS,
)
"""Types for which STARS v2 has no builder of its own and sends a bare placeholder (ConstructDavidSqeBase)."""


def maintenance(at: Generation, task: Maintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode stream housekeeping; only a forced recycle stops the queue for the task scheduler."""
    if task.flag and task.kind == MaintenanceKind.STREAM_RECYCLE:
        return at.encode("maintenance", env, ids, wr_cqe=1, pre_p=1, sub_type=_FORCE_RECYCLE, target_id=task.target_id)
    return at.encode("maintenance", env, ids, wr_cqe=1)


def data_dump_load(at: Generation, task: DataDumpLoadInfo, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the description of what to dump."""
    return at.encode(
        "data_dump_load",
        env,
        ids,
        info_addr=task.info,
        length=task.length,
        stream_id=env.stream_id,
        task_id=ids.task_id,
        kernel_type=task.kernel_kind,
    )


def aicpu_info_load(at: Generation, task: AicpuInfoLoad, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode an information block for the AICPU."""
    return at.encode(
        "aicpu_info_load",
        env,
        ids,
        info_addr=task.info,
        length=task.length,
        stream_id=env.stream_id,
        task_id=ids.task_id,
    )


def ring_buffer(at: Generation, task: RingBufferControl, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the address of the error ring buffer, or its end."""
    if task.delete:
        return at.encode("ring_buffer", env, ids, delete=1)
    return at.encode(
        "ring_buffer",
        env,
        ids,
        addr=task.addr,
        total_length=task.length,
        element_size=env.chip.traits.error_ring_element_bytes,
    )


def get_float_status(at: Generation, task: GetFloatStatus, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the storing of the overflow status."""
    return at.encode("float_status", env, ids, debug_flag=task.debug, **program(float_status(task.addr)))


RULES = (
    direct(Nop, "nop"),
    Rule(
        Maintenance,
        maintenance,
        ("maintenance",),
        samples=(Maintenance(kind=MaintenanceKind.STREAM_RECYCLE, target_id=1, flag=True), Maintenance()),
    ),
    direct(ProfilerTraceEx, "profiler_trace", trace_id="trace_id", model_id="model_id", tag_id="tag_id"),
    direct(ProfilingEnable, "profiling_enable", pid="pid", task_based_en="task_based", soc_log_en="soc_log"),
    direct(ProfilingDisable, "profiling_disable", pid="pid", task_based_en="task_based", soc_log_en="soc_log"),
    Rule(DataDumpLoadInfo, data_dump_load, ("data_dump_load",)),
    Rule(AicpuInfoLoad, aicpu_info_load, ("aicpu_info_load",)),
    # the debugger's buffer is named by its physical address where the chip lacks TASK_DEBUG_REGISTER_WITH_VA_ADDR
    direct(DebugRegister, "debug_register", addr="addr", model_id="model_id", flag="flag"),
    direct(DebugUnregister, "debug_unregister", model_id="model_id"),
    direct(DebugRegisterForStream, "debug_register_stream", addr="addr", stream_id="stream_id", flag="flag"),
    direct(DebugUnregisterForStream, "debug_unregister_stream", stream_id="stream_id"),
    Rule(RingBufferControl, ring_buffer, ("ring_buffer",)),
    direct(GetDeviceMessage, "get_device_message", addr="addr", length="length", message_type="kind"),
    direct(ClearFloatStatus, "clear_float_status", debug_flag="debug"),
    direct(OverflowSwitch, "overflow_switch", stream_id="stream_id", switch_on="on"),
    direct(StreamTag, "stream_tag", stream_id="stream_id", tag="tag"),
    Rule(GetFloatStatus, get_float_status, ("float_status",)),
)
"""Builders of this module."""
