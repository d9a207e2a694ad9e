"""Models: the condition entries that execute, switch and branch, and messages about models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.executor.condition import program
from fakes.executor.task import accepted, once
from fakes.faults import Effect

if TYPE_CHECKING:
    from fakes.executor.task import Task

_STREAM_ADD, _STREAM_DELETE, _PRE_PROCESS, _MODEL_ABORT = 0, 1, 4, 6
"""Operations of model maintenance (mmt_type)."""
_ABORTED = 0x99
"""What the scheduler says of a model that was aborted (TS_MODEL_ABORT_NORMAL)."""


def model_maintenance(task: Task) -> int:
    """Model maintenance: streams join and leave a model, a model is aborted; the rest is firmware's bookkeeping."""
    fields, models = task.fields, task.device.models
    operation = fields["operation"]
    stream = fields["op_stream_id"] if "op_stream_id" in fields else fields["stream_id"]
    if operation == _STREAM_ADD:
        if not models.bind(fields["model_id"], stream):
            raise TaskFault(f"stream {stream} has no queue to bind to model {fields['model_id']}", 1)
    elif operation == _STREAM_DELETE:
        models.unbind(stream)
    elif operation == _PRE_PROCESS:
        models.prepare(fields["model_id"], fields["endgraph_notify_id"])
    elif operation == _MODEL_ABORT:
        waiting = once(task, models.abort, fields["model_id"])
        if waiting is not None and waiting.enabled:
            task.machine.executor.fail_head(task.device, waiting, Effect.EXCEPTION.value, _ABORTED)
    task.detail = f"model {fields['model_id']} operation {operation}"
    return 1


Handler = Callable[["Task"], int]

_PROGRAMS = (
    "model_execute", "stream_switch", "stream_switch_ex", "stream_active", "capture_condition", "capture_jump_back",
)  # fmt: skip

STARS: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, program) for name in (*_PROGRAMS, "label_switch")},
    "label_set": ("label_set", accepted),
    "model_maintenance": ("model_maintenance", model_maintenance),
}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, program) for name in (*_PROGRAMS, "label_switch_by_index")},
    "label_set": ("label_set", accepted),
    "model_maintain": ("model_maintenance", model_maintenance),
}
COMMANDS: Mapping[str, tuple[str, Handler]] = {}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {}
