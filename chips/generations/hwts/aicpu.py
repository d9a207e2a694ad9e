"""AICPU kernels, messages to its scheduler and host callbacks of chips without STARS.

Source: ToCommandBodyForAicpuTask, ...TimeoutSetTask and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.generations.hwts.command import DUMP_FLAGS, Fields, HwtsFacts, Rule, named
from chips.tasks import AicpuKernel, EndGraph, HostCallback, ModelToAicpu, Task, TaskType, TimeoutSet
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedAicpuKernel(AicpuKernel):
    """An AICPU kernel with the size of its arguments in bytes, which only these chips are told."""

    type: ClassVar[TaskType] = TaskType.KERNEL_AICPU
    args_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveAicpuStream(Task):
    """Let the AICPU activate a stream: kernel name, arguments and their size."""

    type: ClassVar[TaskType] = TaskType.ACTIVE_AICPU_STREAM
    func_name: int
    args: int
    args_size: int
    kind: int = 0


def _aicpu_kernel(task: AicpuKernel, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.func_name,
        "args": task.args + task.head_offset,
        "literal_src": task.so_name,
        "literal_dst": task.kind,
        "literal_size": task.args_size if isinstance(task, SizedAicpuKernel) else 0,
        "block_dim": task.block_dim,
        "priority": facts.priority,
        "dump": task.flags & DUMP_FLAGS,
    }


def _active_aicpu_stream(task: ActiveAicpuStream, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.func_name,
        "args": task.args,
        "literal_dst": task.kind,
        "literal_size": task.args_size,
        "block_dim": 1,
        "priority": facts.priority,
    }


def _end_graph(task: EndGraph, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func_name": task.func_name,
        "args": task.args,
        "model_id": task.model_id,
        "executor": task.executor_flag,
        "priority": facts.priority,
        "dump": task.flags,
    }


def _timeout_set(task: TimeoutSet, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "wait_enable": task.wait_s is not None,
        "execute_enable": task.execute_s is not None,
        "wait": task.wait_s or 0,
        "execute": task.execute_s or 0,
    }


RULES = (
    Rule(AicpuKernel, _aicpu_kernel, quiet=True),
    Rule(SizedAicpuKernel, _aicpu_kernel, quiet=True),
    Rule(ActiveAicpuStream, _active_aicpu_stream),
    Rule(EndGraph, _end_graph, ends_graph=True),
    Rule(ModelToAicpu, named("info", "model_id", "command", executor="executor_flag")),
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
)
"""Builders of this module."""
