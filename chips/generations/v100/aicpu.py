"""AICPU kernels, messages to the AICPU scheduler and host callbacks on STARS v1.

Sources: stars_kernel.hpp (RtStarsAicpuKernelSqe, RtStarsHostfuncCallbackSqe), stars_sqe.hpp (RtStarsAicpuControlSqe);
sqe_fill_rules 3.
"""

from __future__ import annotations

from functools import cache

from chips import credit
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import DEFAULT_CREDIT, LAYOUTS, ops, watched_after
from chips.packing import Encode
from chips.tasks import AicpuKernel, AicpuKind, AicpuPart, EndGraph, HostCallback, KernelFlag, ModelToAicpu, TimeoutSet

# plain numbers: flag arithmetic would cost more than the rest of a builder
_DUMP_FLAG, _DEVICE_FIRST_FLAG = int(KernelFlag.DUMP), int(KernelFlag.DEVICE_FIRST)
_HOST_ONLY_FLAG, _HOST_FIRST_FLAG = int(KernelFlag.HOST_ONLY), int(KernelFlag.HOST_FIRST)
_DEVICE_ONLY, _DEVICE_FIRST, _HOST_ONLY, _HOST_FIRST = 0, 1, 2, 3  # topic types of kernels
_HOST_CONTROL, _DEVICE_CONTROL = 4, 6  # topic types of callbacks
_TS_NEVER_AICPU = 35  # task schedulers before this version know no unlimited AICPU kernel
_DEFAULT_EXECUTE_S = 28
_POINTER_BITS = 0xFFFFFFFFFFFF
_KERNEL = LAYOUTS["aicpu"]
_MODEL = LAYOUTS["aicpu_model"]
_TIMEOUT = LAYOUTS["aicpu_timeout"]
_CALLBACK = LAYOUTS["host_callback"]


@cache
def _encoder() -> Encode:
    """Return what encodes a kernel, compiled for the first one."""
    return _KERNEL.encoder(
        "stream_id", "task_id", "wr_cqe", "post_p", "block_dim", "kernel_kind", "topic_type", "qos", "kernel_credit",
        "so_name", "param", "func_name", "overflow_en", "dump_en", "debug_dump_en", "extra",
    )  # fmt: skip


def topic_type(flags: int) -> int:
    """Where a kernel may run: the launch flags, the strongest first."""
    if flags & _HOST_FIRST_FLAG:
        return _HOST_FIRST
    if flags & _HOST_ONLY_FLAG:
        return _HOST_ONLY
    return _DEVICE_FIRST if flags & _DEVICE_FIRST_FLAG else _DEVICE_ONLY


def aicpu_kernel(
    task: AicpuKernel | AicpuPart, env: EncodeEnv, ids: TaskIds, *, head_offset: int = 0, report: bool = False
) -> bytes:
    """Build the SQE of an AICPU kernel; ``report`` forces a completion entry (parts of multiple tasks)."""
    dump = bool(task.flags & _DUMP_FLAG)
    never = credit.NEVER_CREDIT if env.ts_version >= _TS_NEVER_AICPU else DEFAULT_CREDIT
    return _encoder()(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=report or env.dvpp_group,
        post_p=watched_after(env),
        block_dim=task.block_dim,
        kernel_kind=task.kind,
        topic_type=topic_type(task.flags),
        qos=env.tsd_qos,
        kernel_credit=DEFAULT_CREDIT if dump else credit.aicpu(task.timeout_us, task.kind, env, never=never),
        so_name=task.so_name,
        param=task.args + (task.head_offset if isinstance(task, AicpuKernel) else head_offset),
        func_name=task.func_name,
        overflow_en=env.overflow_enabled,
        dump_en=dump,
        debug_dump_en=env.debug_registered and env.bound,
        extra=ids.task_id,
    )


def end_graph(task: EndGraph, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that tells the AICPU that a model's graph ends."""
    return _KERNEL.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        block_dim=1,
        kernel_kind=AicpuKind.AICPU,
        qos=env.tsd_qos,
        kernel_credit=DEFAULT_CREDIT,
        param=task.args,
        func_name=task.func_name,
        extra=ids.task_id,
    )


def model_to_aicpu(task: ModelToAicpu, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a model command for the AICPU scheduler."""
    return _MODEL.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        qos=env.tsd_qos,
        info=task.info,
        model_stream_id=env.stream_id,
        model_task_id=ids.task_id,
        model_id=task.model_id,
        command=task.command,
    )


def timeout_set(task: TimeoutSet, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that sets time limits; an execution limit of 0 stands for the default of 28 s."""
    return _TIMEOUT.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        qos=env.tsd_qos,
        kernel_credit=credit.aicpu_unlimited(env),
        wait_en=task.wait_s is not None,
        wait=task.wait_s or 0,
        execute_en=task.execute_s is not None,
        execute=0 if task.execute_s is None else task.execute_s or _DEFAULT_EXECUTE_S,
    )


def host_callback(task: HostCallback, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that makes the host call a function; addresses keep 48 bits, the event id 16."""
    return _CALLBACK.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        topic_type=_HOST_CONTROL if env.online else _DEVICE_CONTROL,
        cq_id=env.callback_cq_id,
        group_id=env.callback_group_id,
        device_id=env.device_id,
        callback_stream_id=env.stream_id,
        event_id=task.event_id & 0xFFFF,
        block=task.block,
        callback_task_id=ids.task_id,
        function=task.function & _POINTER_BITS,
        data=task.data & _POINTER_BITS,
        dest_pid=0 if env.online else env.host_pid,
    )


OPS = (
    ops(aicpu_kernel, "aicpu", AicpuKernel),
    ops(end_graph, "aicpu", EndGraph),
    ops(model_to_aicpu, "aicpu_model", ModelToAicpu),
    ops(timeout_set, "aicpu_timeout", TimeoutSet(wait_s=1)),
    ops(host_callback, "host_callback", HostCallback),
)
"""Builders of this module."""
