"""Placeholders on STARS v1: messages that the task scheduler reads and answers itself.

Source: stars_sqe.hpp (RtStarsPhSqe); sqe_fill_rules 6.
"""

from __future__ import annotations

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, head, ops, sync_stream_id
from chips.tasks import (
    AicpuInfoLoad,
    BareTask,
    ClearFloatStatus,
    DataDumpLoadInfo,
    DebugRegister,
    DebugRegisterForStream,
    DebugUnregister,
    DebugUnregisterForStream,
    Flip,
    GetDeviceMessage,
    GetFloatStatus,
    GetStarsVersion,
    Maintenance,
    MaintenanceKind,
    Nop,
    NotifyClear,
    OverflowSwitch,
    ProfilerTraceEx,
    ProfilingDisable,
    ProfilingEnable,
    RingBufferControl,
    SqLock,
    StreamClear,
    StreamTag,
    TaskType,
)

_FORCE_RECYCLE = 0x67
_DUMP_LOAD = 0x20
_FLIP_ALL = 0xFFFF
_STREAM_CLEAR, _NOTIFY_RESET = 0, 1
_BARE = LAYOUTS["bare"]
_NOP = LAYOUTS["nop"]
_LOCK = LAYOUTS["sq_lock"]
_MAINTENANCE = LAYOUTS["maintenance"]
_PROF_ON = LAYOUTS["profiling_enable"]
_PROF_OFF = LAYOUTS["profiling_disable"]
_TRACE = LAYOUTS["profiler_trace_ex"]
_DUMP = LAYOUTS["dump_load_info"]
_INFO = LAYOUTS["aicpu_info_load"]
_DEBUG = LAYOUTS["debug_register"]
_DEBUG_OFF = LAYOUTS["debug_unregister"]
_DEBUG_STREAM = LAYOUTS["debug_register_stream"]
_DEBUG_STREAM_OFF = LAYOUTS["debug_unregister_stream"]
_RING = LAYOUTS["ring_buffer"]
_OVERFLOW = LAYOUTS["overflow_switch"]
_TAG = LAYOUTS["stream_tag"]
_MESSAGE = LAYOUTS["device_message"]
_CLEAR = LAYOUTS["clear_float_status"]
_FLIP = LAYOUTS["flip"]
_VERSION = LAYOUTS["stars_version"]
_COMMAND = LAYOUTS["common_command"]
_FLOAT_STATUS = LAYOUTS["float_status"]


