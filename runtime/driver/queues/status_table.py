"""The table that a scheduler of commands shares with the host: per stream, how far it is and what has failed.

A row has 32 bytes (struct rtShmQuery_t): last task, code and task of the first failure, code and task of the last
one, what there is to say about each, and whether the row is valid. A queue of type SHM holds the rows, by stream id.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from chips.completion import STATUS_ROW, STATUS_VALID, pack_logic_report
from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import ResourceTable

ENTRIES, ENTRY_BYTES, REPORT_BYTES = 1024, 64, 16
"""Shape of the queue: entries, bytes of one, and of a completion entry (of which there are none)."""

_TASK_ERROR = 2


class StatusTable(HalCalls):
    """The rows of one device."""

    __slots__ = ("_base", "_clears", "_cq_id", "_known", "_table", "_words", "status_sq")

    def __init__(self, calls: HalCalls, resource_table: ResourceTable, ts_id: int = 0) -> None:
        super().__init__(calls.hal, calls.device_id)
        self._table = resource_table
        info: Any = s.halSqCqInputInfo()
        info.type, info.tsId = c.DRV_SHM_TYPE, ts_id
        info.sqeSize, info.cqeSize, info.sqeDepth, info.cqeDepth = ENTRY_BYTES, REPORT_BYTES, ENTRIES, ENTRIES
        out: Any = s.halSqCqOutputInfo()
        rc = self.hal.halSqCqAllocate(self.device_id, ctypes.byref(info), ctypes.byref(out))
        self.check(rc, "halSqCqAllocate", "table of the state of streams")
        self.status_sq, self._cq_id = int(out.sqId), int(out.cqId)
        self._base = int(out.queueVAddr)
        self._clears = not out.flag & c.TSRRV_FLAG_SQ_RDONLY
        size = ENTRIES * ENTRY_BYTES
        self._words = memoryview((ctypes.c_char * size).from_address(self._base)).cast("B").cast("I")
        self._known: dict[int, tuple[int, int, int, int]] = {}
        """Per stream, the failures that were taken."""

    def begin(self, stream_id: int) -> None:
        """Clear the row of a stream."""
        self._known.pop(stream_id, None)
        if self._clears:
            ctypes.memset(self._base + stream_id * STATUS_ROW.size, 0, STATUS_ROW.size)

    def last(self, stream_id: int) -> int | None:
        """Return the id of the last task that was executed; None before the first one."""
        at = stream_id * 8
        words = self._words
        return words[at] if words[at + 7] == STATUS_VALID else None

    def look(self, stream_id: int) -> bool:
        """Tell whether a row is there to be looked at: always."""
        return True

    def take(self, stream_id: int) -> list[bytes]:
        """Return what has failed since the last call, as logic reports: the first failure of all and the last one."""
        at = stream_id * 8
        _, code, task, last_code, last_task, payload, last_payload, valid = self._words[at : at + 8]
        if valid != STATUS_VALID or not (code or last_code):
            return []
        known = self._known.get(stream_id, (0, 0, 0, 0))
        self._known[stream_id] = code, task, last_code, last_task
        found = []
        if code and known[:2] != (code, task):
            found.append((task, code, payload))
        if last_code and known[2:] != (last_code, last_task) and (last_code, last_task) != (code, task):
            found.append((last_task, last_code, last_payload))
        return [pack_logic_report(stream_id, task, _TASK_ERROR, code, said) for task, code, said in found]

    def close(self) -> None:
        """Give the table back."""
        info: Any = s.halSqCqFreeInfo()
        info.type, info.sqId, info.cqId = c.DRV_SHM_TYPE, self.status_sq, self._cq_id
        ask = partial(self.hal.halSqCqFree, self.device_id, ctypes.byref(info))
        self.give_back(self._table, ask, self.close, "halSqCqFree", "table of the state of streams")
