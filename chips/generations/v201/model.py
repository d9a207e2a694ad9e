"""Serial scheduling of models on v201: announce, wait for the turn, hand it on (RtDavidStarsAicpuDqsSqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule
from chips.tasks import SerialSchedule, TaskType

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds


def announce(at: Generation, task: SerialSchedule, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the announcement that a model wants to run."""
    return _message("model_serial_pre", at, task, env, ids)


def hand_on(at: Generation, task: SerialSchedule, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the message that the model has run."""
    return _message("model_serial_post", at, task, env, ids)


def wait(at: Generation, task: SerialSchedule, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for the model's turn."""
    return at.encode("model_serial_wait", env, ids, notify_id=task.notify_id, clr_flag=1, timeout=task.timeout_s)


def _message(layout: str, at: Generation, task: SerialSchedule, env: EncodeEnv, ids: TaskIds) -> bytes:
    executing, own = task.sq_ids or (env.sq_id, 0)
    return at.encode(
        layout,
        env,
        ids,
        priority=task.priority,
        exe_sq_id=executing,
        model_id=task.model_id,
        notify_id=task.notify_id,
        user_group_id=task.group_id,
        sq_id=own,
        pid=task.pid,
    )


_STEPS = (
    (TaskType.MODEL_SERIAL_SCHED_PREPROC, announce, "model_serial_pre"),
    (TaskType.MODEL_SERIAL_SCHED_NOTIFY_WAIT, wait, "model_serial_wait"),
    (TaskType.MODEL_SERIAL_SCHED_POSTPROC, hand_on, "model_serial_post"),
)

RULES = tuple(
    Rule(SerialSchedule, build, (layout,), samples=(SerialSchedule(type=kind, model_id=1),), type=kind)
    for kind, build, layout in _STEPS
)
"""Builders of this module."""
