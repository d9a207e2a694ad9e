"""Which phase is slow, and what to do: sums per phase over all launches, and sentences about the largest."""

from __future__ import annotations

import statistics

from npuhal.tuples import NamedTuple
from runtime.launch.task_records import ADDRESS, ARGUMENTS, BUILD, DESCRIBE, PHASES, REST, SEND, SLOT, WAIT
from runtime.trace.model import Bar, Task, Trace

_CURES = {
    ADDRESS: "the address is looked up per launch: bind() the kernel once per stream",
    SLOT: "the ring is full, or threads contend for the stream: spread launches over streams, or wait in between",
    DESCRIBE: "arguments are converted per launch: pass buffers, not arrays or NumPy scalars, and bind() the kernel",
    ARGUMENTS: "arguments are copied per launch: keep them on the device (bind_device_arguments), or pass fewer",
    BUILD: "the SQE is built anew per launch: only kernels of one core type are patched from a template",
    SEND: "the driver call is the cost: capture the launches into a graph, which one SQE executes",
    WAIT: "the host waits: for the device to finish (look at its row), or more often than it has to",
    REST: "entries are reclaimed in the launch: synchronize now and then, so that it finds less to do",
}
_FEW = 5
"""Launches below which a median says nothing."""
_LARGE = 0.4
"""Share of the whole above which a phase is called slow."""
_FULL = 0.75
"""Part of a ring above which it is called full."""
_SLOW_FIRST = 3
"""So many times a later launch is called slow for the first one."""
_INSIDE = (ARGUMENTS, SEND, REST)
"""Phases that call the driver: a fake works there, and a recorder writes."""
_LOAD, _PREPARE, _WAIT = "load program", "prepare launch", "wait"


class Row(NamedTuple):
    """One phase over all launches, in microseconds.

    Attributes:
        share: part of the launches' time; 0 for what is not counted in it: phase 1, which is prepared, and waits.
        note: what the numbers count, where it is not launches.
    """

    phase: str
    total_us: float
    median_us: float
    worst_us: float
    share: float
    note: str

    @property
    def beat(self) -> str:
        """The former name of `phase`."""
        return self.phase


def duration(us: float) -> str:
    """Return a time as people read it, in tiles and sentences alike: "7.3 us", "89.8 ms", "1.25 s"."""
    if us >= 1e6:
        return f"{us / 1e6:,.2f} s"
    return f"{us / 1000:,.1f} ms" if us >= 1000 else f"{us:.1f} us"


def table(trace: Trace) -> list[Row]:
    """Return one row per phase, and one for what comes after the send.

    Phase 1 is a matter of preparing: kernel and stream are bound once, and launches only patch what was encoded then.
    """
    phases = [task.phases_us() for task in trace.launches]
    whole = sum(sum(row) - row[WAIT] for row in phases) or 1.0
    rows = []
    for index, name in enumerate((*PHASES, "after the send")):
        column, share, note = [row[index] for row in phases], 0.0, ""
        if index == ADDRESS:
            column = [_span(bar) for bar in trace.bars if bar.name == _PREPARE]
            note = f"prepared {_times(len(column))} at bind; nothing per launch"
        elif index == WAIT:
            column = [_span(bar) for bar in trace.bars if bar.kind == _WAIT]
            note = f"{_plural(len(column), 'host wait')} (not counted in launch time)"
        else:
            share = sum(column) / whole
        label = name if index == REST else f"{index + 1} {name}"
        column = column or [0.0]
        rows.append(Row(label, sum(column), statistics.median(column), max(column), share, note))
    return rows


