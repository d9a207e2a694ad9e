"""What watching notes of each launch, wait and span: plain lists and tuples while it happens, readable afterwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from npuhal.records import dataclass, field
from npuhal.tuples import NamedTuple
from runtime.core.diagnostics.tracing import (
    AT_BUILT,
    AT_CALLED,
    AT_CODE,
    AT_DESCRIBED,
    AT_END,
    AT_INSTRUCTION,
    AT_LABEL,
    AT_LANE,
    AT_MOVED,
    AT_PENDING,
    AT_POSITION,
    AT_SENT,
    AT_SQES,
    AT_TAKEN,
    AT_THREAD,
)

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo

PHASES = (
    "function address", "description", "arguments to the device", "task slot", "build the SQE",
    "advance the tail, ring the driver", "wait for the SQ head",
)  # fmt: skip
"""The seven phases as they follow each other. Only the sixth may enter the kernel, only the seventh may block."""

ADDRESS, DESCRIBE, ARGUMENTS, SLOT, BUILD, SEND, WAIT = range(7)
REST = 7
"""Index after the phases: what a launch does when its SQE was sent."""

NOT_SENT, CAPTURED = -1, -2
"""Instead of a position: the launch failed, or a graph has kept it."""

CAPACITY = 200_000
"""Tasks that are kept by default, the newest; about 0.6 KB each."""

PROGRAM = {"named by": "the program"}
"""Facts of a stretch that the program has named itself."""

Stamps = list[Any]
"""One launch or other task, by the indices of `runtime.core.diagnostics.tracing`; of `time.perf_counter_ns`."""
_STAMPS = (
    (DESCRIBE, AT_DESCRIBED), (ARGUMENTS, AT_MOVED), (SLOT, AT_TAKEN), (BUILD, AT_BUILT), (SEND, AT_SENT),
    (REST, AT_END),
)  # fmt: skip
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
        by_position: the stamps of the newest task at each ring position.
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
    by_position: list[Stamps | None] = field(repr=False)


class Sent:
    """One launch, or another task, made readable.

    Attributes:
        site: "file:line" of the caller.
        position: absolute position of the (first) SQE in the ring, NOT_SENT or CAPTURED.
        pending: SQEs in the ring right after it.
        sqes: the entries of a task that no launcher has sent, else empty.
    """

    __slots__ = ("_stamps", "label", "lane", "pending", "position", "sqes", "thread")

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self.lane: Lane = stamps[AT_LANE]
        self.label: TaskInfo = stamps[AT_LABEL]
        self.position: int = stamps[AT_POSITION]
        self.pending: int = stamps[AT_PENDING]
        self.thread: int = stamps[AT_THREAD]
        self.sqes: bytes = stamps[AT_SQES]

    @property
    def site(self) -> str:
        """Where in the user's program it was submitted, "file:line"."""
        return call_site_of(self._stamps)

    place = site
    """The former name of `site`."""

    @property
    def began_ns(self) -> int:
        """When it was called."""
        return int(self._stamps[AT_CALLED])

    @property
    def end_ns(self) -> int:
        """When the call was over."""
        return int(self._stamps[AT_END])

    @property
    def is_launch(self) -> bool:
        """Whether a launcher sent it."""
        return not self.sqes

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """Yield (phase, began, ended) in the order in which the phases ran; REST is what came after the send."""
        before = self.began_ns
        for phase, index in _STAMPS:
            if after := self._stamps[index]:
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

    def sent(self, stamps: Stamps) -> None:
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
        self.tasks: deque[Stamps] = deque(maxlen=capacity)
        self.waits: deque[Waited] = deque(maxlen=capacity)
        self.spans: deque[Span] = deque(maxlen=capacity)
        self.reports: deque[Report] = deque(maxlen=capacity)
        self.sent, self.waited = self.tasks.append, self.waits.append
        self.span, self.report = self.spans.append, self.reports.append


def call_site_of(stamps: Stamps) -> str:
    """Return "file:line" of whoever made a launch or sent a task."""
    code, instruction = stamps[AT_CODE], stamps[AT_INSTRUCTION]
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), None)
    return f"{code.co_filename}:{line or code.co_firstlineno}"
