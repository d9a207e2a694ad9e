"""AICPU: kernels, messages to its scheduler, and the calls of host functions that it passes on."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "AicpuKernel",
    "AicpuKind",
    "AicpuMessageVersion",
    "EndGraph",
    "HostCallback",
    "ModelToAicpu",
    "TimeoutKind",
    "TimeoutSet",
]


class AicpuKind(enum.IntEnum):
    """Who executes an AICPU kernel (ts_aicpu_kernel types)."""

    CCE = 0
    FMK = 1
    AICPU = 2
    DATA_DUMP = 3
    CUSTOM = 4
    KFC = 5
    NONE = 127


@described
class AicpuKernel(Task):
    """A kernel on the AICPU: library and function by the device addresses of their names.

    ``head_offset`` is added to ``args``; ``block_dim`` is the number of AICPU threads asked for.
    """

    type: ClassVar[TaskType] = TaskType.KERNEL_AICPU
    so_name: int
    func_name: int
    args: int
    block_dim: int = 1
    head_offset: int = 0
    kind: int = AicpuKind.AICPU
    flags: int = 0
    timeout_us: int = 0


@described
class EndGraph(Task):
    """Mark the end of a model's graph for the AICPU: argument and kernel name by device address."""

    type: ClassVar[TaskType] = TaskType.MODEL_END_GRAPH
    model_id: int
    args: int
    func_name: int
    executor_flag: int = 0
    flags: int = 0


@described
class ModelToAicpu(Task):
    """Hand a model command to the AICPU scheduler; ``info`` is the device address of the model description."""

    type: ClassVar[TaskType] = TaskType.MODEL_TO_AICPU
    model_id: int
    command: int
    info: int
    executor_flag: int = 0


class TimeoutKind(enum.IntEnum):
    """Which time limit a time-out task sets."""

    WAIT = 0
    EXECUTE = 1


@described
class TimeoutSet(Task):
    """Set time limits for waits and for operators, in seconds; None leaves one alone."""

    type: ClassVar[TaskType] = TaskType.TASK_TIMEOUT_SET
    wait_s: int | None = None
    execute_s: int | None = None


@described
class HostCallback(Task):
    """Call a host function: its address and argument, and whether the stream waits for it (``block``)."""

    type: ClassVar[TaskType] = TaskType.HOSTFUNC_CALLBACK
    function: int
    data: int
    event_id: int = 0
    block: bool = False


@described
class AicpuMessageVersion(Task):
    """Agree with the AICPU scheduler on the message format."""

    type: ClassVar[TaskType] = TaskType.TSFW_AICPU_MSG_VERSION
