"""Watches launches phase by phase, and what else goes into streams: the `Tracer` behind traces and launch logs.

A watched launch is the plain launcher with lines in between that note when a phase has ended. What it costs is a list,
which is the whole record, and seven looks at the clock. All else (names, decoding, sums) waits until somebody reads the
records.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from runtime.core.diagnostics.tracing import (
    AT_BUILT,
    AT_DESCRIBED,
    AT_END,
    AT_MOVED,
    AT_PENDING,
    AT_POSITION,
    AT_SENT,
    AT_SQES,
    AT_TAKEN,
)
from runtime.core.stream.stream import as_stream
from runtime.core.submission.sink import HARDWARE, OwnSink, Target
from runtime.launch.task_records import CAPTURED, NOT_SENT, PROGRAM, Lane, Report, Sink, Span, Waited, call_site_of

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.ports import StreamPort
    from runtime.core.process.runtime import Runtime
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo

_PACKAGE = "runtime"
_BETWEEN = frozenset({"contextlib", "functools", "threading", "weakref"})
"""Modules of the standard library through which this package calls itself: nobody submits a task from there."""
_clock = time.perf_counter_ns

_NAMING = threading.Lock()


class _Here(threading.local):
    """What each thread has on its way."""

    def __init__(self, names: list[str]) -> None:
        """Args: names: what threads are called, in the order in which they come; the system uses its numbers again."""
        with _NAMING:
            names.append(threading.current_thread().name)
            self.mine: list[Any] = [[0] * AT_END + [1], len(names) - 1]
        """Stamps of a launch or task, whose end is stamped when it is over, and the number of the thread. Read faster
        than it is set."""


class Recorder:
    """A `Tracer` that tells everything to its sinks; `runtime.launch.watching` starts and stops it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.sinks: tuple[Sink, ...] = ()
        """The tracing sinks; replaced as a whole, because any thread may be iterating over them."""
        self.lanes: list[Lane] = []
        self.threads: list[str] = []
        """Names of the threads that have done something, by the number that records have of them."""
        self._here = _Here(self.threads)
        self._by_stream: dict[int, Lane] = {}
        self._outside: dict[int, CodeType] = {}
        """Code of the user's that has submitted something, by id: to hash a code object takes longer than a launch."""
        self.stopped = False

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Watch all streams that there are, and those to come."""
        self.runtime.tracer = self
        for stream in self._streams():
            _release(stream)
            stream.drain()
            self.attach(stream)
        for device in self.runtime.open_devices():
            for model in (model for context in device.contexts() for model in context.all_models()):
                for stream in (stream for part in model.tree() for stream in part.streams):
                    self._add_lane(stream)  # it has its tasks, and only executes them

    def stop(self) -> None:
        """Stop tracing; launchers that were bound meanwhile are replaced by plain ones at their next call."""
        self.stopped = True
        self.runtime.tracer = None
        for stream in self._streams():
            if stream.tracer is self:
                _release(stream)

    def _streams(self) -> list[Stream]:
        return [stream for device in self.runtime.open_devices() for stream in device.streams() if not stream.closed]

    def attach(self, stream: StreamPort) -> None:
        """Watch a stream."""
        stream = as_stream(stream)
        lane = self._add_lane(stream)
        self._by_stream[id(stream)] = lane
        stream.tracer = self
        if stream.own_sink is HARDWARE:
            stream.sinks.change_own(_WatchedSink(self, lane))
        else:
            stream.launchers.clear()

    def _add_lane(self, stream: Stream) -> Lane:
        device, ring = stream.device, stream.ring
        lane = Lane(
            stream, device.device_id, device.user_id, stream.stream_id, stream.name, stream.sq_path,
            device.arguments.way, ring.submitted, ring.pending, [None] * ring.depth,
        )
        self.lanes.append(lane)
        return lane

    # -- launches --------------------------------------------------------------------------------------------------

    def launcher(self, launch: Callable[..., Any], stream: StreamPort, label: TaskInfo,
                 again: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """Return a launcher that notes when it was called, from where, and what was pending."""
        unwatched: Callable[..., Any] | None = None
        here, lane, ring = self._here, self._by_stream[id(stream)], stream.ring
        clock, nowhere = _clock, NOT_SENT if stream.branch is None else CAPTURED
        outside, caller, getframe = self._outside, self._caller, sys._getframe

        def watched(*arguments: Any) -> None:
            nonlocal unwatched
            if self.stopped:
                unwatched = unwatched or again()
                unwatched(*arguments)
                return
            frame = getframe(1)
            if id(frame.f_code) not in outside:
                frame = caller(frame)
            mine = here.mine
            mine[0] = stamps = [
                lane, label, frame.f_code, frame.f_lasti, nowhere, 0, mine[1], b"", clock(), 0, 0, 0, 0, 0, 0
            ]  # fmt: skip
            try:
                launch(*arguments)
            finally:
                stamps[AT_END] = clock()
                stamps[AT_PENDING] = ring.submitted - ring.reclaimed
                for sink in self.sinks:
                    sink.sent(stamps)

        return watched

    def writer(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step with stamps before and behind it."""
        here, clock = self._here, _clock

        def written(block: Any, image: bytes) -> None:
            stamps = here.mine[0]  # of a task that no launcher sends: those of the one before, and not read any more
            stamps[AT_DESCRIBED] = clock()
            write(block, image)
            stamps[AT_MOVED] = clock()

        return written

    def watching(self, stream: StreamPort) -> dict[str, Any]:
        """Return what written sends set stamps with; a position is the ring's at that moment, for the lock is held."""
        return {"here": self._here, "clock": _clock, "by_position": self._by_stream[id(stream)].by_position}

    # -- everything else -------------------------------------------------------------------------------------------

    def waited(self, stream: StreamPort, began_ns: int, what: str) -> None:
        """Note a wait that ends now."""
        lane = self._by_stream[id(stream)]
        record = Waited(lane, what, began_ns, _clock(), self._here.mine[1], stream.ring.reclaimed)
        for sink in self.sinks:
            sink.waited(record)

    def reported(self, stream: StreamPort, position: int | None, ticks: int) -> None:
        """Note a completion entry."""
        record = Report(self._by_stream[id(stream)], position, ticks, _clock())
        for sink in self.sinks:
            sink.report(record)

    def call_site(self, stream: StreamPort, position: int | None) -> str:
        """Return "file:line" of who submitted the newest task at a ring position, or ""."""
        stamps = None if position is None else self._by_stream[id(stream)].by_position[position]
        return "" if stamps is None else call_site_of(stamps)

    @contextmanager
    def span(self, name: str, **facts: Any) -> Iterator[None]:
        """Note work of the host."""
        began = _clock()
        try:
            yield
        finally:
            self._span(Span(name, facts, began, _clock(), self._here.mine[1]))

    def annotated(self, name: str, began_ns: int) -> None:
        """Note a mark or stretch of the program's own."""
        self._span(Span(name, PROGRAM, began_ns, _clock(), self._here.mine[1]))

    def _span(self, record: Span) -> None:
        for sink in self.sinks:
            sink.span(record)

    def _caller(self, frame: FrameType) -> FrameType:
        """Return the nearest frame outside of this package, and remember its code."""
        while id(frame.f_code) not in self._outside:
            module = frame.f_globals.get("__name__", "")
            ours = module.partition(".")[0] == _PACKAGE or module in _BETWEEN
            if not ours or frame.f_back is None:
                self._outside[id(frame.f_code)] = frame.f_code
                break
            frame = frame.f_back
        return frame


