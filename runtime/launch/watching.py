"""Who watches a runtime: traces and launch logs that come and go in any order, and all see everything.

They share one `Recorder`: the first one starts it, the last one stops it. What was noted before somebody came is not
theirs, so each has its own view of the streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.records import replace
from runtime.launch.recorder import Recorder

if TYPE_CHECKING:
    from runtime.core.process.runtime import Runtime
    from runtime.launch.task_records import Lane, Sink


class Watch:
    """A tracing session: what happens from `start` to `stop` goes to a sink."""

    __slots__ = ("_before", "_count", "_recorder", "runtime", "sink")

    def __init__(self, runtime: Runtime, sink: Sink) -> None:
        self.runtime, self.sink = runtime, sink
        self._recorder: Recorder | None = None
        self._before: dict[int, tuple[int, int]] = {}
        """By lane that was there before: what had been submitted, and was pending, when the watch began."""
        self._count = 0

    def start(self) -> None:
        """Watch all streams that there are, and those to come."""
        runtime = self.runtime
        with runtime.watch_lock:
            recorder = runtime.tracer
            if not isinstance(recorder, Recorder):
                recorder = Recorder(runtime)
                recorder.start()
            self._note(recorder)
            self._recorder, self._count = recorder, len(recorder.lanes)
            recorder.sinks = (*recorder.sinks, self.sink)

    def _note(self, recorder: Recorder) -> None:
        """Note how far the streams are."""
        for lane in recorder.lanes:
            if not lane.stream.closed:
                lane.stream.drain()
                self._before[id(lane)] = (lane.stream.ring.submitted, lane.stream.ring.pending)

    def stop(self) -> None:
        """Stop; launchers without another tracer are replaced by plain ones at their next call."""
        recorder = self._recorder
        if recorder is None:
            return
        with self.runtime.watch_lock:
            recorder.sinks = tuple(sink for sink in recorder.sinks if sink is not self.sink)
            if not recorder.sinks and not recorder.stopped:
                recorder.stop()

    def threads(self) -> tuple[str, ...]:
        """Return the names of the host's threads, by the numbers that records have of them."""
        return () if self._recorder is None else tuple(self._recorder.threads)

    def lanes(self) -> tuple[list[Lane], dict[int, int]]:
        """Return the streams as they were when the watch began, or later when they were made; and numbers of records.

        The numbers lead from the id of the lane that a record names to the index in the list.
        """
        if self._recorder is None:
            return [], {}
        found: list[Lane] = []
        numbers: dict[int, int] = {}
        for index, lane in enumerate(self._recorder.lanes):
            before = self._before.get(id(lane))
            if before is None and index < self._count:
                continue  # a stream that had ended
            numbers[id(lane)] = len(found)
            found.append(lane if before is None else replace(lane, submitted=before[0], pending=before[1]))
        return found, numbers
