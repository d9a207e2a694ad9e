"""Which beat is slow, and what to do: sums per beat over all launches, and sentences about the largest."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from runtime.launch.recorder import ADDRESS, ARGUMENTS, BEATS, BUILD, DESCRIBE, REST, SEND, SLOT, WAIT
from runtime.trace.model import Task, Trace

_CURES = {
    ADDRESS: "the address is looked up per launch: bind() the kernel once per stream",
    SLOT: "the ring is full, or threads contend for the stream: spread launches over streams, or wait in between",
    DESCRIBE: "arguments are converted per launch: pass buffers, not arrays or NumPy scalars, and bind() the kernel",
    ARGUMENTS: "arguments are copied per launch: keep them on the device (bind_device_arguments), or pass fewer",
    BUILD: "the SQE is built anew per launch: only kernels of one core type are patched from a template",
    SEND: "the driver call is the cost: capture the launches into a graph, which one SQE executes",
    WAIT: "the host waits: for the device to finish (look at its row), or more often than it has to",
    REST: "places are reclaimed in the launch: synchronize now and then, so that it finds less to do",
}
_FEW = 5
"""Launches below which a median says nothing."""
_LARGE = 0.4
"""Share of the whole above which a beat is called slow."""
_FULL = 0.75
"""Part of a ring above which it is called full."""


class Row(NamedTuple):
    """One beat over all launches, in microseconds; share is that of the launches' time without waits."""

    beat: str
    total_us: float
    median_us: float
    worst_us: float
    share: float


def table(trace: Trace) -> list[Row]:
    """Return one row per beat, and one for what comes after the send."""
    beats = [task.beats_us() for task in trace.launches]
    whole = sum(sum(row) - row[WAIT] for row in beats) or 1.0
    rows = []
    for index, name in enumerate((*BEATS, "after the send")):
        column = [row[index] for row in beats] or [0.0]
        share = 0.0 if index == WAIT else sum(column) / whole
        label = name if index == REST else f"{index + 1} {name}"
        rows.append(Row(label, sum(column), statistics.median(column), max(column), share))
    return rows


def verdict(trace: Trace) -> list[str]:
    """Return what stands out, the most important first; always at least one sentence."""
    launches = trace.launches
    if not launches:
        return ["no kernel was launched while tracing was on" + _unseen(trace)]
    rows = table(trace)
    typical = statistics.median(task.ended_us - task.began_us for task in launches)
    said = [f"{len(launches)} launches, {typical:.1f} us each at the median; the send is {rows[SEND].share:.0%} of it"]
    slow = max((index for index in range(REST + 1) if index != WAIT), key=lambda index: rows[index].total_us)
    name = rows[slow].beat
    if rows[slow].share >= _LARGE:
        said.append(f"slow beat: {name} takes {rows[slow].share:.0%}; {_CURES[slow]}")
    else:
        said.append(f"no beat stands out; the largest is {name} with {rows[slow].share:.0%}")
    said += _first(launches, trace)
    device = sum(one.executed.ended_us - one.executed.began_us for one in launches if one.executed)
    host = sum(task.ended_us - task.began_us for task in launches)
    waited = sum(bar.ended_us - bar.began_us for bar in trace.bars if bar.kind == "wait")
    if waited > host:
        said.append(f"waiting: the host waited {waited:.0f} us and spent {host:.0f} us on launches; {_CURES[WAIT]}")
    if device and trace.clock:
        said.append(f"device: kernels ran {device:.1f} us by the {trace.clock}")
    full = [track for index, track in enumerate(trace.tracks) if _fullest(trace, index) > _FULL]
    said += [f"stream {track.stream_id}: its ring was nearly full; {_CURES[SLOT]}" for track in full]
    if trace.unseen:
        said.append(_unseen(trace).removeprefix("; "))
    return said


def _first(launches: list[Task], trace: Trace) -> list[str]:
    """Say what first launches cost more than later ones, and what loading took."""
    loads = [bar for bar in trace.bars if bar.name.startswith("load")]
    said = []
    if loads:
        total = sum(bar.ended_us - bar.began_us for bar in loads)
        said.append(f"loading: {len(loads)} programs went to the device in {total:.0f} us, before their first launch")
    by_name: dict[str, list[float]] = {}
    for task in launches:
        by_name.setdefault(task.name, []).append(task.ended_us - task.began_us)
    for name, spans in by_name.items():
        later = statistics.median(spans[1:]) if len(spans) >= _FEW else 0.0
        if later and spans[0] > 3 * later:
            said.append(f"first launch of {name}: {spans[0]:.0f} us, later ones {later:.1f} us; launch once to warm up")
    return said


def _fullest(trace: Trace, lane: int) -> float:
    return max((task.pending / trace.tracks[lane].depth for task in trace.tasks if task.lane == lane), default=0.0)


def _unseen(trace: Trace) -> str:
    if not trace.unseen:
        return ""
    return (f"; {trace.unseen} SQEs were not seen: launchers that were bound before tracing began are not watched "
            "(bind them inside), or more came than are kept")  # fmt: skip
