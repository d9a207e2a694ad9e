"""Builders of CHIP_5162A: kernels in entries of their own, nearly all else in placeholders for the task scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import credit
from chips.layout import load_layouts
from chips.tasks import (
    CoreKernel,
    EventRecord,
    EventReset,
    EventWait,
    HostCallback,
    LabelSet,
    LabelSwitchByIndex,
    Maintenance,
    MemcpyAsync,
    ModelExecute,
    ModelMaintenance,
    ModelOperation,
    NotifyRecord,
    NotifyWait,
    ProfilingDisable,
    ProfilingEnable,
    StreamActive,
    StreamSwitch,
)
from chips.yaml_file import beside

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

LAYOUTS = load_layouts(beside(__file__, "sqe.yaml"))
"""Entries of the ring (sqe.yaml)."""

_MAX_CREDIT = 256  # of time limits; the field holds what is left after counting from 0
_POOL_STACK_BYTES = 32768
_STACK_UNIT_BYTES = 16384
_STACK_LEVEL_OF_POOL = 2
_LEVEL_MASK = 0xFFF


def kernel(task: CoreKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a cube or vector kernel: one entry kind for both."""
    base, level = env.stack_base_32k, 0
    if task.min_stack_size > _POOL_STACK_BYTES:
        base = env.custom_stack_base
        level = (env.custom_stack_size // _STACK_UNIT_BYTES - _STACK_LEVEL_OF_POOL) & _LEVEL_MASK
    return _encode(
        "kernel",
        env,
        ids,
        block_dim=task.block_dim,
        kernel_credit=_credit(task.timeout_us, env),
        stack_base=base,
        pc=task.pc,
        param=task.args,
        stack_level=level,
    )


def event_record(task: EventRecord, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the record of an event: a write to its register, nothing where nobody waits for it."""
    report = task.timeline or task.report
    if not task.waited:
        return _encode("event_record_unwaited", env, ids, wr_cqe=report)
    return _encode("event_record", env, ids, wr_cqe=report, notify_id=task.event_id)


def event_reset(task: EventReset, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the reset of an event."""
    return _encode("event_reset", env, ids, notify_id=task.event_id)


def event_wait(task: EventWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for an event; the entry only says whether there is a time limit."""
    return _encode("notify_wait", env, ids, notify_id=task.event_id, timeout_en=task.timeout_s > 0)


def notify_record(task: NotifyRecord, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the record of a notify."""
    return _encode("notify_record", env, ids, notify_id=task.notify_id)


def notify_wait(task: NotifyWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for a notify."""
    return _encode("notify_wait", env, ids, notify_id=task.notify_id, timeout_en=task.timeout_s > 0)


def memcpy(task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a copy that the task scheduler does for the process ``host_pid``; sizes have 32 bits."""
    return _encode("memcpy", env, ids, src=task.src, dst=task.dst, length=task.size, pid=task.host_pid or env.host_pid)


def maintenance(task: Maintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode housekeeping of the stream, whatever the task says."""
    return _encode("maintenance", env, ids, wr_cqe=1)


def model_maintenance(task: ModelMaintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a step in the life of a model; ``exec_times_addr`` is a physical address here."""
    prepares = task.operation == ModelOperation.PRE_PROCESS
    return _encode(
        "model_maintain",
        env,
        ids,
        pre_p=task.operation != ModelOperation.LOAD_COMPLETE,
        model_id=task.model_id,
        op_stream_id=task.stream_id,
        operation=task.operation,
        stream_type=task.stream_type,
        first_task_id=task.first_task_id,
        endgraph_notify_id=task.endgraph_notify_id if prepares else 0,
        executor_flag=task.executor_flag if prepares else 0,
        exec_times_addr=task.exec_times_addr,
    )


def model_execute(task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the start of a model."""
    return _encode("model_execute", env, ids, model_id=task.model_id)


def stream_switch(task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the conditional activation of a stream: both operands are read from memory."""
    return _encode(
        "stream_switch_ex",
        env,
        ids,
        left=task.addr,
        right=task.value_addr,
        condition=task.condition,
        true_stream_id=task.true_stream_id,
        data_type=task.data_type,
    )


def stream_active(task: StreamActive, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the activation of a stream."""
    return _encode("stream_active", env, ids, active_stream_id=task.active_stream_id)


def label_set(task: LabelSet, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the position of a label."""
    return _encode("label_set", env, ids, label_id=task.label_id)


def label_switch(task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the jump to one of several labels."""
    return _encode(
        "label_switch_by_index",
        env,
        ids,
        index_addr=task.index_addr,
        label_info_addr=task.labels_addr,
        label_count_addr=task.count_addr,
        label_max=task.max_index,
    )


def profiling_enable(task: ProfilingEnable, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the start of profiling."""
    return _encode("profiling_enable", env, ids)


def profiling_disable(task: ProfilingDisable, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the end of profiling."""
    return _encode("profiling_disable", env, ids)


def host_callback(task: HostCallback, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a call of a host function."""
    return _encode(
        "host_callback",
        env,
        ids,
        wr_cqe=1,
        cq_id=env.callback_cq_id,
        group_id=env.callback_group_id,
        device_id=env.device_id,
        stream_id_copy=env.stream_id,
        event_id=task.event_id & 0xFFFF,  # none: all ones, in 16 bits here
        is_block=task.block,
        task_id_copy=ids.task_id,
        callback=task.function,
        data=task.data,
    )


def _encode(layout: str, env: EncodeEnv, ids: TaskIds, **fields: int) -> bytes:
    header = {"stream_id": env.stream_id, "task_id": ids.task_id, "wr_cqe": env.dvpp_group}
    return LAYOUTS[layout].encode(**{**header, **fields})


def _credit(time_us: int, env: EncodeEnv) -> int:
    """Credit of a kernel: counted from 0 always, so that the longest limit, and none at all, are 255."""
    limit = time_us or env.op_timeout_us
    if limit is None:
        counted = int(env.chip.prop("starsDefaultKernelCredit"))
    elif limit == credit.NEVER_US or not limit:
        counted = _MAX_CREDIT
    else:
        counted = credit.from_time(limit, env, _MAX_CREDIT)
    return max(counted - 1, 0)
