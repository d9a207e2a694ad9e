"""Messages about models that the AICPU schedules: load, execute, destroy, abort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.executor import aicpu, together
from fakes.faults import Effect
from fakes.machine.scheduled import ScheduledModel, load
from fakes.schedule.scheduler import AICPU

if TYPE_CHECKING:
    from fakes.executor.task import Task

_LOAD, _EXECUTE, _DESTROY, _ABORT = 1, 2, 3, 4
_ABORTED = 0x99
"""What is said of a model that was aborted (TS_MODEL_ABORT_NORMAL)."""


def message(task: Task) -> int:
    """Do what the message asks for; an execution takes until the model's end was reached."""
    fields, known = task.fields, task.device.models.scheduled
    command = fields["command"] if "command" in fields else fields["model_cmd"]
    number = fields["model_id"]
    task.detail = f"model {number} command {command}"
    if command == _LOAD:
        if number in known:
            raise TaskFault(f"the AICPU has model {number} already", Effect.EXCEPTION.value)
        known[number] = load(task.device, fields["info"] if "info" in fields else fields["model_info"], number)
        return _taken(task)
    model = known.get(number)
    if model is None:
        raise TaskFault(f"the AICPU knows no model {number}", Effect.EXCEPTION.value)
    if command == _EXECUTE:
        return _execute(task, model)
    if command not in (_DESTROY, _ABORT):
        raise TaskFault(f"the AICPU knows no command {command} for models", Effect.EXCEPTION.value)
    _stop(task, model)
    if command == _DESTROY:
        del known[number]
    return _taken(task)


def _taken(task: Task) -> int:
    task.occupy(aicpu.MESSAGE_NS, AICPU)
    return 1


def _execute(task: Task, model: ScheduledModel) -> int:
    if not model.running:
        model.begin(task)
        task.device.models.execute(model.model_id, task.sq, task.position)
    elif model.runner is not task.sq:
        raise TaskFault(f"model {model.model_id} is being executed already", Effect.EXCEPTION.value)
    try:
        walked = _walk(task, model)
    except TaskFault:
        model.stop()
        raise
    if not walked or not model.ended:
        return 0
    # it is not running any more as soon as the head moves on
    task.start = task.start if model.began < 0 else model.began
    return 1


def _walk(task: Task, model: ScheduledModel) -> bool:
    """Run what the started streams of the AICPU hold; False when an engine or a kernel has to be waited for."""
    while (following := model.next) is not None:
        if together.resumed(task) is None:
            if together.taken(task.device, (AICPU,)):
                return False
            aicpu.perform(task, following)
        if not together.finished(task, (AICPU,), aicpu.KERNEL_NS):
            return False
        task.parts = None
        task.occupy(aicpu.KERNEL_NS, AICPU)
        model.began = task.start if model.began < 0 else model.began
        walking = model.behind()
        # nothing from here on can be interrupted: the functions of this task belong to it alone
        task.steps = 0
        model.walking = walking
        task.sq.memo.clear()
    return True


def _stop(task: Task, model: ScheduledModel) -> None:
    """End an execution; tasks that wait for it fail as aborted."""
    runner = model.runner if model.running else None
    model.stop()
    task.device.models.halt(model.model_id)
    if runner is not None:
        task.machine.executor.fail_head(task.device, runner, Effect.SOFTWARE.value, _ABORTED)


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {"aicpu_model": ("aicpu_model", message)}
STARS_V2: Mapping[str, tuple[str, Handler]] = {"aicpu_model_operate": ("aicpu_model", message)}
COMMANDS: Mapping[str, tuple[str, Handler]] = {}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {}
