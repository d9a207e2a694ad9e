"""What a trace knows: launches and other tasks with their beats, waits, what the device did, and who waits for whom.

Times of the host are microseconds since tracing began. Times of the device are those of its own clock, moved so that no
task begins before it was sent; how long things took is true, when they began is not.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.launch.recorder import REST, SEND, WAIT, Kept, Lane, Sent, Span, Waited

if TYPE_CHECKING:
    from runtime.core.process import Runtime

_NS = 1000.0
_SIGNALS = (("event", "event_id"), ("notify", "notify_id"))


class Executed(NamedTuple):
    """When the device worked on a task, by its own clock, and what it says about it."""

    began_us: float
    ended_us: float
    what: str


@dataclass(slots=True)
class Task:
    """A launch, or another task.

    Attributes:
        stretches: (beat, began, ended) in the order in which they ran, microseconds.
        place: "file:line" of whoever submitted it.
        pending: SQEs in the ring right after it.
        wait_us: how long the host then waited until it knew that the task was done; 0 if nobody asked.
        executed: what the device did, where its clock can be read.
        fields: of the first SQE, for tasks that no launcher sent.
    """

    number: int
    name: str
    kind: str
    lane: int
    thread: int
    place: str
    began_us: float
    ended_us: float
    stretches: tuple[tuple[int, float, float], ...]
    pending: int
    position: int
    count: int
    is_launch: bool
    wait_us: float = 0.0
    executed: Executed | None = None
    fields: dict[str, int] = field(default_factory=dict)

    def beats_us(self) -> list[float]:
        """Return microseconds by beat, the wait among them, and at the end what was left after the send."""
        spent = [0.0] * (REST + 1)
        for beat, began, ended in self.stretches:
            spent[beat] += ended - began
        spent[WAIT] = self.wait_us
        return spent

    @property
    def send_share(self) -> float:
        """Which part of the call the send was, 0 to 1."""
        total = self.ended_us - self.began_us
        return self.beats_us()[SEND] / total if total else 0.0


class Bar(NamedTuple):
    """Work of the host: a wait, a load, a copy, an opening."""

    name: str
    kind: str
    thread: int
    began_us: float
    ended_us: float
    facts: dict[str, Any]


class Track(NamedTuple):
    """A stream.

    Attributes:
        unseen: SQEs that came from launchers which were bound before tracing began, or that were dropped.
    """

    device: int
    stream_id: int
    name: str
    way: str
    arguments: str
    depth: int
    unseen: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that was seen. `edges` are (task that signals, task that waits), by number."""

    url: str
    chip: str
    tracks: tuple[Track, ...]
    tasks: tuple[Task, ...]
    bars: tuple[Bar, ...]
    edges: tuple[tuple[int, int], ...]
    clock: str

    @property
    def launches(self) -> list[Task]:
        """The kernel launches among the tasks."""
        return [task for task in self.tasks if task.is_launch]

    @property
    def unseen(self) -> int:
        """SQEs of which the trace knows nothing."""
        return sum(track.unseen for track in self.tracks)


def machine_of(runtime: Runtime) -> Any:
    """Return the fake machine behind a runtime's door, or None."""
    return getattr(runtime.hal, "fake", None) or getattr(getattr(runtime.hal, "inner", None), "fake", None)


def collect(runtime: Runtime, lanes: list[Lane], kept: Kept, began_ns: int, log_from: int) -> Trace:
    """Make a trace of what was kept.

    Args:
        began_ns: when tracing began, by `time.perf_counter_ns`.
        log_from: how many entries the log of a fake device had then.
    """
    numbers = {id(lane): index for index, lane in enumerate(lanes)}
    sent = sorted(map(Sent, kept.tasks), key=lambda one: one.began_ns)
    tasks = [_task(number, one, numbers[id(one.lane)], began_ns) for number, one in enumerate(sent)]
    _add_waits(tasks, numbers, kept, began_ns)
    clock = _add_execution(runtime, lanes, tasks, log_from) or _add_time_stamps(tasks, numbers, kept)


    def bar(one: Waited | Span, name: str, kind: str, facts: dict[str, Any]) -> Bar:
        return Bar(name, kind, one.thread, (one.began_ns - began_ns) / _NS, (one.end_ns - began_ns) / _NS, facts)

    bars = [
        bar(one, f"wait for {one.what}", "wait", {"stream": one.lane.stream_id, "device": one.lane.user_id})
        for one in kept.waits
    ]
    bars += [bar(one, one.name, "span", one.facts) for one in kept.spans]
    return Trace(
        runtime.url, runtime.machine.soc_name or runtime.machine.chip.soc, tuple(_tracks(lanes, tasks)), tuple(tasks),
        tuple(sorted(bars, key=lambda bar: bar.began_us)), tuple(_edges(tasks)), clock,
    )


