"""A trace in the JSON that Perfetto and chrome://tracing show (Trace Event Format).

The host has one row per thread: launches with their phases inside, waits, loads. Each device is a process with one row
per stream: what it executed, by its own clock. Arrows lead from a launch to its execution, and from the record of an
event to whoever waited for it, and from the execution of a graph to its first tasks; a counter shows how full each ring
was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npuhal.files import write_whole
from runtime.launch.task_records import PHASES, REST
from runtime.trace.device import Executed
from runtime.trace.model import Bar, Task, Trace

_HOST = 1
_FIRST_DEVICE = 10
_AFTER = "after the send"


def events(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield the trace events."""
    threads = threads_of(trace)
    yield from _names(trace, threads)
    crossing = _crossing(trace)
    for number, bar in enumerate(trace.bars):
        tid = threads[bar.thread]
        if number in crossing:
            yield from _stretch(bar, number, tid)
        else:
            yield _slice(bar.name, bar.kind, _HOST, tid, bar.began_us, bar.ended_us, bar.facts)
    for task in trace.tasks:
        yield from _task(trace, task, threads[task.thread])
    for replay in trace.replays:
        began, ended, what = replay.executed
        pid = _FIRST_DEVICE + trace.tracks[replay.lane].device
        yield _slice(replay.name, "device", pid, replay.lane + 1, began, ended, {"device says": what, "of": "a graph"})
    yield from _arrows(trace, threads)
    yield from _memory(trace)


