"""Watches launches phase by phase, and what else goes into streams: the `Tracer` behind traces and launch logs.

A watched launch is the plain launcher with other functions in its seams: each of them notes when a phase has ended.
What it costs is a list, which is the whole record, and seven looks at the clock. All else (names, decoding, sums)
waits until somebody reads the records.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from npuhal.records import dataclass, field
from runtime.core.submission.route import NORMAL, RouteRank, Verdict

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import TaskType
    from runtime.core.process.runtime import Runtime
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo

PHASES = (
    "function address", "task slot", "description", "arguments to the device", "build the SQE",
    "advance the tail, ring the driver", "wait for the SQ head",
)  # fmt: skip
"""The seven phases in order. Only the sixth may enter the kernel, only the seventh may block."""

ADDRESS, SLOT, DESCRIBE, ARGUMENTS, BUILD, SEND, WAIT = range(7)
REST = 7
"""Index after the phases: what a launch does when its SQE was sent."""

NOT_SENT, CAPTURED = -1, -2
"""Instead of a position: the launch failed, or a graph has kept it."""

CAPACITY = 200_000
"""Tasks that are kept by default, the newest; about 0.6 KB each."""

_PACKAGE = "runtime"
_BETWEEN = frozenset({"contextlib", "functools", "threading", "weakref"})
"""Modules of the standard library through which this package calls itself: nobody submits a task from there."""
_clock = time.perf_counter_ns

PROGRAM = {"named by": "the program"}
"""Facts of a stretch that the program has named itself."""

Marks = list[Any]
"""One launch or other task, by the indices below. Times are of `time.perf_counter_ns`; 0: did not happen."""

(_LANE, _LABEL, _CODE, _AT, _POSITION, _PENDING, _THREAD, _SQES,
 _CALLED, _DESCRIBED, _MOVED, _TAKEN, _BUILT, _SENT, _END) = range(15)  # fmt: skip
_STAMPS = ((DESCRIBE, _DESCRIBED), (ARGUMENTS, _MOVED), (SLOT, _TAKEN), (BUILD, _BUILT), (SEND, _SENT), (REST, _END))
"""What the time before each stamp was spent on, in the order in which they are set."""


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One watched stream, as it was when watching began.

    Attributes:
        device_id: the driver's number of the device.
        way: how SQEs reach the queue.
        arguments: how kernel arguments reach the device: dma, bar or copy.
        submitted: SQEs that had been submitted when watching began.
        pending: those of them that were not reclaimed.
        places: the marks of the newest task at each ring position.
    """

    stream: Stream
    device_id: int
    user_id: int
    stream_id: int
    name: str
    way: str
    arguments: str
    submitted: int
    pending: int
    places: list[Marks | None] = field(repr=False)


class Sent:
    """One launch, or another task, made readable.

    Attributes:
        place: "file:line" of the caller.
        position: absolute position of the (first) SQE in the ring, NOT_SENT or CAPTURED.
        pending: SQEs in the ring right after it.
        sqes: the entries of a task that no launcher has sent, else empty.
    """

    __slots__ = ("_marks", "label", "lane", "pending", "position", "sqes", "thread")

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.lane: Lane = marks[_LANE]
        self.label: TaskInfo = marks[_LABEL]
        self.position: int = marks[_POSITION]
        self.pending: int = marks[_PENDING]
        self.thread: int = marks[_THREAD]
        self.sqes: bytes = marks[_SQES]

    @property
    def place(self) -> str:
        """Where in the user's program it was submitted, "file:line"."""
        return place_of(self._marks)

    @property
    def began_ns(self) -> int:
        """When it was called."""
        return int(self._marks[_CALLED])

    @property
    def end_ns(self) -> int:
        """When the call was over."""
        return int(self._marks[_END])

    @property
    def is_launch(self) -> bool:
        """Whether a launcher sent it."""
        return not self.sqes

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """Yield (phase, began, ended) in the order in which the phases ran; REST is what came after the send."""
        before = self.began_ns
        for phase, index in _STAMPS:
            if after := self._marks[index]:
                yield phase, before, after
                before = after

    def phases(self) -> tuple[int, ...]:
        """Return nanoseconds by phase, and at the end those of REST; waiting (phase 7) is no part of it."""
        spent = [0] * (REST + 1)
        for phase, began, ended in self.stretches():
            spent[phase] += ended - began
        return tuple(spent)


class Waited(NamedTuple):
    """One wait of a host thread: for a stream, or for an event recorded in it."""

    lane: Lane
    what: str
    began_ns: int
    end_ns: int
    thread: int
    reclaimed: int


class Span(NamedTuple):
    """Work of the host that belongs to no stream."""

    name: str
    facts: dict[str, Any]
    began_ns: int
    end_ns: int
    thread: int


