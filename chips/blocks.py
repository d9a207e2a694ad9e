"""Blocks that SQEs point to and that must be in device memory first: mix contexts and condition programs.

Which blocks a task needs does not depend on the SQE that calls them, so this is one table for all generations; a task
without an address for a block has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds
    from chips.tasks import Task

FLAG_BYTES = 64
"""Size of the private flag of a memory wait; it starts as zeros."""


@dataclass(frozen=True, slots=True)
class DeviceBlock:
    """Bytes to write at a device address before the task is submitted."""

    name: str
    address: int
    data: bytes


def blocks(task: Task, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    """Return the blocks of a task in the order to write them; raises CondError for values a program cannot hold."""
    from chips.programs.blocks import MAKERS  # most programs have no task with blocks

    make = MAKERS.get(type(task))
    return make(task, env, ids) if make else ()
