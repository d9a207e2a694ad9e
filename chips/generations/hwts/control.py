"""Maintenance, streams, profiling, dumps and debugging of chips without STARS.

Source: ToCommandBodyForCreateStreamTask, ...ProfilingEnableTask, ...DataDumpLoadInfoTask and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.tasks import (
    AicpuInfoLoad,
    DataDumpLoadInfo,
    DebugRegister,
    DebugRegisterForStream,
    DebugUnregister,
    DebugUnregisterForStream,
    Flip,
    GetDeviceMessage,
    Maintenance,
    MaintenanceKind,
    Nop,
    ProfilerDynamic,
    ProfilerTraceEx,
    ProfilingDisable,
    ProfilingEnable,
    RingBufferControl,
    Task,
    TaskType,
)
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_FORCE_RECYCLE = 0x67
_PROFILE_EVENTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMaintenance(Maintenance):
    """Maintenance that reports to a queue of its own; ``terminal`` is the last task of its stream."""

    type: ClassVar[TaskType] = TaskType.MAINTENANCE
    terminal: bool = False
    wait_cq_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream(Task):
    """Tell the scheduler about a stream; the device facts come from ``HwtsFacts``."""

    type: ClassVar[TaskType] = TaskType.CREATE_STREAM
    pid: int
    attributes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStreamMode(Task):
    """Say what a failed task does to its stream: 0 go on, 1 stop."""

    type: ClassVar[TaskType] = TaskType.SET_STREAM_MODE
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerTrace(Task):
    """Put a mark into the profiling trace, with or without telling the host."""

    type: ClassVar[TaskType] = TaskType.PROFILER_TRACE
    trace_id: int
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineProfiling(Task):
    """Start or stop (``type``) online profiling into a buffer."""

    type: TaskType = TaskType.ONLINEPROF_START  # type: ignore[misc]
    addr: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdcProfiling(Task):
    """Give the scheduler a profiling buffer of ``length`` bytes."""

    type: ClassVar[TaskType] = TaskType.ADCPROF
    addr: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionDumpAddress(Task):
    """Say where the kernels of a fusion group dump to."""

    type: ClassVar[TaskType] = TaskType.FUSIONDUMP_ADDR_SET
    model_id: int
    addr: int
    size: int
    flag: int = 0


def create_stream(pid: int) -> CreateStream:
    """Return the task that tells the scheduler about a stream of a process."""
    return CreateStream(pid=pid)


def stream_mode(mode: int) -> SetStreamMode:
    """Return the task that says what a failed task does to its stream."""
    return SetStreamMode(mode=mode)


def _maintenance(task: Maintenance, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    forced = task.flag and task.kind == MaintenanceKind.STREAM_RECYCLE
    return {
        "goal": task.kind,
        "target_id": task.target_id,
        "thread_id": facts.thread_id,
        "flag": _FORCE_RECYCLE if forced else 0,
    }


def _queue_maintenance(task: QueueMaintenance, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return _maintenance(task, env, facts) | {"terminal": task.terminal, "wait_cq_id": task.wait_cq_id}


def _create_stream(task: CreateStream, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "pid": task.pid,
        "l2_base": facts.l2_base,
        "asid_base": facts.asid_base,
        "runtime_version": facts.runtime_version,
        "logic_cq_id": facts.logic_cq_id,
        "thread_id": facts.thread_id,
        "asid": facts.asid,
        "ssid": env.ssid,
        "priority": facts.priority,
        "attributes": task.attributes,
        "group_id": facts.group_id,
        "device_id": env.device_id,
        "log_to_host": facts.log_to_host,
    }


def _switches(task: ProfilingEnable) -> Fields:
    return {
        "pid": task.pid,
        "timeline": task.timeline,
        "task_based": task.task_based,
        "task_log": task.task_log,
        "soc_log": task.soc_log,
    }


def _profiling_enable(task: ProfilingEnable, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    if len(task.events) > _PROFILE_EVENTS:
        raise ValueError(f"events has {len(task.events)} entries; a profiling command takes {_PROFILE_EVENTS} at most")
    events = {f"events[{index}]": event for index, event in enumerate(task.events)}
    return (
        _switches(task)
        | events
        | {
            "start_cycle": task.start_cycle,
            "stop_cycle": task.stop_cycle,
            "user_defined": task.user_defined,
        }
    )


def _ring_buffer(task: RingBufferControl, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {"delete": 1} if task.delete else {"offset": task.phy_addr, "length": task.length}


RULES = (
    Rule(Maintenance, _maintenance),
    Rule(QueueMaintenance, _queue_maintenance),
    Rule(CreateStream, _create_stream),
    Rule(SetStreamMode, named("mode")),
    Rule(ProfilingEnable, _profiling_enable),
    Rule(ProfilingDisable, lambda task, env, facts: _switches(task)),
    Rule(
        ProfilerDynamic,
        named("pid"),
        types=(TaskType.PROFILER_DYNAMIC_ENABLE, TaskType.PROFILER_DYNAMIC_DISABLE),
    ),
    Rule(ProfilerTrace, named("trace_id", "notify")),
    Rule(ProfilerTraceEx, named("trace_id", "model_id", "tag_id")),
    Rule(OnlineProfiling, named("addr"), types=(TaskType.ONLINEPROF_START, TaskType.ONLINEPROF_STOP)),
    Rule(AdcProfiling, named("addr", "length")),
    Rule(DataDumpLoadInfo, named("info", "length")),
    Rule(AicpuInfoLoad, named("info", "length")),
    Rule(FusionDumpAddress, named("model_id", "addr", "size", "flag")),
    Rule(DebugRegister, named("addr", "model_id", "flag")),
    Rule(DebugUnregister, named("model_id")),
    Rule(DebugRegisterForStream, named("addr", "flag", target_stream_id="stream_id")),
    Rule(DebugUnregisterForStream, named(target_stream_id="stream_id")),
    Rule(RingBufferControl, _ring_buffer),
    Rule(GetDeviceMessage, named("addr", "phy_addr", "length", "kind")),
    Rule(Flip, named(flips="flip_number")),
    Rule(Nop, named()),
)
"""Builders of this module."""
