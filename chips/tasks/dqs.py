"""Data queue scheduling: steps of a pipeline that moves message buffers between queues on the device (v201)."""

from __future__ import annotations

from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "DataQueueEnd",
    "DataQueueStep",
]


@described
class DataQueueStep(Task):
    """One step of the pipeline; ``type`` says which.

    The step is a program of ``function_bytes`` at ``function`` (256-byte aligned device address).  ``outgoing`` tells
    the two directions of a zero copy apart.
    """

    type: TaskType = TaskType.DQS_ENQUEUE  # type: ignore[misc]
    function: int
    function_bytes: int
    outgoing: bool = False


@described
class DataQueueEnd(Task):
    """The end of the pipeline: clear the buffer snapshot at ``snapshot`` and start queue ``sq_id`` over again."""

    type: ClassVar[TaskType] = TaskType.DQS_SCHED_END
    sq_id: int
    snapshot: int