def _task(number: int, one: Sent, lane: int, began_ns: int) -> Task:
    fields: dict[str, int] = {}
    if one.sqes:
        fields = one.lane.stream.plugin.decode(one.sqes[:64]).fields
    return Task(
        number, str(one.label), one.label.type.name, lane, one.thread, one.place, (one.began_ns - began_ns) / _NS,
        (one.end_ns - began_ns) / _NS,
        tuple((beat, (start - began_ns) / _NS, (end - began_ns) / _NS) for beat, start, end in one.stretches()),
        one.pending, one.position, max(len(one.sqes) // 64, 1), one.is_launch, fields=fields,
    )


def _add_waits(tasks: list[Task], numbers: dict[int, int], kept: Kept, began_ns: int) -> None:
    """Give each task the first wait that saw it done."""
    for one in sorted(kept.waits, key=lambda wait: wait.end_ns):
        lane = numbers[id(one.lane)]
        began, ended = (one.began_ns - began_ns) / _NS, (one.end_ns - began_ns) / _NS
        for task in tasks:
            done = 0 <= task.position < one.reclaimed and task.lane == lane and task.ended_us <= ended
            if done and not task.wait_us:
                task.wait_us = ended - max(began, task.ended_us)


def _add_execution(runtime: Runtime, lanes: list[Lane], tasks: list[Task], log_from: int) -> str:
    """Give each task what the log of a fake device says of it; "" where there is none."""
    machine = machine_of(runtime)
    if machine is None:
        return ""
    waiting: dict[tuple[int, int, int], deque[Task | None]] = defaultdict(deque)
    for lane in lanes:  # what was in the rings before comes first
        depth = lane.stream.ring.depth
        for at in range(lane.submitted - lane.pending, lane.submitted):
            waiting[lane.device_id, lane.stream_id, at % depth].append(None)
    for task in tasks:
        lane = lanes[task.lane]
        if task.position >= 0:
            waiting[lane.device_id, lane.stream_id, task.position % lane.stream.ring.depth].append(task)
    pairs = []
    for entry in list(machine.log)[log_from:]:
        queue = waiting.get((entry.device, entry.stream, entry.position))
        found = queue.popleft() if queue else None
        if found is not None:
            pairs.append((found, entry))
    moved = max((task.ended_us - entry.start / _NS for task, entry in pairs), default=0.0)
    for task, entry in pairs:
        began, ended = entry.start / _NS + moved, entry.end / _NS + moved
        task.executed = Executed(began, ended, f"{entry.kind} {entry.detail}")
    return "virtual clock of the fake device"


def _add_time_stamps(tasks: list[Task], numbers: dict[int, int], kept: Kept) -> str:
    """Say when timing events were passed: the stretch before one is what the stream did since the one before."""
    by_place = {(task.lane, task.position % 65536): task for task in tasks}
    stamped = []
    for report in kept.reports:
        task = by_place.get((numbers[id(report.lane)], report.position if report.position is not None else -1))
        if task is not None and task.kind == "EVENT_RECORD":
            stamped.append((task, report))
    before: dict[int, float] = {}
    moved: float | None = None
    for task, report in stamped:
        ticks_per_us = float(report.lane.stream.env.chip.prop("eventTimestampFreq")) / 1000
        now = report.ticks / ticks_per_us
        moved = task.ended_us - now if moved is None else moved
        task.executed = Executed(before.get(task.lane, now) + moved, now + moved, "since the timing event before")
        before[task.lane] = now
    return "time stamps of the program's own timing events" if stamped else ""


def _tracks(lanes: list[Lane], tasks: Iterable[Task]) -> Iterator[Track]:
    seen = [0] * len(lanes)
    for task in tasks:
        seen[task.lane] += task.count if task.position >= 0 else 0
    for lane, count in zip(lanes, seen, strict=True):
        unseen = max(lane.stream.ring.submitted - lane.submitted - count, 0)
        yield Track(lane.user_id, lane.stream_id, lane.name, lane.way, lane.arguments, lane.stream.ring.depth, unseen)


def _edges(tasks: Iterable[Task]) -> Iterator[tuple[int, int]]:
    """Yield (record, wait): a wait belongs to the newest record of its signal, and of its count where it has one."""
    newest: dict[tuple[object, ...], int] = {}
    for task in tasks:
        for what, name in _SIGNALS:
            if name not in task.fields:
                continue
            key = (what, task.fields[name], task.fields.get("cnt_value", 0))
            if "RECORD" in task.kind:
                newest[key] = task.number
            elif "WAIT" in task.kind and key in newest:
                yield newest[key], task.number

