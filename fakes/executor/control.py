"""Placeholders: messages to the task scheduler itself."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import NotModelled, TaskFault
from fakes.executor import error_ring
from fakes.faults import Effect

if TYPE_CHECKING:
    from fakes.executor import Task

_COMMAND_STREAM_CLEAR, _COMMAND_NOTIFY_RESET = 0, 1
_STEP_STOP = 0
"""The step of a stream clear that ends the running task; the other one throws away what is queued."""
_CAPABILITY_MAGIC = 0xA55A2022
_CAPABILITY = struct.Struct("<IIII16x")
_SNAPSHOT_BYTES, _CAPABILITY_BYTES = 17 * 1024, 10 * 1024
"""What lies at the end of the error ring: capabilities of the scheduler, then a snapshot area."""
_FORCE_RECYCLE = 0x67
"""Sub type of a maintenance message that ends the tasks of another stream; every other one only says hello."""
_STREAM_ADD, _STREAM_DELETE, _PRE_PROCESS, _MODEL_ABORT = 0, 1, 4, 6
"""Operations of model maintenance (mmt_type)."""
_ABORTED = 0x99
"""What the scheduler says of a model that was aborted (TS_MODEL_ABORT_NORMAL)."""


def accepted(task: Task) -> int:
    """A message whose effect is in firmware; nothing in the fake depends on it."""
    return 1


def maintenance(task: Task) -> int:
    """Stream housekeeping: a forced recycle ends what another queue still has to do."""
    if task.fields["sub_type"] == _FORCE_RECYCLE:
        target = task.device.by_stream.get(task.fields["target_id"])
        if target is not None:
            target.drop()
            task.device.activate(target)
        task.detail = f"recycle stream {task.fields['target_id']}"
    return 1


def version(task: Task) -> int:
    """GET_STARS_VERSION is answered in the error code of its completion."""
    task.error_code = task.device.identity.ts_version
    return 1


def ring_buffer(task: Task) -> int:
    """The host hands the error ring over, or takes it back; the scheduler writes its capabilities at the end of it."""
    fields, machine = task.fields, task.machine
    capability = machine.options.ts_capability
    task.device.error_ring = 0
    if fields["delete"]:
        return 1
    size = int(machine.chip.properties["ringbufSize"])
    start = fields["addr"] if "addr" in fields else machine.virtual(fields["offset"], task.device.index)
    error_ring.begin(task.device, start)
    if not capability:
        return 1
    where = start + size - _SNAPSHOT_BYTES - _CAPABILITY_BYTES
    block = _CAPABILITY.pack(_CAPABILITY_MAGIC, 0, len(capability), _CAPABILITY_BYTES - _CAPABILITY.size) + capability
    ctypes.memmove(machine.memory.device_pointer(where, len(block), "error ring"), block, len(block))
    return 1


def common_command(task: Task) -> int:
    """COMMON_CMD: stop or clear a stream, or reset a notify."""
    fields, device = task.fields, task.device
    if fields["command"] == _COMMAND_NOTIFY_RESET:
        device.signal(device.notifies, fields["notify_id"]).value = 0
    elif fields["command"] == _COMMAND_STREAM_CLEAR and fields["target_stream_id"] in device.by_stream:
        target = device.by_stream[fields["target_stream_id"]]
        if fields["step"] == _STEP_STOP:
            task.machine.executor.stop(device, target)
        else:
            target.drop()
        device.activate(target)
    return 1


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
        waiting = models.abort(fields["model_id"])
        if waiting is not None:
            task.machine.executor.fail_head(task.device, waiting, Effect.EXCEPTION.value, _ABORTED)
    task.detail = f"model {fields['model_id']} operation {operation}"
    return 1


def invalid(task: Task) -> int:
    """An SQE that the hardware does not know ends with an SQE error."""
    raise TaskFault(f"the task scheduler does not know SQE type {task.fields['type']}", Effect.SQE_ERROR.value)


def unmodelled(task: Task) -> int:
    """A task the chip has and the fake does not."""
    raise NotModelled(task.kind, "see `npuhal fake coverage` for what is")


Handler = Callable[["Task"], int]

_MESSAGES = (
    "nop", "label_set", "profiling_enable", "profiling_disable", "debug_register", "debug_unregister",
    "debug_register_stream", "debug_unregister_stream", "overflow_switch", "stream_tag",
    "clear_float_status", "aicpu_info_load",
)  # fmt: skip

STARS: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in (*_MESSAGES, "profiler_trace_ex", "dump_load_info", "flip", "sq_lock",
                                  "memory_wait_end")},
    "bare": ("event_record", accepted),
    "maintenance": ("maintenance", maintenance),
    "stars_version": ("get_stars_version", version),
    "model_maintenance": ("model_maintenance", model_maintenance),
    "common_command": ("common_command", common_command),
    "ring_buffer": ("ring_buffer", ring_buffer),
    "invalid": ("invalid", invalid),
}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in (*_MESSAGES, "profiler_trace", "data_dump_load")},
    "maintenance": ("maintenance", maintenance),
    "model_maintain": ("model_maintenance", model_maintenance),
    "event_record_unwaited": ("event_record", accepted),
    "ring_buffer": ("ring_buffer", ring_buffer),
    "invalid": ("invalid", invalid),
}