def _memory(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield a counter of the bytes by owner, for each device whose memory was recorded."""
    for lane in trace.memory:
        pid, name = _FIRST_DEVICE + lane.device, f"memory of device {lane.device} (bytes)"
        for when in lane.times:
            now = lane.at(when)
            yield {"ph": "C", "name": name, "pid": pid, "ts": round(when, 3),
                   "args": {owner: now.get(owner, 0) for owner in lane.owners}}  # fmt: skip


def _names(trace: Trace, threads: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Yield what the rows are called, the host before the devices."""
    yield _about(_HOST, "process_name", name="host")
    yield _about(_HOST, "process_sort_index", sort_index=0)
    for number, name in enumerate(thread_names(trace), 1):
        yield _about(_HOST, "thread_name", number, name=name)
    for device in sorted({track.device for track in trace.tracks}):
        name = f"device {device} ({trace.clock or 'no clock to read'})"
        yield _about(_FIRST_DEVICE + device, "process_name", name=name)
        yield _about(_FIRST_DEVICE + device, "process_sort_index", sort_index=device + 1)
    for number, track in enumerate(trace.tracks, 1):
        name = f"stream {track.stream_id} {track.name}".rstrip()
        yield _about(_FIRST_DEVICE + track.device, "thread_name", number, name=name)


def threads_of(trace: Trace) -> dict[int, int]:
    """Number the host's threads in the order in which they first did something."""
    order = sorted((one.began_us, one.thread) for group in (trace.tasks, trace.bars) for one in group)
    return {thread: number for number, thread in enumerate(dict.fromkeys(thread for _, thread in order), 1)}


def thread_names(trace: Trace) -> list[str]:
    """Return what the host's threads are called, in the order of `threads_of`; who shares a name gets a number too."""
    names: list[str] = []
    for thread, number in threads_of(trace).items():
        name = trace.threads[thread] if thread < len(trace.threads) else f"thread {number}"
        names.append(f"{name} ({number})" if name in names else name)
    return names


def _crossing(trace: Trace) -> set[int]:
    """Return which stretches of the program's begin or end in the middle of something else, so that they do not nest.

    Slices of a track must nest; everything else that a thread does does so by itself.
    """
    by_thread: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for task in trace.tasks:
        by_thread[task.thread].append((task.began_us, -task.ended_us, -1))
    for number, bar in enumerate(trace.bars):
        by_thread[bar.thread].append((bar.began_us, -bar.ended_us, number if bar.named_by_program else -1))
    found: set[int] = set()
    for slices in by_thread.values():
        around: list[tuple[float, int]] = []
        for began, minus, number in sorted(slices):
            around = [(end, outer) for end, outer in around if end > began]
            crossed = [(end, outer) for end, outer in around if end < -minus]
            if number >= 0 and any(outer < 0 for _, outer in crossed):
                found.add(number)
                continue
            found.update(outer for _, outer in crossed)
            around = [one for one in around if one not in crossed] + [(-minus, number)]
    return found


def _stretch(bar: Bar, number: int, tid: int) -> Iterator[dict[str, Any]]:
    """Yield a stretch on a track of its own."""
    for kind, ts in (("b", bar.began_us), ("e", bar.ended_us)):
        yield {"ph": kind, "name": bar.name, "cat": "program", "id": f"program-{number}", "pid": _HOST, "tid": tid,
               "ts": round(ts, 3), "args": bar.facts}  # fmt: skip


def _task(trace: Trace, task: Task, thread: int) -> Iterator[dict[str, Any]]:
    track = trace.tracks[task.lane]
    facts = {
        "number": task.number, "submitted at": task.site, "stream": track.stream_id, "device": track.device,
        "submission path": track.way, "arguments by": track.arguments if task.is_launch else "-",
        "SQEs pending": task.pending, "ring position": task.position, "send's share": f"{task.send_share:.0%}",
        "waited for later (us)": round(task.wait_us, 3),
        **{f"sqe.{name}": value for name, value in task.fields.items() if value},
    }  # fmt: skip
    if task.captured:
        path = "none: captured into a graph"
        facts = {"submitted at": task.site, "stream": track.stream_id, "submission path": path}
        yield _slice(task.name, "captured", _HOST, thread, task.began_us, task.ended_us, facts)
        return
    kind = "launch" if task.is_launch else "task"
    yield _slice(task.name, kind, _HOST, thread, task.began_us, task.ended_us, facts)
    for phase, began, ended in task.stretches:
        name = _AFTER if phase == REST else f"{phase + 1} {PHASES[phase]}"
        yield _slice(name, "phase", _HOST, thread, began, ended, {})
    queue = f"SQEs pending, device {track.device} stream {track.stream_id}"
    yield {"ph": "C", "name": queue, "pid": _HOST, "ts": round(task.ended_us, 3), "args": {"SQEs": task.pending}}
    if task.executed is not None:
        pid, tid = _FIRST_DEVICE + track.device, task.lane + 1
        began, ended, what = task.executed
        yield _slice(task.name, "device", pid, tid, began, ended, {"number": task.number, "device says": what})


def _arrows(trace: Trace, threads: dict[int, int]) -> Iterator[dict[str, Any]]:
    def host(task: Task) -> dict[str, Any]:
        return {"pid": _HOST, "tid": threads[task.thread], "ts": round(task.began_us, 3)}

    for task in trace.tasks:
        if task.executed is not None and task.is_launch:
            yield from _arrow(f"launch-{task.number}", "launch", host(task), _device_end(trace, task))
    for number, replay in enumerate(trace.replays):
        if replay.starter is not None and trace.tasks[replay.starter].executed is not None:
            head = _end(trace, replay.lane, replay.executed)
            yield from _arrow(f"graph-{number}", "graph", _device_end(trace, trace.tasks[replay.starter]), head)
    for number, (source, target) in enumerate(trace.edges):
        first, second = trace.tasks[source], trace.tasks[target]
        ends = [_device_end(trace, one) if one.executed else host(one) for one in (first, second)]
        yield from _arrow(f"event-{number}", "event", *ends)


def _arrow(name: str, kind: str, start: dict[str, Any], end: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"ph": "s", "name": kind, "cat": kind, "id": name, **start}
    yield {"ph": "f", "bp": "e", "name": kind, "cat": kind, "id": name, **end}


def _device_end(trace: Trace, task: Task) -> dict[str, Any]:
    assert task.executed is not None
    return _end(trace, task.lane, task.executed)


def _end(trace: Trace, lane: int, executed: Executed) -> dict[str, Any]:
    return {"pid": _FIRST_DEVICE + trace.tracks[lane].device, "tid": lane + 1, "ts": round(executed.began_us, 3)}


def _slice(name: str, kind: str, pid: int, tid: int, began: float, ended: float, facts: dict[str, Any],
           ) -> dict[str, Any]:
    return {
        "ph": "X", "name": name, "cat": kind, "pid": pid, "tid": tid, "ts": round(began, 3),
        "dur": round(ended - began, 3), "args": facts,
    }  # fmt: skip


def _about(pid: int, what: str, tid: int = 0, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


def write(trace: Trace, path: Path) -> None:
    """Write the trace; open it at ui.perfetto.dev or chrome://tracing."""
    about = {"url": trace.url, "chip": trace.chip, "device clock": trace.clock, "SQEs not seen": trace.unseen}
    document = {"traceEvents": list(events(trace)), "displayTimeUnit": "ns", "otherData": about}
    write_whole(path, json.dumps(document, separators=(",", ":"), default=str))
