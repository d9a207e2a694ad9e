"""What the device did, and when: from the log of a fake, or from the timing events that a program records.

The device's clock is another one than the host's. Its times are moved so that no task begins before it was sent, and
later ones are moved further where the host was late: how long things took is true, when they began is not.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from runtime.core.process.runtime import Runtime
    from runtime.launch.task_records import Kept, Lane
    from runtime.trace.model import Task

_NS = 1000.0


class Executed(NamedTuple):
    """When the device worked on a task, by its own clock, and what it says about it."""

    began_us: float
    ended_us: float
    what: str


class Replay(NamedTuple):
    """A task of a graph that the device executed, which the host had sent once, when the graph was made.

    Attributes:
        lane: number of the stream it is in.
        starter: number of the task that executed the graph, for the first task of one of its streams.
        record: what the device's log says of it: where it lay (`device`, `stream`, `position`), and when it ran, in
            nanoseconds of the device's own clock (`start`, `end`).
    """

    lane: int
    name: str
    executed: Executed
    starter: int | None
    record: Any


def machine_of(runtime: Runtime) -> Any:
    """Return the fake machine behind a runtime's backend, or None."""
    return getattr(runtime.hal, "fake", None) or getattr(getattr(runtime.hal, "inner", None), "fake", None)


def newest(machine: Any) -> Any:
    """Return the newest entry of a fake's log, or None: what is newer was executed while the trace was made."""
    log = getattr(machine, "log", ())
    return log[-1] if log else None


def _since(log: deque[Any], last: Any) -> list[Any]:
    found: list[Any] = []
    for entry in reversed(log):
        if entry is last:
            break
        found.append(entry)
    return sorted(found, key=lambda entry: (entry.start, entry.end))


def add_log(machine: Any, lanes: list[Lane], tasks: list[Task], last: Any) -> tuple[str, list[Replay]]:
    """Give each task what the log of a fake says of it; returns the clock's name, and what graphs have executed."""
    waiting: dict[tuple[int, int, int], deque[Task | None]] = defaultdict(deque)
    for lane in lanes:  # what was in the rings before comes first
        depth = lane.stream.ring.depth
        pending = 0 if lane.stream.keeps_tasks else lane.pending  # what a graph holds is not queued
        for at in range(lane.submitted - pending, lane.submitted):
            waiting[lane.device_id, lane.stream_id, at % depth].append(None)
    for task in tasks:
        lane = lanes[task.lane]
        if task.position >= 0 and not lane.stream.keeps_tasks:
            waiting[lane.device_id, lane.stream_id, task.position % lane.stream.ring.depth].append(task)
    numbers = {(lane.device_id, lane.stream_id): number for number, lane in enumerate(lanes)}
    replays: list[Replay] = []
    started: list[Task] = []
    moved: dict[int, float] = defaultdict(lambda: float("-inf"))  # each device has a clock of its own
    for entry in _since(machine.log, last):
        number = numbers.get((entry.device, entry.stream))
        if number is None:
            continue
        queue = waiting.get((entry.device, entry.stream, entry.position))
        found = queue.popleft() if queue else None
        if found is not None:
            moved[entry.device] = max(moved[entry.device], found.ended_us - entry.start / _NS)
        shift = moved[entry.device]
        done = Executed(entry.start / _NS + shift, entry.end / _NS + shift, f"{entry.kind} {entry.detail}".rstrip())
        if found is not None:
            found.executed = done
            if found.kind == "MODEL_EXECUTE":
                started.append(found)
        elif queue is None and (started or lanes[number].stream.keeps_tasks):
            starter = _starter(started, done) if entry.position == 0 else None
            replays.append(Replay(number, _owner(lanes[number], entry), done, starter, entry))
    return "virtual clock of the fake device", replays


def _owner(lane: Lane, entry: Any) -> str:
    owner = lane.stream.ring.owners[entry.position % lane.stream.ring.depth]
    return str(owner) if owner is not None else str(entry.kind)


def _starter(started: list[Task], head: Executed) -> int | None:
    """Return the newest task during which the first task of a graph began."""
    for task in reversed(started):
        assert task.executed is not None
        if task.executed.began_us <= head.began_us <= task.executed.ended_us:
            return task.number
    return None


def add_time_stamps(tasks: list[Task], numbers: dict[int, int], kept: Kept) -> str:
    """Say when timing events were passed: the stretch before one is what the stream did since the one before."""
    by_position = {(task.lane, task.position % 65536): task for task in tasks}
    before: dict[int, float] = {}
    moved: float | None = None
    for task, lane, ticks in _stamps(by_position, numbers, kept):
        now = ticks / (float(lane.stream.env.chip.prop("eventTimestampFreq")) / 1000)
        moved = task.ended_us - now if moved is None else moved
        task.executed = Executed(before.get(task.lane, now) + moved, now + moved, "since the timing event before")
        before[task.lane] = now
    return "time stamps of the program's own timing events" if before else ""


def _stamps(by_position: dict[tuple[int, int], Task], numbers: dict[int, int], kept: Kept,
            ) -> Iterator[tuple[Task, Lane, int]]:
    for report in kept.reports:
        position = -1 if report.position is None else report.position
        task = by_position.get((numbers.get(id(report.lane), -1), position))
        if task is not None and task.kind == "EVENT_RECORD":
            yield task, report.lane, report.ticks
