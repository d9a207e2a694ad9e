"""Entries that their caller wrote: media engines, random numbers, tasks of several commands."""

from __future__ import annotations

from typing import ClassVar

from chips.tasks.types import Task, TaskType, described
from npuhal.records import dataclass

__all__ = [
    "AicpuPart",
    "DvppPart",
    "MultipleTask",
    "StarsCommon",
]


@described
class StarsCommon(Task):
    """An SQE the caller wrote (VPC, JPEG, DSA, ...): 64 bytes of which the runtime sets only the header."""

    type: ClassVar[TaskType] = TaskType.STARS_COMMON
    sqe: bytes
    flags: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DvppPart:
    """One accelerator command of a multiple task: its 64 bytes, its number among the parts."""

    sqe: bytes
    position: int = 0
    credit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AicpuPart:
    """One AICPU kernel of a multiple task."""

    so_name: int
    func_name: int
    args: int
    block_dim: int = 1
    kind: int = 2
    flags: int = 0
    timeout_us: int = 0


@described
class MultipleTask(Task):
    """Accelerator commands and AICPU kernels that belong together."""

    type: ClassVar[TaskType] = TaskType.MULTIPLE_TASK
    parts: tuple[DvppPart | AicpuPart, ...]
