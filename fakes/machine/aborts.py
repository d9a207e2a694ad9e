"""The task scheduler ends tasks on request: the running one or all of a queue, or all there are (OPERATION_TYPE)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.machine.card import Device

_ABORT_APP, _QUERY_STATUS, _ABORT_STREAM, _STOP_STREAM = 0, 1, 2, 12
_ENDED_V1, _ENDED_V2 = 3, 6
"""APP_ABORT_TERMINATE_FINISH and DAVID_ABORT_TERMINATE_SUCC: requests are carried out at once."""


def answer(device: Device, operation: int, body: bytes) -> bytes | None:
    """Carry a request out and return the answer's union, or None for an operation that is none of these."""
    if operation == _ABORT_APP:
        for sq in device.queues.values():
            sq.drop()
        _settle(device)
        return struct.pack("<I", 0)
    if operation == _QUERY_STATUS:
        return struct.pack("<I", _ENDED_V1 if device.machine.plugin.name == "v100" else _ENDED_V2)
    if operation in (_ABORT_STREAM, _STOP_STREAM):
        (sq_id,) = struct.unpack_from("<I", body)
        found = device.queues.get(sq_id)
        if found is None:
            return struct.pack("<II", sq_id, 4)  # TS_ERROR_ILLEGAL_PARAM
        if operation == _STOP_STREAM:
            device.machine.executor.stop(device, found)
        else:
            found.drop()
        _settle(device)
        return struct.pack("<II", sq_id, 0)
    return None


def _settle(device: Device) -> None:
    for sq in list(device.active.values()):
        device.activate(sq)
    device.machine.changed.notify_all()
