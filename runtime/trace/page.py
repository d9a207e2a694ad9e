"""A trace as one HTML file that needs no network: verdict, table of beats, timeline, tasks."""

from __future__ import annotations

import html
import json
from pathlib import Path
from string import Template
from typing import Any

from runtime.launch.recorder import BEATS, REST
from runtime.trace import verdict
from runtime.trace.chrome import threads_of
from runtime.trace.model import Task, Trace

_MOST_DRAWN = 5000
"""Tasks that the timeline shows; the table and the verdict are about all of them."""

_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>npuhal trace: $title</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:1200px;padding:0 1em;color:#1d2430}
h1{font-size:1.3em}h2{font-size:1.05em;margin-top:1.6em}
table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #e3e6ea}
td:first-child,th:first-child{text-align:left}
#line{overflow-x:auto;border:1px solid #d5d9df}#tip{min-height:3.2em;white-space:pre-wrap;font-family:monospace}
svg text{font:11px system-ui,sans-serif;fill:#444}rect:hover{stroke:#000}
.verdict li:first-child{font-weight:600}button{font:inherit}
</style></head><body>
<h1>$title</h1>
<p>$about</p>
<h2>Verdict</h2><ul class="verdict" id="verdict">$verdict</ul>
<h2>Beats</h2><table id="beats"><thead><tr><th>beat</th><th>total us</th><th>median us</th><th>worst us</th>
<th>share</th></tr></thead><tbody>$rows</tbody></table>
<h2>Timeline</h2><p>$legend <button id="in">zoom in</button> <button id="out">zoom out</button></p>
<div id="line"></div><div id="tip">point at a bar</div>
<script type="application/json" id="data">$data</script>
<script>
const data = JSON.parse(document.getElementById("data").textContent);
const line = document.getElementById("line"), tip = document.getElementById("tip");
const SVG = "http://www.w3.org/2000/svg", LEFT = 170, HIGH = 22;
let zoom = 1;
function make(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  parent.appendChild(node);
  return node;
}
function draw() {
  line.replaceChildren();
  const end = Math.max(1, ...data.bars.map(bar => bar[2])), wide = 1000 * zoom, scale = wide / end;
  const svg = make("svg", {width: LEFT + wide + 20, height: data.rows.length * HIGH + 24}, line);
  data.rows.forEach((name, row) => { make("text", {x: 4, y: row * HIGH + 15}, svg).textContent = name; });
  for (const [row, began, ended, colour, name, more] of data.bars) {
    const rect = make("rect", {x: LEFT + began * scale, y: row * HIGH + 3, height: HIGH - 6,
      width: Math.max(1, (ended - began) * scale), fill: colour}, svg);
    rect.addEventListener("mouseover", () => {
      tip.textContent = name + "  " + (ended - began).toFixed(2) + " us\\n" + more;
    });
  }
  for (const [rowA, a, rowB, b] of data.edges)
    make("line", {x1: LEFT + a * scale, y1: (rowA + .5) * HIGH, x2: LEFT + b * scale, y2: (rowB + .5) * HIGH,
      stroke: "#c0392b"}, svg);
  for (let i = 0; i <= 10; i++)
    make("text", {x: LEFT + wide * i / 10, y: data.rows.length * HIGH + 16}, svg).textContent =
      (end * i / 10).toFixed(0) + " us";
  const count = what => svg.querySelectorAll(what).length;
  document.body.dataset.drawn = count("rect") + " bars, " + count("line") + " arrows";
}
document.getElementById("in").onclick = () => { zoom *= 2; draw(); };
document.getElementById("out").onclick = () => { zoom = Math.max(1, zoom / 2); draw(); };
draw();
</script></body></html>
""")

_COLOURS = ("#7f8c8d", "#e67e22", "#95a5a6", "#2980b9", "#8e44ad", "#c0392b", "#f1c40f", "#bdc3c7")
"""By beat, and last what comes after the send."""
_WAIT, _SPAN, _DEVICE = "#f1c40f", "#16a085", "#27ae60"


def render(trace: Trace) -> str:
    """Return the page."""
    names = (*BEATS, "after the send")
    legend = " ".join(
        f'<span style="border-left:.8em solid {colour};padding-left:.3em;margin-right:.8em">{html.escape(name)}</span>'
        for colour, name in zip((*_COLOURS, _SPAN, _DEVICE), (*names, "load, copy, open", "on the device"), strict=True)
    )
    rows = "".join(
        f"<tr><td>{html.escape(row.beat)}</td><td>{row.total_us:.1f}</td><td>{row.median_us:.2f}</td>"
        f"<td>{row.worst_us:.1f}</td><td>{row.share:.0%}</td></tr>" for row in verdict.table(trace)
    )
    data = json.dumps(_timeline(trace), separators=(",", ":")).replace("</", "<\\/")
    return _PAGE.substitute(
        title=html.escape(f"{trace.chip}, {len(trace.launches)} launches"), about=html.escape(_about(trace)),
        verdict="".join(f"<li>{html.escape(line)}</li>" for line in verdict.verdict(trace)), rows=rows, legend=legend,
        data=data,
    )


def write(trace: Trace, path: Path) -> None:
    """Write the page."""
    path.write_text(render(trace), encoding="utf-8")


def _about(trace: Trace) -> str:
    clock = f"device rows: {trace.clock}" if trace.clock else "no clock of the device could be read"
    shown = f"; the timeline shows the first {_MOST_DRAWN} tasks" if len(trace.tasks) > _MOST_DRAWN else ""
    return f"{trace.url}; {len(trace.tasks)} tasks in {len(trace.tracks)} streams; {clock}{shown}"


def _timeline(trace: Trace) -> dict[str, Any]:
    """Return rows by name, bars as (row, began, ended, colour, name, more), and arrows between rows."""
    threads = threads_of(trace)
    rows = [f"host thread {number}" for number in threads.values()]
    rows += [f"device {track.device} stream {track.stream_id} {track.name}".rstrip() for track in trace.tracks]
    bars: list[tuple[int, float, float, str, str, str]] = []
    shown = trace.tasks[:_MOST_DRAWN]
    for bar in trace.bars[:_MOST_DRAWN]:
        facts = ", ".join(f"{key} {value}" for key, value in bar.facts.items())
        colour = _WAIT if bar.kind == "wait" else _SPAN
        bars.append((threads[bar.thread] - 1, bar.began_us, bar.ended_us, colour, bar.name, facts))
    for task in shown:
        more = f"{task.name}, submitted at {task.place}, {task.pending} SQEs pending, send {task.send_share:.0%}"
        for beat, began, ended in task.stretches:
            name = "after the send" if beat == REST else f"{beat + 1} {BEATS[beat]}"
            bars.append((threads[task.thread] - 1, began, ended, _COLOURS[beat], name, more))
        if task.executed is not None:
            began, ended, what = task.executed
            bars.append((len(threads) + task.lane, began, ended, _DEVICE, f"{task.name}: {what}", more))

    def end_of(task: Task) -> tuple[int, float]:
        if task.executed is not None:
            return len(threads) + task.lane, task.executed.began_us
        return threads[task.thread] - 1, task.began_us

    edges = [(*end_of(trace.tasks[a]), *end_of(trace.tasks[b])) for a, b in trace.edges if max(a, b) < _MOST_DRAWN]
    return {"rows": rows, "bars": bars, "edges": edges}
