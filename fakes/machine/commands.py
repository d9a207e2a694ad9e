"""What a card keeps for chips that take commands: how far streams are, and what it was told about them."""

from __future__ import annotations

import ctypes
import struct
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation
    from fakes.machine.lent import Lent
    from fakes.machine.memory import Memory

_ROW = struct.Struct("<8I")
_VALID = 0x5A5A5A5A
_REPORT = struct.Struct("<HHIHH")
_FIRST, _LAST = 1, 4
_STREAM_LOW, _STREAM_HIGH = 10, 0x4000
_SQ, _HEAD = 0x1FF, 0x3FFF


class CommandState:
    """The part of a card that only commands use."""

    def __init__(self) -> None:
        self.table: Allocation | None = None
        """Where the state of each stream is told, of chips that share such a table."""
        self.reports: deque[bytes] = deque()
        """What was reported of commands, where there is no table."""
        self.given: Lent | None = None
        """Reports that the host is reading."""
        self.stops_at_failures: set[int] = set()
        """Streams that end at their first failed command."""
        self.operator_limit_s = self.wait_limit_s = 0
        """Limits for all operators and waits of the card; 0: none."""

    def free_table(self, memory: Memory) -> None:
        """Take the table back from the host."""
        if self.table is not None:
            memory.free(self.table.base)
            self.table = None

    def reset(self, memory: Memory) -> None:
        """Forget everything a process was told, or has said."""
        self.free_table(memory)
        self.__init__()  # type: ignore[misc]

    def write_row(self, stream_id: int, task_id: int, code: int = 0) -> None:
        """Write how far a stream is into the table (struct rtShmQuery_t), with the code of a task that has failed."""
        at = stream_id * _ROW.size
        if self.table is None or at + _ROW.size > self.table.size:
            return
        pointer = self.table.pointer + at
        _, first, first_task, last, last_task, said, last_said, _ = _ROW.unpack(ctypes.string_at(pointer, _ROW.size))
        if code:
            last, last_task, last_said = code, task_id, task_id << 16 | stream_id & 0xFFFF
            if not first:
                first, first_task, said = last, last_task, last_said
        row = _ROW.pack(task_id, first, first_task, last, last_task, said, last_said, _VALID)
        ctypes.memmove(pointer, row, _ROW.size)

    def report(self, stream_id: int, task_id: int, sq_id: int, head: int, *payloads: int) -> None:
        """Report a task (struct tagTsTaskReportMsg), in as many parts as there are payloads."""
        for index, payload in enumerate(payloads):
            parts = (_FIRST if not index else 0) | (_LAST if index == len(payloads) - 1 else 0)
            self.reports.append(_REPORT.pack(
                parts | (stream_id & (1 << _STREAM_LOW) - 1) << 6, task_id, payload, sq_id & _SQ,
                head & _HEAD | (_STREAM_HIGH if stream_id >> _STREAM_LOW & 1 else 0),
            ))  # fmt: skip
