"""Messages to the task scheduler: it ends tasks on request, and says what it knows (OPERATION_TYPE).

Each is a number of 32 bits and a body of 40 bytes, in both directions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from chips.traits import EventKind

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

BODY_BYTES = 40
_BY_PROCESS = 1
"""What a query of a state is about: 0 a queue, 1 the process, 2 a model."""
_RECOVERY_ENDED, _RECOVERED = 6, 1
"""States of a recovery, of the process and of a queue: requests are carried out at once."""
_ILLEGAL = 4
"""TS_ERROR_ILLEGAL_PARAM"""


def answer(device: Device, operation: int, body: bytes) -> bytes | None:
    """Carry a request out and return the answer's body, or None for an operation that there is not."""
    handler = _HANDLERS.get(operation)
    return None if handler is None else handler(device, body).ljust(BODY_BYTES, b"\0")


def _abort_process(device: Device, _body: bytes) -> bytes:
    for sq in device.queues.values():
        sq.drop()
    _settle(device)
    return struct.pack("<I", 0)


def _abort_status(device: Device, _body: bytes) -> bytes:
    return struct.pack("<I", device.chip.traits.abort_ended[-1])


def _abort_stream(device: Device, body: bytes) -> bytes:
    return _of_queue(device, body, lambda sq: sq.drop())


def _stop_stream(device: Device, body: bytes) -> bytes:
    return _of_queue(device, body, lambda sq: device.machine.executor.stop(device, sq))


def _of_queue(device: Device, body: bytes, act: Callable[[SubmissionQueue], None]) -> bytes:
    (sq_id,) = struct.unpack_from("<I", body)
    found = device.queues.get(sq_id)
    if found is None:
        return struct.pack("<II", sq_id, _ILLEGAL)
    act(found)
    _settle(device)
    return struct.pack("<II", sq_id, 0)


def _abort_model(device: Device, body: bytes) -> bytes:
    (model_id,) = struct.unpack_from("<I", body)
    if model_id not in device.ids["model"].used:
        return struct.pack("<II", model_id, _ILLEGAL)
    device.models.halt(model_id)
    _settle(device)
    return struct.pack("<II", model_id, 0)


def _recover_stream(device: Device, body: bytes) -> bytes:
    return _of_queue(device, body, _enable)


def _recover_process(device: Device, _body: bytes) -> bytes:
    for sq in device.queues.values():
        _enable(sq)
    _settle(device)
    return struct.pack("<I", 0)


def _enable(sq: SubmissionQueue) -> None:
    sq.enabled = True


def _recover_status(_device: Device, body: bytes) -> bytes:
    (choice,) = struct.unpack_from("<I", body)
    return struct.pack("<I", _RECOVERY_ENDED if choice == _BY_PROCESS else _RECOVERED)


def _register_base(device: Device, _body: bytes) -> bytes:
    return struct.pack("<Q", device.identity.stars_base)


def _version(device: Device, _body: bytes) -> bytes:
    return struct.pack("<Q", device.identity.ts_version)


def _interval(device: Device, _body: bytes) -> bytes:
    nanoseconds = device.machine.options.op_interval_ns
    return struct.pack("<II", nanoseconds >> 32, nanoseconds & 0xFFFFFFFF)  # the high word first


def _overflow(_device: Device, body: bytes) -> bytes:
    (stream_id,) = struct.unpack_from("<I", body)
    return struct.pack("<IB", stream_id, 0)


def _priority(_device: Device, body: bytes) -> bytes:
    """The scheduler takes a priority, and tells 0 when it is asked for one, as the recorded one does."""
    return struct.pack("<4I", *struct.unpack_from("<3I", body), 0)


def _swap_buffer(device: Device, _body: bytes) -> bytes:
    return struct.pack("<QQ", device.identity.swap_base, device.identity.swap_size)


_HANDLERS: dict[int, Callable[[Device, bytes], bytes]] = {
    0: _abort_process, 1: _abort_status, 2: _abort_stream, 3: _abort_status, 5: _register_base, 6: _version,
    7: _abort_model, 8: _recover_stream, 9: _recover_process, 10: _recover_status, 11: _interval, 12: _stop_stream,
    13: _overflow, 14: _priority, 15: _priority, 16: _swap_buffer,
}  # fmt: skip


def _settle(device: Device) -> None:
    for sq in list(device.active.values()):
        device.activate(sq)
    device.machine.changed.notify_all()


# -- the message that lets a stream behind a blocking callback go on ---------------------------------------------------

_RECORD = struct.Struct("<IB3xHHH")
_RECORD_EVENT = 15


def recorded(device: Device, data: bytes) -> tuple[str, int] | None:
    """Return the kind and number of the signal that a command of a callback queue sets, or None for another command."""
    _, kind, _stream, number, _task = _RECORD.unpack_from(data)
    if kind != _RECORD_EVENT:
        return None
    return "event" if device.chip.traits.events is EventKind.IDS else "notify", number
