"""Records of another device's notify on v201: a write to the notify's register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule
from chips.tasks import NotifyRecordIpc

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_REGISTERS = 0x1FC05B0000000  # start of the notify registers
_FIELDS = ((4, 5), (5, 12), (8, 21))  # bits of an id, low ones first, and where they stand in a register's address
IPC_BY_ADDRESS = 3
"""Sub type of a value write that goes to the register of a notify."""
_SIZE_32_BIT = 2


def register(notify_id: int) -> int:
    """Return the address of a notify's register."""
    address = _REGISTERS
    for bits, place in _FIELDS:
        address += (notify_id & (1 << bits) - 1) << place
        notify_id >>= bits
    return address


def notify_at(address: int) -> int:
    """Return which notify's register lies at an address (the inverse of `register`)."""
    offset, number, low = address - _REGISTERS, 0, 0
    for bits, place in _FIELDS:
        number |= (offset >> place & (1 << bits) - 1) << low
        low += bits
    return number


def notify_record_ipc(at: Generation, task: NotifyRecordIpc, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the write to the register."""
    return at.encode(
        "write_value",
        env,
        ids,
        addr=register(task.notify_id),
        awsize=_SIZE_32_BIT,
        sub_type=IPC_BY_ADDRESS,
        **{"value[0]": 1},
    )


RULES = (Rule(NotifyRecordIpc, notify_record_ipc, ("write_value",)),)
"""Builders of this module."""
