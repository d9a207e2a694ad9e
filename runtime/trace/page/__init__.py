"""A trace as one HTML file that needs no network: verdict, table of phases, timeline, slowest launches, streams.

The page is `page.html` with the style and the scripts beside it put in, and the trace as JSON: `model.js` makes rows
and bars of it, `timeline.js` draws them, `input.js` is mouse and wheel, `page.js` everything around.
"""

from __future__ import annotations

import html
import json
import re
import statistics
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from npuhal.files import write_whole
from runtime.launch.task_records import PHASES, REST, SEND, WAIT
from runtime.memory.statistics import amount
from runtime.trace import verdict
from runtime.trace.chrome import thread_names, threads_of
from runtime.trace.memory import MemoryLane
from runtime.trace.model import Bar, Task, Trace
from runtime.trace.verdict import duration

_MOST_DRAWN = 20_000
"""Tasks that the timeline shows, the newest; tables and verdict are about all of them."""
_SLOWEST = 12
_NUMBER = re.compile(r"(\d) (?=(us|ms|s|B|KiB|MiB|GiB|TiB)\b)")
"""A number with its unit."""
_SCRIPTS = ("model.js", "memory.js", "timeline.js", "input.js", "page.js")
_WARNINGS = ("slow phase", "waiting", "first launch", "stream ")
_KINDS = (("kernel", "KERNEL"), ("copy", "MEMCPY"), ("copy", "SDMA"), ("signal", "EVENT"), ("signal", "NOTIFY"),
          ("graph", "MODEL"))  # fmt: skip
"""What a task is drawn as, by a part of its kind; the first that fits."""


def render(trace: Trace) -> str:
    """Return the page."""
    folder = files(__package__)
    # No "<" may stand in it: behind "<!--<script" a browser takes "</script>" for text, and "</" ends the element.
    data = json.dumps(_data(trace), separators=(",", ":")).replace("<", "\\u003c")
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(f"{trace.chip}, {_title(trace)}"),
        about=_whole(_about(trace)), tiles=_tiles(trace), verdict="".join(map(_sentence, verdict.verdict(trace))),
        rows="".join(map(_phase, verdict.table(trace))), slowest="".join(_slowest(trace)),
        streams="".join(_streams(trace)), memory="".join(_memory(trace)),
        style=(folder / "page.css").read_text(encoding="utf-8"), data=data,
        script="\n".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS),
    )  # fmt: skip


def write(trace: Trace, path: Path) -> None:
    """Write the page."""
    write_whole(path, render(trace))


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _about(trace: Trace) -> str:
    clock = f"device rows: {trace.clock}" if trace.clock else "no clock of the device could be read"
    shown = f"; the timeline shows the newest {_MOST_DRAWN:,}" if len(trace.tasks) > _MOST_DRAWN else ""
    return f"{trace.url}; {_count(len(trace.tasks), 'task', 'tasks')}{shown}; {clock}"


def _title(trace: Trace) -> str:
    graphs = _executions(trace)
    if graphs and not trace.launches:
        return _count(graphs, "execution of a graph", "executions of graphs")
    return _count(len(trace.launches), "launch", "launches")


def _executions(trace: Trace) -> int:
    return sum(task.kind == "MODEL_EXECUTE" for task in trace.tasks)


def _tiles(trace: Trace) -> str:
    """Return the numbers at the top."""
    spans = [task.ended_us - task.began_us for task in trace.launches]
    rows = verdict.table(trace)
    busy = sum(one.executed.ended_us - one.executed.began_us for one in trace.tasks if one.executed)
    busy += sum(replay.executed.ended_us - replay.executed.began_us for replay in trace.replays)
    captured = sum(task.captured for task in trace.tasks)
    loads = sum(bar.ended_us - bar.began_us for bar in verdict.loads(trace))
    facts = [("launches", f"{len(spans):,}")]
    if spans:
        facts.append(("a launch, median", duration(statistics.median(spans))))
        facts.append(("share of the send", f"{rows[SEND].share:.0%}"))
    if captured:
        facts += [("captured", f"{captured:,}"), ("graph executions", f"{_executions(trace):,}")]
    facts += [
        ("host waited", duration(rows[WAIT].total_us)),
        ("device worked", duration(busy) if trace.clock else "-"),
        ("loading kernels", duration(loads)),
    ]
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in facts)


