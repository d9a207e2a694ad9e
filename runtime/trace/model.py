"""What a trace knows: launches and other tasks with their phases, waits, what the device did, and who waits for whom.

Times are microseconds since tracing began, by the host's clock; `runtime.trace.device` moves those of the device there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from npuhal.records import dataclass, field
from npuhal.tuples import NamedTuple
from npuhal.words import count
from runtime.launch.task_records import CAPTURED, PROGRAM, REST, SEND, WAIT, Kept, Lane, Sent, Span, Waited
from runtime.trace.device import Executed, Replay, add_log, add_time_stamps, machine_of
from runtime.trace.memory import MemoryLane, lanes_of

if TYPE_CHECKING:
    from runtime.core.process.runtime import Runtime
    from runtime.memory.journal import Change

_NS = 1000.0
_SIGNALS = (("event", "event_id"), ("notify", "notify_id"))


@dataclass(slots=True)
class Task:
    """A launch, or another task.

    Attributes:
        stretches: (phase, began, ended) in the order in which they ran, microseconds.
        site: "file:line" of whoever submitted it.
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
    site: str
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

    @property
    def place(self) -> str:
        """The former name of `site`."""
        return self.site

    def phases_us(self) -> list[float]:
        """Return microseconds by phase, the wait among them, and at the end what was left after the send."""
        spent = [0.0] * (REST + 1)
        for phase, began, ended in self.stretches:
            spent[phase] += ended - began
        spent[WAIT] = self.wait_us
        return spent

    @property
    def captured(self) -> bool:
        """Whether a graph has kept the launch instead of sending it."""
        return self.position == CAPTURED

    @property
    def send_share(self) -> float:
        """Which part of the call the send was, 0 to 1."""
        total = self.ended_us - self.began_us
        return self.phases_us()[SEND] / total if total else 0.0


class Bar(NamedTuple):
    """Work of the host: a wait, a load, a copy, an opening."""

    name: str
    kind: str
    thread: int
    began_us: float
    ended_us: float
    facts: dict[str, Any]

    @property
    def named_by_program(self) -> bool:
        """Whether it is a stretch or moment that the program itself has named; these need not nest."""
        return bool(self.facts == PROGRAM)


class Track(NamedTuple):
    """A stream.

    Attributes:
        way: the submission path its SQEs take.
        arguments: how kernel arguments reach the device.
        in_graph: whether its tasks are those of a graph, kept once and executed often.
        unseen: SQEs that came from launchers which were bound before tracing began, or that were dropped.
    """

    device: int
    stream_id: int
    name: str
    way: str
    arguments: str
    depth: int
    in_graph: bool
    unseen: int


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """Everything that was seen.

    Attributes:
        edges: (task that signals, task that waits), by number.
        memory: what became of each device's memory, where that was recorded.
        threads: names of the host's threads, by the numbers that tasks and bars have.
    """

    url: str
    chip: str
    tracks: tuple[Track, ...]
    tasks: tuple[Task, ...]
    bars: tuple[Bar, ...]
    edges: tuple[tuple[int, int], ...]
    replays: tuple[Replay, ...]
    clock: str
    memory: tuple[MemoryLane, ...] = ()
    threads: tuple[str, ...] = ()

    def __repr__(self) -> str:
        launches, tasks = count(len(self.launches), "launch", "launches"), count(len(self.tasks), "task")
        return f"<Trace of {self.chip}: {launches}, {tasks}, {count(len(self.tracks), 'stream')}>"

    @property
    def launches(self) -> list[Task]:
        """The kernel launches among the tasks; what a graph has kept is none."""
        return [task for task in self.tasks if task.is_launch and not task.captured]

    @property
    def on_fake(self) -> bool:
        """Whether a fake device did the work, in this very process: phases then hold its own time too."""
        return "fake" in self.url.partition("://")[0]

    @property
    def unseen(self) -> int:
        """SQEs of which the trace knows nothing."""
        return sum(track.unseen for track in self.tracks)


