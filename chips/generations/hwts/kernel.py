"""Kernels of chips without STARS.

Source: ToCommandBodyForAicAivTask and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.generations.hwts.command import DUMP_FLAGS, Fields, HwtsFacts, Rule
from chips.tasks import AicKernel, AivKernel, CoreKernel, Task, TaskType
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUpdate(Task):
    """Change a kernel that already waits: entry, arguments, dimensions."""

    type: ClassVar[TaskType] = TaskType.TASK_SQE_UPDATE
    pc: int
    args: int
    block_dim: int
    target_stream_id: int
    target_task_id: int
    block_dim_offset: int = 0
    saturation_mode: int = 0
    schem_mode: int = 0


def _kernel(task: CoreKernel, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.pc,
        "args": task.args,
        "literal_src": task.block_offset,
        "block_dim": task.block_dim,
        "schem": task.schem_mode,
        "priority": facts.priority,
        "dump": task.flags & DUMP_FLAGS,
    }


def _kernel_update(task: KernelUpdate, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.pc,
        "args": task.args,
        "literal_src": task.block_dim_offset,
        "literal_size": task.saturation_mode,
        "block_dim": task.block_dim,
        "target_stream_id": task.target_stream_id,
        "target_task_id": task.target_task_id,
        "schem": task.schem_mode,
    }


RULES = (
    Rule(AicKernel, _kernel, quiet=True),
    Rule(AivKernel, _kernel, quiet=True),
    Rule(KernelUpdate, _kernel_update),
)
"""Builders of this module."""