def verdict(trace: Trace) -> list[str]:
    """Return what stands out, the most important first; always at least one sentence."""
    launches = trace.launches
    memory = [sentence for lane in trace.memory for sentence in lane.sentences()]
    if not launches:
        return [*(_graphs(trace) or [f"no kernel was launched while tracing was on{_unseen(trace)}"]), *memory]
    rows = table(trace)
    typical = statistics.median(task.ended_us - task.began_us for task in launches)
    count = f"{len(launches)} launches, {duration(typical)} each at the median" if len(launches) > 1 else "1 launch"
    said = [f"{count}; the send is {rows[SEND].share:.0%} of it"]
    slow = max(range(REST + 1), key=lambda index: rows[index].share)
    name = rows[slow].phase
    if rows[slow].share < _LARGE:
        said.append(f"no phase stands out; the largest is {name} with {rows[slow].share:.0%}")
    elif slow in _INSIDE and (whose := _not_its_own(trace)):
        said.append(f"largest phase: {name} takes {rows[slow].share:.0%}, but {whose}, before you act on it")
    else:
        said.append(f"slow phase: {name} takes {rows[slow].share:.0%}; {_CURES[slow]}")
    said += _first(launches, trace)
    host = sum(task.ended_us - task.began_us for task in launches)
    waited = rows[WAIT].total_us
    if waited > host and not trace.on_fake:  # a fake works while the host waits
        spent = f"the host waited {duration(waited)} and spent {duration(host)} on launches"
        said.append(f"waiting: {spent}; {_CURES[WAIT]}")
    device = sum(one.executed.ended_us - one.executed.began_us for one in launches if one.executed)
    if device:
        said.append(f"device: kernels ran {duration(device)} by the {trace.clock}")
    said += _graphs(trace)
    for index, track in enumerate(trace.tracks):
        if not track.in_graph and (fullest := _fullest(trace, index)) > _FULL * track.depth:
            said.append(f"stream {track.stream_id}: {fullest} of {track.depth} entries of its ring were taken; "
                        f"{_CURES[SLOT]}")  # fmt: skip
    said += memory
    if trace.unseen:
        said.append(_unseen(trace).removeprefix("; "))
    return said


def _not_its_own(trace: Trace) -> str:
    """Say whose time is in the phases that call the driver, where it is not only the driver's."""
    if trace.url.startswith("trace+"):
        return "recording the HAL calls is part of it: trace without --hal"
    if trace.on_fake:
        return f"here it is the fake device's own work: trace on a box, or on null://{trace.chip.lower()}"
    return ""


def loads(trace: Trace) -> list[Bar]:
    """Return the loads of programs."""
    return [bar for bar in trace.bars if bar.name == _LOAD and not bar.named_by_program]


def _graphs(trace: Trace) -> list[str]:
    """Say what graphs have kept and executed."""
    kept = sum(task.captured for task in trace.tasks)
    starts = [task for task in trace.tasks if task.kind == "MODEL_EXECUTE"]
    if not kept and not starts:
        return []
    cost = f", {duration(statistics.median(task.ended_us - task.began_us for task in starts))} each" if starts else ""
    done = f"; the device executed {_plural(len(trace.replays), 'task')} for them" if trace.replays else ""
    captured, launched = _plural(kept, "launch", "es"), _plural(len(starts), "graph launch", "es")
    return [f"graphs: {captured} captured; {launched}{cost}{done}"]


def _first(launches: list[Task], trace: Trace) -> list[str]:
    """Say what first launches cost more than later ones, and what loading took."""
    said = []
    if loaded := loads(trace):
        total = sum(map(_span, loaded))
        programs = "1 program" if len(loaded) == 1 else f"{len(loaded)} programs"
        said.append(f"loading: {programs} went to the device in {duration(total)}, before the first launch")
    by_name: dict[str, list[Task]] = {}
    for task in launches:
        by_name.setdefault(task.name, []).append(task)
    slow = []
    for name, tasks in by_name.items():
        spans = [task.ended_us - task.began_us for task in tasks]
        later = statistics.median(spans[1:]) if len(spans) >= _FEW else 0.0
        if later and spans[0] > _SLOW_FIRST * later:
            took = f"{duration(spans[0])}, later ones {duration(later)}"
            slow.append((spans[0] - later, f"first launch of {name}: {took}; launch once to warm up"))
    slow.sort(reverse=True)
    said += [text for _, text in slow[:1]]
    if len(slow) > 1:
        also = _plural(len(slow) - 1, "other kernel")
        said.append(f"first launch: {also} also had a slow first launch")
    return said


def _plural(count: int, what: str, ending: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else ending}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _span(bar: Bar) -> float:
    return bar.ended_us - bar.began_us


def _fullest(trace: Trace, lane: int) -> int:
    return max((task.pending for task in trace.tasks if task.lane == lane), default=0)


def _unseen(trace: Trace) -> str:
    if not trace.unseen:
        return ""
    what = "1 SQE was" if trace.unseen == 1 else f"{trace.unseen} SQEs were"
    return (f"; {what} not seen: launchers that were bound before tracing began are not watched (bind them inside), "
            "or more came than are kept")  # fmt: skip
