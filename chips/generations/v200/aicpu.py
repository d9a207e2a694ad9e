"""AICPU kernels and messages to the AICPU scheduler (RtDavidStarsAicpuKernelSqe, RtDavidStarsAicpuControlSqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import credit
from chips.generations.v200.generation import Generation, Rule
from chips.tasks import (
    AicpuKernel,
    AicpuKind,
    AicpuMessageVersion,
    EndGraph,
    HostCallback,
    KernelFlag,
    ModelToAicpu,
    TimeoutSet,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

HOST_TOPICS = frozenset({2, 3})
"""Topic types served by an AICPU of the host: TOPIC_TYPE_HOST_AICPU_ONLY and _FIRST."""

DUMP, _DEVICE_FIRST, _HOST_ONLY, _HOST_FIRST = (
    int(flag) for flag in (KernelFlag.DUMP, KernelFlag.DEVICE_FIRST, KernelFlag.HOST_ONLY, KernelFlag.HOST_FIRST)
)  # plain numbers: tests of enum flags cost a microsecond each

FUSED_HCOM = 1
"""Fusion sub type of a kernel that the communication CPU takes alone."""

_EXECUTE_DEFAULT_S = 28  # what "no limit for operators" means to the AICPU scheduler
_POINTER_48 = (1 << 48) - 1  # the builder keeps 16 bits of the upper half of callback pointers


def topic_type(flags: int, forced: int | None) -> int:
    """Return where an AICPU entry with these launch flags may run, as its topic type (rt TOPIC_TYPE_*)."""
    if forced is not None:
        return forced
    if flags & _HOST_FIRST:
        return 3
    if flags & _HOST_ONLY:
        return 2
    return 1 if flags & _DEVICE_FIRST else 0


def kernel_credit(timeout_us: int, kind: int, flags: int, env: EncodeEnv) -> int:
    """Return the credit of an AICPU kernel; a dumped kernel takes the longest one that is counted."""
    return credit.MAX_CREDIT if flags & DUMP else credit.aicpu(timeout_us, kind, env)


def kernel(at: Generation, task: AicpuKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode an AICPU kernel."""
    topic = topic_type(task.flags, at.topic_type)
    fused = env.hcom_cpu and task.kind == AicpuKind.KFC and task.block_dim == 1 and at.topic_type is None
    host = topic in HOST_TOPICS
    return at.encode(
        "aicpu_fused" if fused else "aicpu_host" if host else "aicpu",
        env,
        ids,
        block_dim=task.block_dim,
        sub_type=FUSED_HCOM if fused else 0,
        kernel_type=task.kind,
        topic_type=topic,
        qos=env.tsd_qos,
        kernel_credit=kernel_credit(task.timeout_us, task.kind, task.flags, env),
        so_name=task.so_name,
        param=task.args + task.head_offset,
        func_name=task.func_name,
        overflow_en=env.overflow_enabled,
        dump_en=task.flags & DUMP != 0,
        debug_dump_en=env.debug_registered and env.bound,
        post_p=env.debug_registered and not env.bound,
        extra_field=ids.task_sn,
    )


def end_graph(at: Generation, task: EndGraph, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the kernel that tells the AICPU that a graph has ended."""
    return at.encode(
        "aicpu",
        env,
        ids,
        block_dim=1,
        kernel_type=AicpuKind.AICPU,
        topic_type=at.topic_type or 0,
        qos=env.tsd_qos,
        param=task.args,
        func_name=task.func_name,
        overflow_en=env.overflow_enabled,
        dump_en=task.flags & DUMP != 0,
        extra_field=ids.task_sn,
    )


def model_to_aicpu(at: Generation, task: ModelToAicpu, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a model command for the AICPU scheduler."""
    return at.encode(
        "aicpu_model_operate",
        env,
        ids,
        topic_type=at.topic_type or 0,
        qos=env.tsd_qos,
        model_info=task.info,
        stream_id=env.stream_id,
        model_id=task.model_id,
        model_cmd=task.command,
    )


def timeout_set(at: Generation, task: TimeoutSet, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode new time limits for waits and operators."""
    execute = task.execute_s
    return at.encode(
        "aicpu_timeout_set",
        env,
        ids,
        topic_type=at.topic_type or 0,
        qos=env.tsd_qos,
        kernel_credit=credit.aicpu_unlimited(env),
        wait_en=task.wait_s is not None,
        execute_en=execute is not None,
        wait_timeout=task.wait_s or 0,
        execute_timeout=0 if execute is None else execute or _EXECUTE_DEFAULT_S,
    )


def message_version(at: Generation, task: AicpuMessageVersion, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the agreement on the message format."""
    return at.encode("aicpu_msg_version", env, ids, topic_type=at.topic_type or 0, qos=env.tsd_qos)


def host_callback(at: Generation, task: HostCallback, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a call of a host function; its pointers are cut to 48 bits."""
    return at.encode(
        "host_callback",
        env,
        ids,
        cq_id=env.callback_cq_id,
        group_id=env.callback_group_id,
        device_id=env.device_id,
        stream_id=env.stream_id,
        notify_id=task.event_id,
        task_id=ids.task_id,
        is_block=task.block,
        is_online=env.online,
        callback=task.function & _POINTER_48,
        data=task.data & _POINTER_48,
    )


RULES = (
    Rule(AicpuKernel, kernel, ("aicpu", "aicpu_host", "aicpu_fused")),
    Rule(EndGraph, end_graph, ("aicpu",)),
    Rule(ModelToAicpu, model_to_aicpu, ("aicpu_model_operate",)),
    Rule(TimeoutSet, timeout_set, ("aicpu_timeout_set",), samples=(TimeoutSet(wait_s=1, execute_s=0),)),
    Rule(AicpuMessageVersion, message_version, ("aicpu_msg_version",)),
    Rule(HostCallback, host_callback, ("host_callback",)),
)
"""Builders of this module."""