class Report(NamedTuple):
    """A completion entry: which task of which stream, and the device's time stamp in ticks."""

    lane: Lane
    position: int | None
    ticks: int
    seen_ns: int


class Sink(Protocol):
    """Takes what was noted, as it comes. Called from any thread; `sent` is called by every launch."""

    def sent(self, marks: Marks) -> None:
        """A launch or task is over; `Sent` makes it readable."""

    def waited(self, record: Waited) -> None:
        """A wait is over."""

    def span(self, record: Span) -> None:
        """Work of the host is over."""

    def report(self, record: Report) -> None:
        """A completion entry was read."""


class Kept:
    """A sink that keeps the newest records."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.tasks: deque[Marks] = deque(maxlen=capacity)
        self.waits: deque[Waited] = deque(maxlen=capacity)
        self.spans: deque[Span] = deque(maxlen=capacity)
        self.reports: deque[Report] = deque(maxlen=capacity)
        self.sent, self.waited = self.tasks.append, self.waits.append
        self.span, self.report = self.spans.append, self.reports.append


class _Here(threading.local):
    """What each thread has on its way."""

    def __init__(self) -> None:
        self.mine: list[Any] = [[0] * _END + [1], threading.get_ident()]
        """Marks of a launch or task, whose end is stamped when it is over, and the thread. Read faster than it is set.
        """


class Recorder:
    """A `Tracer` that notes everything in a sink. Make it, then `start`; `stop` leaves the runtime as it was."""

    def __init__(self, runtime: Runtime, sink: Sink) -> None:
        self.runtime, self.sink = runtime, sink
        self.lanes: list[Lane] = []
        self._here = _Here()
        self._by_stream: dict[int, Lane] = {}
        self._outside: dict[int, CodeType] = {}
        """Code of the user's that has submitted something, by id: to hash a code object takes longer than a launch."""
        self._before: Any = None
        self.stopped = False

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Watch all streams that there are, and those to come; whoever watched before is pushed aside."""
        self._before, self.runtime.tracer = self.runtime.tracer, self
        for stream in self._streams():
            _release(stream)
            stream.drain()
            self.attach(stream)
        for device in self.runtime.open_devices():
            for model in (model for context in device.contexts() for model in context.models):
                for stream in (stream for part in model.tree() for stream in part.streams):
                    self._add_lane(stream)  # it has its tasks, and only executes them

    def stop(self) -> None:
        """Watch no more; launchers that were bound meanwhile make themselves anew when they are called."""
        self.stopped = True
        self.runtime.tracer = self._before
        for stream in self._streams():
            if stream.tracer is self:
                _release(stream)
                if self._before is not None:
                    self._before.attach(stream)

    def _streams(self) -> list[Stream]:
        return [stream for device in self.runtime.open_devices() for stream in device.streams() if not stream.closed]

    def attach(self, stream: Stream) -> None:
        """Watch a stream."""
        lane = self._add_lane(stream)
        self._by_stream[id(stream)] = lane
        stream.tracer = self
        if any(route is NORMAL for route in stream.routes):
            stream.install_route(_WatchedRoute(self, lane))
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

    def launcher(self, launch: Callable[..., Any], stream: Stream, label: TaskInfo,
                 again: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """Return a launcher that notes when it was called, from where, and what was pending."""
        unwatched: Callable[..., Any] | None = None
        here, lane, ring = self._here, self._by_stream[id(stream)], stream.ring
        done, clock, nowhere = self.sink.sent, _clock, NOT_SENT if stream.branch is None else CAPTURED
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
            mine[0] = marks = [
                lane, label, frame.f_code, frame.f_lasti, nowhere, 0, mine[1], b"", clock(), 0, 0, 0, 0, 0, 0
            ]  # fmt: skip
            try:
                launch(*arguments)
            finally:
                marks[_END] = clock()
                marks[_PENDING] = ring.submitted - ring.reclaimed
                done(marks)

        return watched

    def arguments(self, pop: Callable[..., Any], move: Callable[..., Any],
                  ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return both steps with stamps: the description ends before the first, the arguments are there after both."""
        here, clock = self._here, _clock

        def popped() -> Any:
            here.mine[0][_DESCRIBED] = clock()
            return pop()

        def moved(block: Any) -> None:
            move(block)
            here.mine[0][_MOVED] = clock()

        return popped, moved

    def writer(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step with stamps before and behind it."""
        here, clock = self._here, _clock

        def written(block: Any, image: bytes) -> None:
            marks = here.mine[0]  # of a task that no launcher sends: those of the one before, and not read any more
            marks[_DESCRIBED] = clock()
            write(block, image)
            marks[_MOVED] = clock()

        return written

    def queue(self, stream: Stream, pack: Callable[..., Any], send: Callable[..., Any],
              ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return packing and send with stamps; the position is the ring's at that moment, for the lock is held."""
        here, ring, depth, clock = self._here, stream.ring, stream.ring.depth, _clock
        places = self._by_stream[id(stream)].places

        marks: Marks = []

        def packed(*values: Any) -> None:
            nonlocal marks
            marks = here.mine[0]
            marks[_TAKEN] = clock()
            pack(*values)
            marks[_BUILT] = clock()
            marks[_POSITION] = position = ring.submitted
            places[position % depth] = marks

        def sent(device_id: int, reference: Any) -> Any:
            rc = send(device_id, reference)
            marks[_SENT] = clock()
            return rc

        return packed, sent

    # -- everything else -------------------------------------------------------------------------------------------

    def waited(self, stream: Stream, began_ns: int, what: str) -> None:
        """Note a wait that ends now."""
        lane = self._by_stream[id(stream)]
        self.sink.waited(Waited(lane, what, began_ns, _clock(), threading.get_ident(), stream.ring.reclaimed))

    def reported(self, stream: Stream, position: int | None, ticks: int) -> None:
        """Note a completion entry."""
        self.sink.report(Report(self._by_stream[id(stream)], position, ticks, _clock()))

    def place(self, stream: Stream, position: int | None) -> str:
        """Return "file:line" of who submitted the newest task at a ring position, or ""."""
        marks = None if position is None else self._by_stream[id(stream)].places[position]
        return "" if marks is None else place_of(marks)

    @contextmanager
    def span(self, name: str, **facts: Any) -> Iterator[None]:
        """Note work of the host."""
        began = _clock()
        try:
            yield
        finally:
            self.sink.span(Span(name, facts, began, _clock(), threading.get_ident()))

    def noted(self, name: str, began_ns: int) -> None:
        """Note a mark or stretch of the program's own."""
        self.sink.span(Span(name, PROGRAM, began_ns, _clock(), threading.get_ident()))

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


class _WatchedRoute:
    """Stands in front of a stream's normal route and notes the phases of tasks on the general path."""

    __slots__ = ("_lane", "_own", "_recorder")
    name, rank, immediate = NORMAL.name, RouteRank.NORMAL, NORMAL.immediate

    def __init__(self, recorder: Recorder, lane: Lane) -> None:
        self._recorder, self._lane = recorder, lane
        self._own = False
        """Whether the task that is being sent is none of a launcher; the stream's lock is held meanwhile."""

    def verdict(self, task_type: TaskType) -> Verdict:
        """Answer as the normal route does."""
        return NORMAL.verdict(task_type)

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        """Take places, and note where the task comes from."""
        recorder = self._recorder
        mine = recorder._here.mine
        self._own = bool(mine[0][_END])
        if self._own:
            frame = recorder._caller(sys._getframe(1))
            mine[0] = [
                self._lane, owner, frame.f_code, frame.f_lasti, NOT_SENT, 0, mine[1], b"", _clock(), 0, 0, 0, 0, 0, 0
            ]  # fmt: skip
        try:
            ids = NORMAL.alloc(stream, count, owner)
        except BaseException:
            self._done(stream, b"")
            raise
        marks = mine[0]
        marks[_TAKEN] = _clock()
        marks[_POSITION] = position = stream.ring.submitted - count
        for offset in range(count):
            self._lane.places[(position + offset) % stream.ring.depth] = marks
        return ids

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Send, and note how long building and sending took."""
        marks = self._recorder._here.mine[0]
        marks[_BUILT] = _clock()
        NORMAL.commit(stream, sqes)
        marks[_SENT] = _clock()
        self._done(stream, bytes(sqes))

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo; what was noted of the task is dropped."""
        self._done(stream, b"")
        return NORMAL.rollback(stream, count)

    def _done(self, stream: Stream, sqes: bytes) -> None:
        if not self._own:
            return
        self._own = False
        marks, ring = self._recorder._here.mine[0], stream.ring
        marks[_END] = _clock()
        if sqes:
            marks[_SQES], marks[_PENDING] = sqes, ring.submitted - ring.reclaimed
            self._recorder.sink.sent(marks)


def _release(stream: Stream) -> None:
    stream.tracer = None
    if any(isinstance(route, _WatchedRoute) for route in stream.routes):
        stream.install_route(NORMAL)
    else:
        stream.launchers.clear()


def place_of(marks: Marks) -> str:
    """Return "file:line" of whoever made a launch or sent a task."""
    code, instruction = marks[_CODE], marks[_AT]
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), None)
    return f"{code.co_filename}:{line or code.co_firstlineno}"
