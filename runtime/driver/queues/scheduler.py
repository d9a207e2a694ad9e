"""What the task scheduler can do, and the requests it takes by control message (ts_tsch_defines, capability area).

A message is a 32-bit operation and a union of 40 bytes; the answer repeats the operation.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING

from chips.env import CAPABILITIES as CAPABILITIES
from runtime import errors

if TYPE_CHECKING:
    from runtime.driver.device import DeviceDriver

VERSIONS = {"TS_MODEL_ABORT": 11, "SET_STREAM_MODE": 13, "NOP_TASK": 28, "WAIT_TIMEOUT_DC": 32}
"""Versions from which on a scheduler can do what no bit is asked for (TS_VERSION_*)."""
_EARLY = ("OVER_FLOW_DEBUG", "D2D_ADDR_ASYNC", "FLIPTASK", "FFTSPLUS_TIMEOUT", "MC2_RTS_SUPPORT_HCCL")
_MIDDLE = (*_EARLY, "MC2_RTS_SUPPORT_HCCL_DC")
_LATE = (*_MIDDLE, "TILING_KEY_SINK", "MC2_ENHANCE")
_BRANCHES = {0: (*_LATE, "TASK_ABORT"), 3: _EARLY, 4: _MIDDLE, 5: _LATE}
"""By the branch of a scheduler's sources, what it has without a bitmap: each from its bit number on, as a version."""


class Operation(IntEnum):
    """Requests about queues and running tasks (OPERATION_TYPE)."""

    ABORT_APP = 0
    QUERY_ABORT_STATUS = 1
    ABORT_STREAM = 2
    STOP_STREAM = 12
    UPDATE_STREAM_PRIORITY = 14
    QUERY_STREAM_PRIORITY = 15


class AbortState(IntEnum):
    """How far an abort has got, in order."""

    STARTED = 0
    KILLED = 1
    ENDED = 2
    FAILED = 3


_BY_SQ, _BY_PROCESS = 0, 1
_ALL = 0xFFFFFFFF
_QUEUE_FULL = frozenset({0x5, 0x80})
"""Results that say: ask again."""


def capabilities(bitmap: bytes, version: int, *, complete: bool = False) -> frozenset[str]:
    """Return the names in `CAPABILITIES` and `VERSIONS` of what a scheduler can do.

    Args:
        bitmap: what it has written; bit n is bit n % 8 of byte n // 8. Without one the version says what it can do.
        version: the number that it answers: the branch of its sources, and in the low 16 bits the version.
        complete: it comes with the runtime, so that it has all capabilities (DEVICE_TSCH_PACAGE_COMPATABLE).
    """
    since = {name for name, first in VERSIONS.items() if version >= first}
    if complete:
        return frozenset(since.union(CAPABILITIES))
    if bitmap:
        return frozenset(since.union(
            name for name, bit in CAPABILITIES.items() if bit // 8 < len(bitmap) and bitmap[bit // 8] >> bit % 8 & 1
        ))  # fmt: skip
    branch = _BRANCHES.get(version >> 16, ())
    return frozenset(since.union(name for name in branch if version & 0xFFFF >= CAPABILITIES[name]))


class SchedulerMessages:
    """Requests of one device's task scheduler about running tasks."""

    __slots__ = ("_driver", "_states")

    def __init__(self, driver: DeviceDriver) -> None:
        self._driver = driver
        traits = driver.machine.chip.traits
        self._states = {
            **dict.fromkeys(traits.abort_killed, AbortState.KILLED),
            **dict.fromkeys(traits.abort_ended, AbortState.ENDED),
            **dict.fromkeys(traits.abort_failed, AbortState.FAILED),
        }
        """By status word; any other word means that the abort has only begun."""

    def abort_stream(self, sq_id: int) -> bool:
        """Ask to end what a queue executes; False when the scheduler's own queue is full."""
        return self._about_queue(Operation.ABORT_STREAM, sq_id, "end of the tasks")

    def stop_stream(self, sq_id: int) -> bool:
        """Ask to end only the running task of a queue; False when the scheduler's own queue is full."""
        return self._about_queue(Operation.STOP_STREAM, sq_id, "stop of the running task")

    def _about_queue(self, operation: Operation, sq_id: int, what: str) -> bool:
        result = self._driver.control_message(operation, "<4xI", struct.pack("<I", sq_id))
        return self._accepted(result, f"{what} of sq {sq_id}")

    def abort_all(self) -> bool:
        """Ask to end everything this process runs; False when the scheduler's own queue is full."""
        return self._accepted(self._driver.control_message(Operation.ABORT_APP, "<I"), "end of all tasks")

    def stream_ended(self, sq_id: int) -> bool:
        """Whether the end of a queue's tasks is done."""
        return self._reached(_BY_SQ, sq_id, AbortState.ENDED)

    def all_reached(self, state: AbortState) -> bool:
        """Whether the end of all tasks has got that far."""
        return self._reached(_BY_PROCESS, _ALL, state)

    def _reached(self, choice: int, target: int, state: AbortState) -> bool:
        word = self._driver.control_message(
            Operation.QUERY_ABORT_STATUS, "<I", struct.pack("<II", choice, target)
        )
        now = self._states.get(word, AbortState.STARTED)
        if now is AbortState.FAILED:
            raise errors.fault(
                "RT_ERROR_TSFW_ILLEGAL_PARAM", f"the task scheduler could not end the tasks (status {word})",
                hint="reset the device",
            )
        return now >= state

    def set_priority(self, sq_id: int, priority: int) -> None:
        """Give a queue another priority."""
        request = struct.pack("<4I", sq_id, 0, 0, priority)
        self._driver.control_message(Operation.UPDATE_STREAM_PRIORITY, "<12xI", request)

    def priority(self, sq_id: int) -> int:
        """Return the priority that the scheduler has for a queue."""
        request = struct.pack("<4I", sq_id, 0, 0, 0)
        return self._driver.control_message(Operation.QUERY_STREAM_PRIORITY, "<12xI", request)

    @staticmethod
    def _accepted(result: int, what: str) -> bool:
        if result in _QUEUE_FULL:
            return False
        if result:
            raise errors.fault(
                "RT_ERROR_TSFW_ILLEGAL_PARAM", f"{what}: the task scheduler answered {result:#x}",
                hint="reset the device",
            )
        return True
