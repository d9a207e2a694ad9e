"""The task table of STARS v1: which builder, which layouts, proved how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from chips.generations.v100 import aicpu, condition, control, event, kernel, media, memory
from chips.generations.v100.tables import LAYOUTS
from chips.registry import Encode, Later, TaskOps
from chips.tasks import (
    AicKernel,
    AicpuInfoLoad,
    AicpuKernel,
    AivKernel,
    BareTask,
    Barrier,
    CaptureCondition,
    CaptureRecord,
    CaptureRecordExternal,
    CaptureWait,
    CaptureWaitExternal,
    ClearFloatStatus,
    Cmo,
    CmoDescriptor,
    ConditionKind,
    CopyKind,
    DataDumpLoadInfo,
    DebugRegister,
    DebugRegisterForStream,
    DebugUnregister,
    DebugUnregisterForStream,
    DvppPart,
    EndGraph,
    EventRecord,
    EventReset,
    EventWait,
    FftsPlus,
    Flip,
    GetDeviceMessage,
    GetFloatStatus,
    GetStarsVersion,
    HostCallback,
    IpcRecord,
    IpcWait,
    LabelSet,
    LabelSwitchByIndex,
    Maintenance,
    MemcpyAsync,
    MemcpyDescriptor,
    MemWaitValue,
    MemWriteValue,
    MixKernel,
    MixKind,
    ModelExecute,
    ModelMaintenance,
    ModelOperation,
    ModelTaskUpdate,
    ModelToAicpu,
    MultipleTask,
    Nop,
    NotifyClear,
    NotifyRecord,
    NotifyRecordIpc,
    NotifyWait,
    OverflowSwitch,
    ProfilerTraceEx,
    ProfilingDisable,
    ProfilingEnable,
    RdmaDoorbell,
    RdmaPiValueModify,
    RingBufferControl,
    SqeUpdate,
    SqLock,
    StarsCommon,
    StreamActive,
    StreamClear,
    StreamSwitch,
    StreamTag,
    Task,
    TaskType,
    TimeoutSet,
    UpdateAddress,
    WriteValue,
    WriteValuePointer,
)
from npuhal.records import replace

MAX_SQE = 4
"""SQEs of one task at most (core_spec 9.3)."""

_MEDIA_SQE = bytes([12]) + bytes(63)
_FUNCTION = {"function": 0x100, "function_bytes": 8}

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


def _ops(
    encode: Encode,
    layouts: str,
    *samples: type[Task] | Later | Task,
    verified: Literal["bytes", "rule"] = "bytes",
    sqes: int | Callable[[Any, Any], int] = 1,
) -> TaskOps:
    made = tuple(Later(each) if isinstance(each, type) else each for each in samples)
    return TaskOps(
        type=made[0].type,
        encode=encode,
        table=LAYOUTS,
        layouts=tuple(layouts.split()),
        samples=made,
        verified=verified,
        sqes=sqes,
    )


def _wait(kind: type[MemWaitValue], verified: Literal["bytes", "rule"] = "bytes") -> TaskOps:
    return _ops(
        condition.memory_wait,
        "nop write_value memory_wait memory_wait_end",
        Later(kind, **_FUNCTION),
        verified=verified,
        sqes=4,
    )


_CORE_LAYOUTS = "kernel_aic kernel_aiv kernel_one_core kernel_mix kernel_mix_aiv kernel_mix_locked invalid"

OPS: tuple[TaskOps, ...] = (
    # kernels
    _ops(
        kernel.core_kernel,
        _CORE_LAYOUTS,
        AicKernel,
        Later(MixKernel, mix=MixKind.MAIN_AIC),
        Later(MixKernel, mix=MixKind.AIC, dcache_lock=True),
    ),
    _ops(kernel.core_kernel, _CORE_LAYOUTS, AivKernel),
    _ops(aicpu.aicpu_kernel, "aicpu", AicpuKernel),
    _ops(
        kernel.ffts_plus,
        "ffts_plus kernel_mix kernel_mix_aiv dump_load_info",
        Later(FftsPlus, total_contexts=2),
        Later(FftsPlus, total_contexts=2, dump=True),
        sqes=kernel.ffts_plus_sqes,
    ),
    # copies, cache operations, value writes
    _ops(
        memory.memcpy,
        "sdma sdma_pointer pcie_dma memcpy_cpu invalid",
        MemcpyAsync,
        Later(MemcpyAsync, kind=CopyKind.HOST_TO_DEVICE),
        MemcpyDescriptor,
        SqeUpdate,
    ),
    _ops(memory.cmo, "sdma sdma_pointer cmo", Cmo, CmoDescriptor),
    _ops(memory.barrier, "barrier", Barrier(ids=((1, 1),))),
    _ops(memory.write_value, "write_value write_value_pointer", WriteValue, WriteValuePointer),
    _ops(memory.mem_write_value, "write_value invalid", MemWriteValue),
    _ops(memory.mem_write_value, "write_value invalid", CaptureRecord, verified="rule"),
    _ops(memory.mem_write_value, "write_value invalid", IpcRecord, verified="rule"),
    _ops(
        memory.record_external,
        "nop write_value write_value_pointer",
        CaptureRecordExternal,
        Later(CaptureRecordExternal, addr=8),
        verified="rule",
    ),
    _ops(memory.update_address, "update_address", UpdateAddress),
    _wait(MemWaitValue),
    _wait(CaptureWait, "rule"),
    _wait(IpcWait, "rule"),
    _ops(
        condition.wait_external,
        "nop write_value memory_wait",
        CaptureWaitExternal,
        Later(CaptureWaitExternal, addr=8, flag_addr=8, **_FUNCTION),
        verified="rule",
        sqes=3,
    ),
    # events and notifies
    _ops(event.event_record, "event_record bare", EventRecord, Later(EventRecord, waited=False)),
    _ops(event.event_wait, "event_wait", EventWait),
    _ops(event.event_reset, "event_reset", EventReset),
    _ops(
        event.notify_record,
        "notify_record notify_remote notify_remote_pcie",
        NotifyRecord,
        NotifyRecordIpc,
        Later(NotifyRecordIpc, pcie=True),
    ),
    _ops(event.notify_wait, "notify_wait", NotifyWait),
    # condition entries
    _ops(
        condition.model_execute,
        "model_execute",
        Later(ModelExecute, **_FUNCTION),
    ),
    _ops(
        condition.stream_switch,
        "stream_switch stream_switch_ex",
        Later(StreamSwitch, **_FUNCTION),
        Later(StreamSwitch, extended=True, **_FUNCTION),
    ),
    _ops(condition.stream_active, "stream_active", Later(StreamActive, **_FUNCTION)),
    _ops(
        condition.label_switch,
        "label_switch",
        Later(LabelSwitchByIndex, **_FUNCTION),
    ),
    _ops(condition.float_status, "float_status", GetFloatStatus),
    _ops(condition.pi_modify, "pi_modify", RdmaPiValueModify(addresses=(8,), **_FUNCTION)),
    _ops(
        condition.capture_condition,
        "capture_condition notify_wait capture_jump_back",
        Later(CaptureCondition, kind=ConditionKind.IF, **_FUNCTION),
        Later(CaptureCondition, kind=ConditionKind.WHILE, jump_function=0x200, jump_function_bytes=4, **_FUNCTION),
        verified="rule",
        sqes=condition.capture_condition_sqes,
    ),
    _ops(condition.rdma_doorbell, "rdma_doorbell rdma_sink_1 rdma_sink_2", RdmaDoorbell),
    # messages to the AICPU and the host
    _ops(aicpu.end_graph, "aicpu", EndGraph),
    _ops(aicpu.model_to_aicpu, "aicpu_model", ModelToAicpu),
    _ops(aicpu.timeout_set, "aicpu_timeout", TimeoutSet(wait_s=1)),
    _ops(aicpu.host_callback, "host_callback", HostCallback),
    # messages to the task scheduler
    _ops(control.nop, "nop", Nop),
    _ops(control.label_set, "label_set", LabelSet),
    _ops(control.sq_lock, "sq_lock", SqLock),
    _ops(control.maintenance, "maintenance", Maintenance),
    _ops(control.stars_version, "stars_version", GetStarsVersion),
    _ops(
        control.model_maintenance,
        "model_maintenance",
        *(Later(ModelMaintenance, operation=operation) for operation in ModelOperation),
    ),
    _ops(control.model_update, "model_update", ModelTaskUpdate),
    _ops(control.profiling_enable, "profiling_enable", ProfilingEnable),
    _ops(control.profiling_disable, "profiling_disable", ProfilingDisable),
    _ops(control.profiler_trace, "profiler_trace_ex", ProfilerTraceEx),
    _ops(control.dump_load_info, "dump_load_info", DataDumpLoadInfo),
    _ops(control.aicpu_info_load, "aicpu_info_load", AicpuInfoLoad),
    _ops(control.debug_register, "debug_register", DebugRegister),
    _ops(control.debug_unregister, "debug_unregister", DebugUnregister),
    _ops(control.debug_register_stream, "debug_register_stream", DebugRegisterForStream),
    _ops(control.debug_unregister_stream, "debug_unregister_stream", DebugUnregisterForStream),
    _ops(control.ring_buffer, "ring_buffer", RingBufferControl),
    _ops(control.overflow_switch, "overflow_switch", OverflowSwitch),
    _ops(control.stream_tag, "stream_tag", StreamTag),
    _ops(control.device_message, "device_message", GetDeviceMessage),
    _ops(control.clear_float_status, "clear_float_status", ClearFloatStatus),
    _ops(control.flip, "flip", Flip),
    _ops(control.common_command, "common_command", StreamClear, NotifyClear),
    # entries their caller wrote
    _ops(media.stars_common, "vpc jpege jpegd dsa", StarsCommon(sqe=_MEDIA_SQE)),
    _ops(
        media.multiple_task,
        "vpc jpege jpegd aicpu",
        MultipleTask(parts=(DvppPart(sqe=_MEDIA_SQE),)),
        sqes=media.multiple_task_sqes,
    ),
    *(replace(_ops(control.bare, "bare", BareTask(kind)), placeholder=True) for kind in BARE_TYPES),
)
"""Every task type STARS v1 has a builder for."""
