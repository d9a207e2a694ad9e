"""Profiling, dumps and messages of chips without STARS.

No recorded bytes exist for these chips; every builder follows the rule of the runtime's toCommand callback for its type
(ToCommandBodyForProfilingEnableTask, ...DataDumpLoadInfoTask, ...TimeoutSetTask and neighbours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.generations.hwts.tasks import AdcProfiling, FusionDumpAddress, OnlineProfiling, ProfilerTrace
from chips.tasks import (
    AicpuInfoLoad,
    DataDumpLoadInfo,
    DebugRegister,
    DebugRegisterForStream,
    DebugUnregister,
    DebugUnregisterForStream,
    Flip,
    GetDeviceMessage,
    HostCallback,
    Nop,
    ProfilerDynamic,
    ProfilerTraceEx,
    ProfilingDisable,
    ProfilingEnable,
    RingBufferControl,
    TaskType,
    TimeoutSet,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_PROFILE_EVENTS = 8


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


def _timeout_set(task: TimeoutSet, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "wait_enable": task.wait_s is not None,
        "execute_enable": task.execute_s is not None,
        "wait": task.wait_s or 0,
        "execute": task.execute_s or 0,
    }


def _ring_buffer(task: RingBufferControl, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {"delete": 1} if task.delete else {"offset": task.phy_addr, "length": task.length}


RULES = (
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
    Rule(TimeoutSet, _timeout_set),
    Rule(
        HostCallback,
        lambda task, env, facts: {
            "function": task.function,
            "data": task.data,
            "cq_id": env.callback_cq_id,
            "block": task.block,
        },
    ),
    Rule(Flip, named(flips="flip_number")),
    Rule(Nop, named()),
)