class _WatchedSink(OwnSink):
    """Stands in front of a stream's hardware queue and notes the phases of tasks on the slow path."""

    __slots__ = ("_lane", "_own", "_recorder")
    name, immediate = HARDWARE.name, HARDWARE.immediate

    def __init__(self, recorder: Recorder, lane: Lane) -> None:
        self._recorder, self._lane = recorder, lane
        self._own = False
        """Whether the task that is being sent is none of a launcher; the stream's lock is held meanwhile."""

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Take everything."""
        return Target(stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take places, and note where the task comes from."""
        recorder = self._recorder
        mine = recorder._here.mine
        self._own = bool(mine[0][AT_END])
        if self._own:
            frame = recorder._caller(sys._getframe(1))
            mine[0] = [
                self._lane, info, frame.f_code, frame.f_lasti, NOT_SENT, 0, mine[1], b"", _clock(), 0, 0, 0, 0, 0, 0
            ]  # fmt: skip
        try:
            ids = HARDWARE.alloc(stream, count, info)
        except BaseException:
            self._done(stream, b"")
            raise
        stamps = mine[0]
        stamps[AT_TAKEN] = _clock()
        position = stream.ring.submitted - count
        if stamps[AT_POSITION] != CAPTURED:  # a launch that a graph keeps stays one
            stamps[AT_POSITION] = position
        for offset in range(count):
            self._lane.by_position[(position + offset) % stream.ring.depth] = stamps
        return ids

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Send, and note how long building and sending took."""
        stamps = self._recorder._here.mine[0]
        stamps[AT_BUILT] = _clock()
        HARDWARE.commit(stream, sqes)
        stamps[AT_SENT] = _clock()
        self._done(stream, bytes(sqes))

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Undo; what was noted of the task is dropped."""
        self._done(stream, b"")
        return HARDWARE.rollback(stream, count)

    def _done(self, stream: StreamPort, sqes: bytes) -> None:
        if not self._own:
            return
        self._own = False
        stamps, ring = self._recorder._here.mine[0], stream.ring
        stamps[AT_END] = _clock()
        if sqes:
            stamps[AT_SQES], stamps[AT_PENDING] = sqes, ring.submitted - ring.reclaimed
            for sink in self._recorder.sinks:
                sink.sent(stamps)


def _release(stream: Stream) -> None:
    stream.tracer = None
    if isinstance(stream.own_sink, _WatchedSink):
        stream.sinks.change_own(HARDWARE)
    else:
        stream.launchers.clear()