def _sentence(text: str) -> str:
    kind = "warn" if text.startswith(_WARNINGS) else "info"
    return f'<li class="{kind}">{_whole(text)}</li>'


def _phase(row: verdict.Row) -> str:
    """Return a row of the table of phases."""
    name, index = row.phase, int(row.phase[0]) - 1 if row.phase[0].isdigit() else REST
    share = f'<i style="width:{row.share:.1%}" class="k{index}"></i>{row.share:.0%}'
    last = f'<td class="share">{share}</td>' if not row.note else f'<td class="note">{html.escape(row.note)}</td>'
    return (f'<tr><td><i class="dot k{index}"></i>{html.escape(name)}</td><td>{row.total_us:,.1f}</td>'
            f"<td>{row.median_us:,.2f}</td><td>{row.worst_us:,.1f}</td>{last}</tr>")  # fmt: skip


def _slowest(trace: Trace) -> Iterator[str]:
    first = max(len(trace.tasks) - _MOST_DRAWN, 0)
    if not trace.launches:
        yield '<tr><td colspan="4">no kernel was launched by itself</td></tr>'
    for task in sorted(trace.launches, key=lambda task: task.began_us - task.ended_us)[:_SLOWEST]:
        spent = task.phases_us()
        worst = max((phase for phase in range(REST + 1) if phase != WAIT), key=lambda phase: spent[phase])
        phase = "after the send" if worst == REST else f"{worst + 1} {PHASES[worst]}"
        name = html.escape(task.name)
        if task.number >= first:
            name = f'<button type="button" data-task="{task.number - first}">{name}</button>'
        yield (f"<tr><td>{name}</td><td>{task.ended_us - task.began_us:,.1f}</td><td>{phase}, {spent[worst]:,.1f} us"
               f"</td><td>{html.escape(task.site)}</td></tr>")  # fmt: skip


def _streams(trace: Trace) -> Iterator[str]:
    counts = [0] * len(trace.tracks)
    fullest = [0] * len(trace.tracks)
    for task in trace.tasks:
        counts[task.lane] += 1
        fullest[task.lane] = max(fullest[task.lane], task.pending)
    executed = [0] * len(trace.tracks)
    for replay in trace.replays:
        executed[replay.lane] += 1
    for lane, track in enumerate(trace.tracks):
        if not counts[lane] and not executed[lane] and not track.unseen:
            continue
        ring = f"{fullest[lane]:,} of {track.depth:,}" if not track.in_graph else f"of a graph; {executed[lane]:,} run"
        cells = (f"{track.device}", f"{track.stream_id} {track.name}".rstrip(), f"{counts[lane]:,}", track.way,
                 track.arguments, ring, f"{track.unseen:,}")  # fmt: skip
        yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _data(trace: Trace) -> dict[str, Any]:
    """Return what the scripts draw; times in microseconds, names and call sites as indices into `texts`."""
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    threads = threads_of(trace)
    first = max(len(trace.tasks) - _MOST_DRAWN, 0)
    tasks = [_task(task, threads, text) for task in trace.tasks[first:]]
    return {
        "phases": [f"{number} {name}" for number, name in enumerate(PHASES, 1)] + ["after the send"],
        "clock": trace.clock,
        "threads": thread_names(trace),
        "lanes": [
            {"device": track.device, "name": f"stream {track.stream_id} {track.name}".rstrip(), "way": track.way,
             "depth": track.depth, "graph": track.in_graph} for track in trace.tracks
        ],
        "tasks": tasks,
        "bars": [
            (threads[bar.thread] - 1, round(bar.began_us, 3), round(bar.ended_us, 3), _kind_of_bar(bar),
             text(bar.name), text(", ".join(f"{key} {value}" for key, value in bar.facts.items())))
            for bar in trace.bars[-_MOST_DRAWN:]
        ],
        "replays": [
            (replay.lane, round(replay.executed.began_us, 3), round(replay.executed.ended_us, 3), text(replay.name),
             text(replay.executed.what), text(kind_of(replay.executed.what)),
             -1 if replay.starter is None else replay.starter - first)
            for replay in trace.replays[-_MOST_DRAWN:]
        ],
        "edges": [(a - first, b - first) for a, b in trace.edges if min(a, b) >= first],
        "memory": [_memory_data(lane, text) for lane in trace.memory],
        "texts": list(texts),
    }  # fmt: skip


