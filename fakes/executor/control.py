"""Placeholders: messages to the task scheduler itself."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chips.tasks import MaintenanceKind
from fakes.errors import NotModelled, TaskFault
from fakes.executor import error_ring
from fakes.executor.condition import program
from fakes.executor.task import accepted
from fakes.faults import Effect

if TYPE_CHECKING:
    from fakes.executor.task import Task

_COMMAND_STREAM_CLEAR, _COMMAND_NOTIFY_RESET = 0, 1
_STEP_STOP = 0
"""The step of a stream clear that ends the running task; the other one throws away what is queued."""
_CAPABILITY_MAGIC = 0xA55A2022
_CAPABILITY = struct.Struct("<IIII16x")
_SNAPSHOT_BYTES, _CAPABILITY_BYTES = 17 * 1024, 10 * 1024
"""What lies at the end of the error ring: capabilities of the scheduler, then a snapshot area."""
_FORCE_RECYCLE = 0x67
"""Sub type of a maintenance message that ends the tasks of another stream; every other one only says hello."""
_MESSAGE = struct.Struct("<IIII")
_MESSAGE_MAGIC = 0xA55A2021
_STREAM = struct.Struct("<HHHH")
"""Head of a message (magic, process, bytes), and a running stream: stream, task, queue, whether it is swapped in."""
_RUNNING_STREAMS = 1


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
    ctypes.memmove(machine.memory.device_pointer(where, len(block), "error ring", writes=True), block, len(block))
    return 1


def device_message(task: Task) -> int:
    """The host asks what there is to say: about errors nothing (they are in the error ring), or which queues run."""
    fields, machine, device = task.fields, task.machine, task.device
    kind, executor = fields["kind"] if "kind" in fields else fields["message_type"], machine.executor
    told = b"" if kind != _RUNNING_STREAMS else b"".join(
        _STREAM.pack(sq.stream_id & 0xFFFF, executor.task_id(executor.decode(device, sq)), sq.sq_id & 0xFFF, 1 << 14)
        for sq in device.active.values() if sq is not task.sq
    )  # fmt: skip
    told = told[: max(fields["length"] - _MESSAGE.size, 0) // _STREAM.size * _STREAM.size]
    data = _MESSAGE.pack(_MESSAGE_MAGIC, machine.pid, _MESSAGE.size + len(told), 0) + told
    machine.memory.write(fields["addr"], data, "device message")
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


def invalid(task: Task) -> int:
    """An SQE that the hardware does not know ends with an SQE error."""
    raise TaskFault(f"the task scheduler does not know SQE type {task.fields['type']}", Effect.SQE_ERROR.value)


def unmodelled(task: Task) -> int:
    """A task the chip has and the fake does not."""
    raise NotModelled(task.kind, "see `npuhal fake coverage` for what is")


def create_stream(task: Task) -> int:
    """The host tells of a stream; the scheduler says which version it has."""
    from fakes.executor.commands import announce_version

    announce_version(task)
    return 1


def stream_command(task: Task) -> int:
    """Maintenance command: a stream goes, or what it still has to do is thrown away."""
    fields, device = task.fields, task.device
    goal = fields["goal"]
    if goal == MaintenanceKind.STREAM_DESTROY:
        device.commands.stops_at_failures.discard(fields["target_id"])
    elif goal == MaintenanceKind.STREAM_RECYCLE and fields["flag"] == _FORCE_RECYCLE:
        target = device.by_stream.get(fields["target_id"])
        if target is not None:
            target.drop()
            device.activate(target)
        task.detail = f"recycle stream {fields['target_id']}"
    elif goal == MaintenanceKind.EVENT_DESTROY:
        raise NotModelled("maintenance command EVENT_DESTROY", "events are freed by the host here")
    return 1


def stream_mode(task: Task) -> int:
    """Say what a failed task does to its stream: 0 go on, 1 stop."""
    stops, stream = task.device.commands.stops_at_failures, task.sq.stream_id
    if task.fields["mode"]:
        stops.add(stream)
    else:
        stops.discard(stream)
    return 1


Handler = Callable[["Task"], int]

_MESSAGES = (
    "nop", "profiling_enable", "profiling_disable", "debug_register", "debug_unregister",
    "debug_register_stream", "debug_unregister_stream", "overflow_switch", "stream_tag",
    "clear_float_status", "aicpu_info_load",
)  # fmt: skip

STARS: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in (*_MESSAGES, "profiler_trace_ex", "dump_load_info", "flip", "sq_lock")},
    "float_status": ("float_status", program),
    "maintenance": ("maintenance", maintenance),
    "stars_version": ("get_stars_version", version),
    "common_command": ("common_command", common_command),
    "ring_buffer": ("ring_buffer", ring_buffer),
    "device_message": ("get_device_message", device_message),
}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in (*_MESSAGES, "profiler_trace", "data_dump_load")},
    "maintenance": ("maintenance", maintenance),
    "float_status": ("float_status", program),
    "ring_buffer": ("ring_buffer", ring_buffer),
    "get_device_message": ("get_device_message", device_message),
}
COMMANDS: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in (
        "nop", "flip", "profiling_enable", "profiling_disable", "profiler_dynamic_enable", "profiler_dynamic_disable",
        "profiler_trace", "profiler_trace_ex", "onlineprof_start", "onlineprof_stop", "adcprof", "datadump_loadinfo",
        "aicpu_info_load", "debug_register", "debug_unregister", "debug_register_for_stream",
        "debug_unregister_for_stream",
    )},
    "create_stream": ("create_stream", create_stream),
    "maintenance": ("maintenance", stream_command),
    "set_stream_mode": ("stream_mode", stream_mode),
    "device_ringbuffer_control": ("ring_buffer", ring_buffer),
    "get_device_msg": ("get_device_message", device_message),
}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {
    **{name: (name, accepted) for name in ("profiling_enable", "profiling_disable")},
    "maintenance": ("maintenance", accepted),
}