def collect(
    runtime: Runtime, lanes: list[Lane], numbers: dict[int, int], kept: Kept, began_ns: int, last: Any,
    changes: Iterable[Change] = (), threads: tuple[str, ...] = (),
) -> Trace:
    """Make a trace of what was kept; what had begun before is left out.

    Args:
        lanes: the streams, as they were when the trace began.
        numbers: their indices in the list, by the id of the lane that records name.
        began_ns: when tracing began, by `time.perf_counter_ns`.
        last: the newest entry of a fake device's log then.
        changes: what became of memory meanwhile.
        threads: names of the host's threads.
    """
    ours = (one for one in map(Sent, kept.tasks) if one.began_ns >= began_ns and id(one.lane) in numbers)
    sent = sorted(ours, key=lambda one: one.began_ns)
    waits = [one for one in kept.waits if one.began_ns >= began_ns and id(one.lane) in numbers]
    tasks = [_task(number, one, numbers[id(one.lane)], began_ns) for number, one in enumerate(sent)]
    _add_waits(tasks, numbers, waits, began_ns)
    clock, replays, machine = "", list[Replay](), machine_of(runtime)
    if machine is not None:
        clock, replays = add_log(machine, lanes, tasks, last)
    clock = clock or add_time_stamps(tasks, numbers, kept)

    def bar(one: Waited | Span, name: str, kind: str, facts: dict[str, Any]) -> Bar:
        return Bar(name, kind, one.thread, (one.began_ns - began_ns) / _NS, (one.end_ns - began_ns) / _NS, facts)

    bars = [
        bar(one, f"wait for {one.what}", "wait", {"stream": one.lane.stream_id, "device": one.lane.user_id})
        for one in waits
    ]
    bars += [bar(one, one.name, "span", one.facts) for one in kept.spans if one.began_ns >= began_ns]
    facts = runtime.machine
    return Trace(
        runtime.url, facts.soc_name or (facts.known_chip.soc if facts.known_chip else "no device"),
        tuple(_tracks(lanes, tasks, {replay.lane for replay in replays})), tuple(tasks),
        tuple(sorted(bars, key=lambda bar: bar.began_us)), tuple(_edges(tasks)), tuple(replays), clock,
        lanes_of(changes, began_ns), threads,
    )


def _task(number: int, one: Sent, lane: int, began_ns: int) -> Task:
    fields: dict[str, int] = {}
    if one.sqes:
        fields = one.lane.stream.plugin.decode(one.sqes[:64]).fields
    return Task(
        number, str(one.label), one.label.type.name, lane, one.thread, one.site, (one.began_ns - began_ns) / _NS,
        (one.end_ns - began_ns) / _NS,
        tuple((phase, (start - began_ns) / _NS, (end - began_ns) / _NS) for phase, start, end in one.stretches()),
        one.pending, one.position, max(len(one.sqes) // 64, 1), one.is_launch, fields=fields,
    )


def _add_waits(tasks: list[Task], numbers: dict[int, int], waits: list[Waited], began_ns: int) -> None:
    """Give each task the first wait that saw it done."""
    open_tasks: dict[int, deque[Task]] = defaultdict(deque)
    for task in sorted(tasks, key=lambda task: task.position):
        if task.position >= 0:
            open_tasks[task.lane].append(task)
    for one in sorted(waits, key=lambda wait: wait.end_ns):
        waiting = open_tasks[numbers[id(one.lane)]]
        began, ended = (one.began_ns - began_ns) / _NS, (one.end_ns - began_ns) / _NS
        while waiting and waiting[0].position < one.reclaimed:
            task = waiting.popleft()
            task.wait_us = max(ended - max(began, task.ended_us), 0.0)


def _tracks(lanes: list[Lane], tasks: Iterable[Task], replayed: set[int]) -> Iterator[Track]:
    seen = [0] * len(lanes)
    for task in tasks:
        seen[task.lane] += task.count if task.position >= 0 else 0
    for number, lane in enumerate(lanes):
        ring, in_graph = lane.stream.ring, lane.stream.keeps_tasks or number in replayed
        unseen = 0 if in_graph else max(ring.submitted - lane.submitted - seen[number], 0)
        yield Track(
            lane.user_id, lane.stream_id, lane.name, lane.way, lane.arguments, ring.depth, in_graph, unseen
        )


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
