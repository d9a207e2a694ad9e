"""Values in memory: writes, also those that record a notify, and the programs that wait for a value."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chips import descriptor
from chips.addresses import IPC_BY_ADDRESS, notify_at
from fakes.checkers.access import READ, RELEASE
from fakes.errors import NotModelled, TaskFault
from fakes.executor.condition import program
from fakes.executor.event import record_elsewhere
from fakes.executor.task import accepted
from fakes.faults import Effect
from fakes.machine.identity import notify_behind

if TYPE_CHECKING:
    from chips.layout import Layout
    from fakes.executor.task import Task

_NOTIFY_WINDOW = 4
"""Sub type of a value write of STARS v2 that goes to the register of a notify, where the driver has mapped it."""


def write_value(task: Task) -> int:
    """Value write to memory, or on STARS v2 a notify record that names the notify."""
    fields = task.fields
    if fields["sub_type"] == _NOTIFY_WINDOW and "notify_id" in fields:
        found = notify_behind(task.machine.devices, fields["addr"])
        if found is None:
            raise TaskFault(f"no register of a notify lies at {fields['addr']:#x}", Effect.SQE_ERROR.value)
        return record_elsewhere(task, *found)
    if fields["sub_type"] == IPC_BY_ADDRESS:
        return record_elsewhere(task, task.device, notify_at(fields["addr"]))
    if fields["sub_type"]:
        raise NotModelled(f"write value of sub type {fields['sub_type']}")
    size = 1 << fields["awsize"]
    whole = fields.get("value")
    if whole is None:
        whole = sum(fields[f"value[{index}]"] << 32 * index for index in range(8))
    task.device.check_reach(fields["addr"], size, "value write")
    task.machine.memory.write(fields["addr"], whole.to_bytes(32, "little")[:size], "value write")
    task.touch(fields["addr"], size, RELEASE)
    task.device.wake()
    task.detail = f"{size} bytes at {fields['addr']:#x}"
    return 1


def write_by_pointer_v1(task: Task) -> int:
    """Value write whose address, width and value lie in memory (RtStarsWriteValuePtrDst)."""
    return _write_as_told(task, task.fields["pointer"], descriptor.write_layout(task.machine.chip))


def write_by_pointer_v2(task: Task) -> int:
    """Value write that is described by another entry in memory (RtDavidStarsWriteValueSqe)."""
    return _write_as_told(task, task.fields["descriptor"], descriptor.write_layout(task.machine.chip))


def _write_as_told(task: Task, address: int, block: Layout) -> int:
    raw = ctypes.string_at(task.machine.memory.device_pointer(address, block.size, "descriptor read"), block.size)
    task.touch(address, block.size, READ)
    told = block.decode(raw)
    task.fields = {**task.fields, **{name: value for name, value in told.items() if name not in task.fields}}
    return write_value(task)


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {
    "write_value": ("write_value", write_value),
    "write_value_pointer": ("write_value", write_by_pointer_v1),
    "memory_wait": ("memory_wait", program),
    "memory_wait_end": ("memory_wait_end", accepted),
}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "write_value": ("write_value", write_value),
    "write_value_pointer": ("write_value", write_by_pointer_v2),
    "mem_wait": ("mem_wait", program),
}
COMMANDS: Mapping[str, tuple[str, Handler]] = {}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {}
