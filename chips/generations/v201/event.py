"""Records of another device's notify on v201: a write to the notify's register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.addresses import IPC_BY_ADDRESS, register
from chips.generations.v200.generation import Generation, Rule
from chips.tasks import NotifyRecordIpc

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_SIZE_32_BIT = 2


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
