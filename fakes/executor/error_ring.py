"""The error ring: device memory that the host hands over, where the task scheduler writes what failed, and where.

A header of 32 bytes (magic, read and write position, number of elements, process, bytes of an element), then the
elements: 32 bytes that say what kind of failure it is, and what there is to say about it: kind and number of cores,
card, stream and task, and for a kernel its first core. The host moves the read position; what does not fit is lost. The
host finds the failed task by stream and task id, on STARS v2 by stream and position in the queue.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

from fakes.executor import kernel
from fakes.faults import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chips.chip import Chip
    from fakes.executor.task import Task
    from fakes.machine.card import Device

_MAGIC = 0xA55A2020
_HEADER = struct.Struct("<4IQII")
_POSITIONS = struct.Struct("<II")
_ELEMENT = struct.Struct("<QIIQH6x")
_COMMON = struct.Struct("<HHHBBIIHH")
_ALIGNMENT = 4
"""Bytes between that and what there is about cores."""
_WORD = struct.Struct("<Q")
_SQE = struct.Struct("<4HII64s")
_WAIT = struct.Struct("<BxHHHII")
_WAITED_FOR, _COUNT_WAITED_FOR = struct.Struct("<II"), struct.Struct("<III")
_CUBE, _VECTOR, _SDMA, _AICPU, _BAD_ENTRY, _WAITED, _FUSION, _CCU = 0, 1, 2, 3, 9, 10, 15, 16
_KINDS = {"copy": _SDMA, "memset": _SDMA, "aicpu": _AICPU, "aicpu_message": _AICPU, "fusion": _FUSION, "ccu": _CCU}
_WAITS = ("notify_wait", "event_wait")


def _shape(chip: Chip) -> tuple[int, int]:
    """Return how many elements a ring has, and the bytes of one."""
    return chip.traits.error_ring_elements, chip.traits.error_ring_element_bytes


def begin(device: Device, address: int) -> None:
    """Write the header of a ring that was handed over."""
    machine = device.machine
    count, size = _shape(machine.chip)
    header = _HEADER.pack(_MAGIC, 0, 0, count, machine.pid, size, 0)
    ctypes.memmove(machine.memory.device_pointer(address, len(header), "error ring", writes=True), header, len(header))
    device.error_ring = address


def report(task: Task, error_type: int, code: int, stream_id: int, task_id: int) -> None:
    """Write an element about a failed task, if the host has handed a ring over and there is space."""
    device = task.device
    start, memory = device.error_ring, task.machine.memory
    if not start:
        return
    count, size = _shape(task.machine.chip)
    block = memory.find(start)
    if block is None:
        return  # the host has freed it
    header = block.pointer + start - block.base
    head, tail = _POSITIONS.unpack(ctypes.string_at(header + 4, _POSITIONS.size))
    behind = (tail + 1) % count
    if behind == head or tail >= count:
        return
    kind, text = _payload(task, error_type, stream_id, task_id)
    data = _ELEMENT.pack(task.machine.pid, len(text), kind, code, 0) + text
    where = header + _HEADER.size + tail * size
    ctypes.memset(where, 0, size)
    ctypes.memmove(where, data, len(data))
    ctypes.c_uint32.from_address(header + 8).value = behind


def _payload(task: Task, error_type: int, stream_id: int, task_id: int) -> tuple[int, bytes]:
    identity, sq = task.device.identity, task.sq
    if error_type == Effect.TIMEOUT.value and task.kind in _WAITS:
        where = (stream_id, sq.sq_id, task_id, identity.chip_id, identity.die_id)
        return _WAITED, _WAIT.pack(task.fields["type"], *where) + _waited_for(task.fields)
    kind = _KINDS.get(task.kind)
    if task.kind == "kernel":
        kind = _VECTOR if "aiv" in task.layout else _CUBE
    if kind is None or error_type == Effect.SQE_ERROR.value:
        return _BAD_ENTRY, _SQE.pack(
            stream_id, sq.sq_id, task.position, task_id, identity.chip_id, identity.die_id, task.raw
        )
    cores = _core(task) if kind in (_CUBE, _VECTOR) else b""
    return kind, _COMMON.pack(kind, bool(cores), 0, 0, 0, identity.chip_id, identity.die_id, stream_id, task_id) + cores


def _core(task: Task) -> bytes:
    """Say of the first core of a kernel what it ran; registers that tell an error apart are 0, as after a trap."""
    code, arguments = kernel.start(task)
    size, begun, at, block = task.machine.chip.traits.error_ring_core
    told = bytearray(_ALIGNMENT + size)
    for offset, value in ((begun, code), (at, code), (block, arguments)):
        _WORD.pack_into(told, _ALIGNMENT + offset, value)
    return bytes(told)


def _waited_for(fields: Mapping[str, int]) -> bytes:
    """Say what a wait that ran out of time was for; STARS v2 adds way and value of a count notify."""
    number = fields["notify_id" if "notify_id" in fields else "event_id"]
    limit = fields.get("timeout", 0)  # not every chip's waits have one
    if "cnt_flag" not in fields:
        return _WAITED_FOR.pack(number, limit)
    way = fields["cnt_flag"] | fields["clr_flag"] << 1 | fields["wait_mode"] << 2 | fields["bitmap"] << 4
    return _COUNT_WAITED_FOR.pack(number | way << 17 | (fields["sub_type"] & 0x3FF) << 22, fields["cnt_value"], limit)