def bare(task: BareTask, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the placeholder of a type that STARS does not know: only its completion entry matters."""
    return _BARE.encode(stream_id=env.stream_id, task_id=ids.task_id, wr_cqe=1)


def nop(task: Nop, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that does nothing and reports nothing."""
    return _NOP.encode(stream_id=env.stream_id, task_id=ids.task_id)


def sq_lock(task: SqLock, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that locks or unlocks the queue's slot."""
    return _LOCK.encode(stream_id=env.stream_id, task_id=ids.task_id, lock=task.lock, unlock=not task.lock)


def maintenance(task: Maintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the maintenance message; only a forced recycle says anything."""
    head = {"stream_id": sync_stream_id(env), "task_id": ids.task_id}
    if task.flag and task.kind is MaintenanceKind.STREAM_RECYCLE:
        return _MAINTENANCE.encode(**head, pre_p=1, sub_type=_FORCE_RECYCLE, target_id=task.target_id)
    return _MAINTENANCE.encode(**head)


def stars_version(task: GetStarsVersion, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the question for the scheduler's version, with ours in it twice."""
    return _VERSION.encode(
        stream_id=sync_stream_id(env), task_id=ids.task_id, extra=task.build_version, build_version=task.build_version
    )


def profiling_enable(task: ProfilingEnable, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that starts profiling; STARS v1 only tells the process."""
    return _PROF_ON.encode(**head(env, ids), pid=task.pid)


def profiling_disable(task: ProfilingEnable, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that stops profiling."""
    return _PROF_OFF.encode(**head(env, ids), pid=task.pid)


def profiler_trace(task: ProfilerTraceEx, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build a mark for the profiling trace."""
    return _TRACE.encode(**head(env, ids), trace_id=task.trace_id, model_id=task.model_id, tag_id=task.tag_id)


def dump_load_info(task: DataDumpLoadInfo, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message with the dump description."""
    return _DUMP.encode(
        **head(env, ids),
        info=task.info,
        length=task.length,
        dump_stream_id=env.stream_id,
        dump_task_id=ids.task_id,
        kernel_kind=task.kernel_kind,
        reload=_DUMP_LOAD,
    )


def aicpu_info_load(task: AicpuInfoLoad, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message with an AICPU information block."""
    return _INFO.encode(
        **head(env, ids),
        info=task.info,
        length=task.length,
        load_stream_id=env.stream_id,
        load_task_id=ids.task_id,
    )


def debug_register(task: DebugRegister, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that registers a model's debugger."""
    return _DEBUG.encode(**head(env, ids), addr=task.addr, model_id=task.model_id, flag=task.flag)


def debug_unregister(task: DebugUnregister, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that removes a model's debugger."""
    return _DEBUG_OFF.encode(**head(env, ids), model_id=task.model_id)


def debug_register_stream(task: DebugRegisterForStream, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that registers a stream's debugger."""
    return _DEBUG_STREAM.encode(**head(env, ids), addr=task.addr, target_stream_id=task.stream_id, flag=task.flag)


def debug_unregister_stream(task: DebugUnregisterForStream, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that removes a stream's debugger."""
    return _DEBUG_STREAM_OFF.encode(**head(env, ids), target_stream_id=task.stream_id)


def ring_buffer(task: RingBufferControl, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that hands over the error ring buffer or takes it back."""
    if task.delete:
        return _RING.encode(**head(env, ids), delete=1)
    return _RING.encode(**head(env, ids), offset=task.phy_addr, length=task.length)


def overflow_switch(task: OverflowSwitch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that switches a stream's overflow detection."""
    return _OVERFLOW.encode(**head(env, ids), target_stream_id=task.stream_id, on=task.on)


def stream_tag(task: StreamTag, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that tags a stream."""
    return _TAG.encode(**head(env, ids), target_stream_id=task.stream_id, tag=task.tag)


def device_message(task: GetDeviceMessage, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the request for a device message."""
    return _MESSAGE.encode(**head(env, ids), addr=task.addr, offset=task.phy_addr, length=task.length, kind=task.kind)


def clear_float_status(task: ClearFloatStatus, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that clears the overflow status."""
    return _CLEAR.encode(**head(env, ids), debug=task.debug)


def flip(task: Flip, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that task ids start again; never reported."""
    return _FLIP.encode(
        stream_id=env.stream_id,
        task_id=_FLIP_ALL if task.sub_type == 1 else ids.task_id,
        flip_number=task.flip_number,
        sub_type=task.sub_type,
        target_stream_id=task.target_stream_id,
    )


def common_command(task: StreamClear | NotifyClear, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build a command that clears a stream or a notify; never reported."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    if isinstance(task, StreamClear):
        return _COMMAND.encode(**head, command=_STREAM_CLEAR, target_stream_id=task.stream_id, step=task.step)
    return _COMMAND.encode(**head, command=_NOTIFY_RESET, notify_id=task.notify_id)


def float_status(task: GetFloatStatus, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that stores the overflow status."""
    return _FLOAT_STATUS.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        debug=task.debug,
        addr_high=task.addr >> 32,
        addr_low=task.addr & 0xFFFFFFFF,
    )


BARE_TYPES = (
    TaskType.FUSION_ISSUE,
    TaskType.CREATE_STREAM,
    TaskType.REMOTE_EVENT_WAIT,
    TaskType.CREATE_L2_ADDR,
    TaskType.RDMA_SEND,
    TaskType.LABEL_SWITCH,
    TaskType.LABEL_GOTO,
    TaskType.PROFILER_TRACE,
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
)
"""Types that have only a placeholder on STARS v1 (registry entry ConstructSqeBase)."""


OPS = (
    ops(float_status, "float_status", GetFloatStatus),
    ops(nop, "nop", Nop),
    ops(sq_lock, "sq_lock", SqLock),
    ops(maintenance, "maintenance", Maintenance),
    ops(stars_version, "stars_version", GetStarsVersion),
    ops(profiling_enable, "profiling_enable", ProfilingEnable),
    ops(profiling_disable, "profiling_disable", ProfilingDisable),
    ops(profiler_trace, "profiler_trace_ex", ProfilerTraceEx),
    ops(dump_load_info, "dump_load_info", DataDumpLoadInfo),
    ops(aicpu_info_load, "aicpu_info_load", AicpuInfoLoad),
    ops(debug_register, "debug_register", DebugRegister),
    ops(debug_unregister, "debug_unregister", DebugUnregister),
    ops(debug_register_stream, "debug_register_stream", DebugRegisterForStream),
    ops(debug_unregister_stream, "debug_unregister_stream", DebugUnregisterForStream),
    ops(ring_buffer, "ring_buffer", RingBufferControl),
    ops(overflow_switch, "overflow_switch", OverflowSwitch),
    ops(stream_tag, "stream_tag", StreamTag),
    ops(device_message, "device_message", GetDeviceMessage),
    ops(clear_float_status, "clear_float_status", ClearFloatStatus),
    ops(flip, "flip", Flip),
    ops(common_command, "common_command", StreamClear, NotifyClear),
    *(ops(bare, "bare", BareTask(kind), placeholder=True) for kind in BARE_TYPES),
)
"""Builders of this module."""
