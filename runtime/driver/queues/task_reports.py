"""Reports of a scheduler of commands: one completion queue for all streams, read in two steps.

A report has 12 bytes (struct tagTsTaskReportMsg) and names the last task of its stream that was executed; one that
says more takes several reports in turn, from the first (SOP) to the last (EOP). Source: hal_semantics 4.8.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from chips.completion import TASK_REPORT, split_task_report
from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls
from runtime.driver.queues.pairs import NO_ID


class TaskReports(HalCalls):
    """What the streams of one device have reported."""

    __slots__ = ("_last", "_lock", "_parts", "_waiting", "cq_of", "status_sq", "ts_id")

    def __init__(self, calls: HalCalls, ts_id: int = 0) -> None:
        super().__init__(calls.hal, calls.device_id)
        self.status_sq, self.ts_id = NO_ID, ts_id
        self._last: dict[int, int] = {}
        self._parts: dict[tuple[int, int], bytes] = {}
        """Reports of a task whose last part has not come, by stream and task."""
        self._waiting: dict[int, list[bytes]] = {}
        self._lock = threading.Lock()

    def begin(self, stream_id: int) -> None:
        """Forget what was said of a stream: another one has its id from now on."""
        with self._lock:
            self._last.pop(stream_id, None)
            self._waiting.pop(stream_id, None)

    def last(self, stream_id: int) -> int | None:
        """Return the id of the last task that was reported; None before the first one."""
        return self._last.get(stream_id)

    def look(self, stream_id: int) -> bool:
        """Take what is in the queue, for all streams; tells whether there is something for this one."""
        with self._lock:
            self._receive_all()
            return stream_id in self._waiting

    def _receive_all(self) -> None:
        while self._receive():
            pass

    def take(self, stream_id: int) -> list[bytes]:
        """Return the reports of a stream that came since the last call, those of several parts put together."""
        with self._lock:
            return self._waiting.pop(stream_id, [])

    def _receive(self) -> int:
        """Read what the completion queue holds; returns how many reports it were."""
        wait: Any = s.halReportInfoInput()
        wait.type, wait.tsId, wait.timeout = c.DRV_NORMAL_TYPE, self.ts_id, 0
        ready: Any = s.halReportInfoOutput()
        rc = self.hal.halCqReportIrqWait(self.device_id, ctypes.byref(wait), ctypes.byref(ready))
        if rc == c.DRV_ERROR_WAIT_TIMEOUT:
            return 0
        self.check(rc, "halCqReportIrqWait")
        asked: Any = s.halReportGetInput()
        asked.type, asked.tsId = c.DRV_NORMAL_TYPE, self.ts_id
        got: Any = s.halReportGetOutput()
        self.check(self.hal.halCqReportGet(self.device_id, ctypes.byref(asked), ctypes.byref(got)), "halCqReportGet")
        count = int(got.count)
        if not count:
            return 0
        raw = ctypes.string_at(got.reportPtr, count * TASK_REPORT.size)
        release: Any = s.halReportReleaseInfo()
        release.type, release.tsId, release.count = c.DRV_NORMAL_TYPE, self.ts_id, count
        self.check(self.hal.halReportRelease(self.device_id, ctypes.byref(release)), "halReportRelease")
        for at in range(0, len(raw), TASK_REPORT.size):
            self._note(raw[at : at + TASK_REPORT.size])
        return count

    def _note(self, raw: bytes) -> None:
        stream, task, first, last = split_task_report(raw)
        if not first:
            raw = self._parts.pop((stream, task), b"") + raw
        if not last:
            self._parts[stream, task] = raw
            return
        self._last[stream] = task
        self._waiting.setdefault(stream, []).append(raw)

    def close(self) -> None:
        """Nothing is held."""