def _memory_data(lane: MemoryLane, text: Callable[[str], int]) -> dict[str, Any]:
    """Return a device's memory as the scripts expect it: [time, bytes by owner...], and the blocks."""
    when, most = lane.high_water
    owners = list(lane.owners)
    points = []
    for time in lane.times[-_MOST_DRAWN:]:
        now = lane.at(time)
        points.append([round(time, 3), *(now.get(owner, 0) for owner in owners)])
    return {
        "device": lane.device, "owners": owners, "most": most, "at": round(when, 3), "points": points,
        "blocks": [
            (owners.index(one.owner), round(one.began_us, 3), None if one.ended_us is None else round(one.ended_us, 3),
             one.size, text(one.site)) for one in lane.allocations[-_MOST_DRAWN:]
        ],
    }  # fmt: skip


def _memory(trace: Trace) -> Iterator[str]:
    """Return a section for each device whose memory was recorded: who held how much at the high-water mark."""
    for lane in trace.memory:
        when, most = lane.high_water
        cut = lane.fragmentation(when)
        free = "nothing cached"
        if cut.pieces:
            pieces = _count(cut.pieces, "piece", "pieces")
            largest = f"the largest {amount(cut.largest)}: {cut.share:.0%} fragmented"
            free = f"{amount(cut.free)} cached in {pieces}, {largest}"
        yield (f"<section><h2>Memory of device {lane.device}</h2><p>High-water mark {_whole(amount(most))} at "
               f"{_whole(duration(when))}; of it {_whole(free)}. {len(lane.allocations):,} allocations in all.</p>"
               '<div class="wide"><table class="memory"><thead><tr><th>owner</th><th>bytes</th><th>blocks</th>'
               "<th>asked for at</th></tr></thead><tbody>")  # fmt: skip
        rows = lane.by_site(when)
        for owner, site, size, count in rows[:_SLOWEST]:
            where = html.escape(site) if site else "before the trace"
            yield f"<tr><td>{html.escape(owner)}</td><td>{amount(size)}</td><td>{count:,}</td><td>{where}</td></tr>"
        yield "</tbody></table></div>"
        if len(rows) > _SLOWEST:
            yield f"<p>and {len(rows) - _SLOWEST:,} more</p>"
        yield "</section>"


def _whole(text: str) -> str:
    """Keep numbers and their units on one line."""
    return _NUMBER.sub("\\1\N{NO-BREAK SPACE}", html.escape(text))


def _kind_of_bar(bar: Bar) -> int:
    """Return what a bar is drawn as: work of ours, a wait, a stretch that the program has named."""
    return 1 if bar.kind == "wait" else 2 if bar.named_by_program else 0


def kind_of(what: str) -> str:
    """Return what a task is drawn as: kernel, copy, signal, graph or other."""
    return next((kind for kind, part in _KINDS if part in what.upper()), "other")


def _task(task: Task, threads: dict[int, int], text: Any) -> tuple[Any, ...]:
    """Return a task as the scripts expect it; its phases follow each other without gaps: lengths are enough."""
    phases = [value for phase, began, ended in task.stretches for value in (phase, round(ended - began, 3))]
    executed = None
    if task.executed is not None:
        executed = round(task.executed.began_us, 3), round(task.executed.ended_us, 3), text(task.executed.what)
    return (
        task.lane, threads[task.thread] - 1, text(task.name), text(task.site), text(kind_of(task.kind)),
        (2 if task.captured else 1) if task.is_launch else 0, round(task.began_us, 3), round(task.ended_us, 3), phases,
        task.pending, task.position, round(task.wait_us, 3), executed,
    )  # fmt: skip
