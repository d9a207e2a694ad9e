"""Data queue steps of v201: condition entries, each calling its own program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule
from chips.generations.v200.model import call, program
from chips.programs.body import schedule_end
from chips.tasks import DataQueueEnd, DataQueueStep, TaskType

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_CREDIT = 254

_STEPS = {
    TaskType.DQS_ENQUEUE: ("dqs_enqueue",),
    TaskType.DQS_DEQUEUE: ("dqs_dequeue",),
    TaskType.DQS_PREPARE: ("dqs_prepare",),
    TaskType.DQS_ZERO_COPY: ("dqs_zero_copy_in", "dqs_zero_copy_out"),
    TaskType.DQS_MBUF_FREE: ("dqs_mbuf_free",),
    TaskType.DQS_INTER_CHIP_PREPROC: ("dqs_inter_chip_preproc",),
    TaskType.DQS_INTER_CHIP_POSTPROC: ("dqs_inter_chip_postproc",),
    TaskType.DQS_ADSPC: ("dqs_adspc",),
    TaskType.DQS_BATCH_DEQUEUE: ("dqs_batch_dequeue",),
    TaskType.DQS_CONDITION_COPY: ("dqs_condition_copy",),
    TaskType.DQS_FRAME_ALIGN: ("dqs_frame_align",),
}


def step(at: Generation, task: DataQueueStep, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a step of the pipeline."""
    layout = _STEPS[task.type][-1 if task.outgoing else 0]
    return call(at, layout, env, ids, task.function, task.function_bytes, kernel_credit=_CREDIT)


def end(at: Generation, task: DataQueueEnd, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the end of the pipeline."""
    words = program(schedule_end(task.sq_id, task.snapshot))
    return at.encode("dqs_sched_end", env, ids, kernel_credit=_CREDIT, **words)


RULES = (
    *(
        Rule(
            DataQueueStep,
            step,
            layouts,
            verified="rule",
            samples=tuple(
                DataQueueStep(type=kind, function=0x1000, function_bytes=64, outgoing=bool(index))
                for index in range(len(layouts))
            ),
            type=kind,
        )
        for kind, layouts in _STEPS.items()
    ),
    Rule(DataQueueEnd, end, ("dqs_sched_end",), verified="rule"),
)
"""Builders of this module, by the written rules: no recorded bytes of data queue steps exist."""
