"""Graphs as data: edges, a text tree, DOT, the debug JSON of the C API, and what differs between two graphs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from chips.tasks import (
    AicpuKernel,
    CoreKernel,
    EventRecord,
    EventReset,
    EventWait,
    MemWaitValue,
    MemWriteValue,
    MixKernel,
    MixKind,
    NotifyRecord,
    NotifyWait,
    StreamActive,
    TaskType,
)
from npuhal.tuples import NamedTuple
from runtime.feature.graph.recording.node import Node

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports

_TYPE_NAMES = {TaskType.MEMCPY: "MEMCPY_ASYNC", TaskType.STREAM_WAIT_EVENT: "EVENT_WAIT"}
_VERBOSE = 1
"""Flag of the debug JSON: with the words of kernel arguments."""
_DURATIONS = (("NOP", 1), ("RECORD", 5), ("WAIT", 15), ("", 10))
"""What the debug JSON pretends a task takes, by what its type contains."""
_GAP = 0.5
_WORD_BYTES = 8


class Edge(NamedTuple):
    """What comes before what: the order of a stream, or an event that is waited for."""

    source: Node
    target: Node
    event: str = ""
    """The event; empty for the order of a stream."""

    @property
    def site(self) -> str:
        """Where the order was made: the call that submitted the later task."""
        return self.target.site

    @property
    def place(self) -> str:
        """The former name of `site`."""
        return self.site


def edges_of(graph: ports.Graph) -> list[Edge]:
    """Return all edges: stream by stream, then events."""
    found: list[Edge] = []
    last: dict[Stream, Node] = {}
    for node in graph.nodes:
        if before := last.get(node.user):
            found.append(Edge(before, node))
        last[node.user] = node
    for captured in graph.recording.captured_events:
        if captured.node is not None:
            found += (Edge(captured.node, wait, _event_of(captured.node)) for wait in captured.waits)
    return found


def _event_of(node: Node) -> str:
    return "" if node.event is None else node.event.name


# -- text and pictures -------------------------------------------------------------------------------------------------


def outline(graph: ports.Graph) -> str:
    """Return the graph as indented text: its streams, what each does, and which events lead where."""
    leads: dict[Node, list[Node]] = {}
    for edge in edges_of(graph):
        if edge.event:
            leads.setdefault(edge.source, []).append(edge.target)
    lines = [repr(graph).strip("<>")]
    for branch in graph.recording.branches:
        name = f" ({branch.user.name})" if branch.user.name else ""
        lines.append(f"  stream {branch.user.stream_id}{name}")
        for node in graph.nodes:
            if node.user is branch.user:
                lines.append(f"    {node.index:>4}  {_line(node, leads.get(node, ()))}")
    return "\n".join(lines)


def _line(node: Node, targets: Sequence[Node]) -> str:
    parts = [node.name]
    if node.blocks:
        parts.append(f"[{node.blocks}]")
    if targets:
        parts.append("-> " + ", ".join(str(target.index) for target in targets))
    if not node.enabled:
        parts.append("(disabled)")
    if node.site:
        parts.append(f"at {node.site}")
    return " ".join(parts)


def dot(graph: ports.Graph) -> str:
    """Return the graph in the language of Graphviz: one cluster per stream, dashed edges for events."""
    lines = [f"digraph {json.dumps(graph.name or f'graph {graph.model_id}')} {{", "  node [shape=box];"]
    for branch in graph.recording.branches:
        lines += [f"  subgraph cluster_{branch.user.stream_id} {{", f'    label="stream {branch.user.stream_id}";']
        lines += (
            f"    n{node.index} [label={json.dumps(node.name)}{_attributes(node)}];"
            for node in graph.nodes if node.user is branch.user
        )
        lines.append("  }")
    for edge in edges_of(graph):
        style = f" [style=dashed, label={json.dumps(edge.event)}]" if edge.event else ""
        lines.append(f"  n{edge.source.index} -> n{edge.target.index}{style};")
    return "\n".join((*lines, "}")) + "\n"


def _attributes(node: Node) -> str:
    style = "" if node.enabled else ", style=dotted"
    return f"{style}, tooltip={json.dumps(node.site)}" if node.site else style


# -- the debug form of the C API ---------------------------------------------------------------------------------------


def debug_json(model: ports.Model, flags: int = 0) -> str:
    """Return what aclmdlRIDebugJsonPrint writes: a trace for Chrome's viewer, with durations that mean nothing.

    Streams come newest first, as the model lists them.

    Args:
        flags: 1 adds the words of kernel arguments, read from the device.
    """
    events = [event for stream in model.streams for event in _events(model, stream, flags)]
    return "[\n" + ",\n".join(events) + ("\n" if events else "") + "]"


def _events(model: ports.Model, stream: Stream, flags: int) -> Iterator[str]:
    start = 0
    for node in model.nodes:
        if node.stream is not stream:
            continue
        kind = type_name(node)
        length = next(length for part, length in _DURATIONS if (kind == part if part == "NOP" else part in kind))
        event = {
            "name": _event_name(node, kind), "pid": f"{os.getpid()} aclGraph", "tid": f"stream{stream.stream_id}",
            "ts": start, "dur": length - _GAP, "ph": "X", "args": _facts(model, node, kind, flags),
        }
        start += length
        yield json.dumps(event, separators=(",", ":"))


def type_name(node: Node) -> str:
    """Return what the C API's debug output calls the type of a node."""
    task = node.template
    if isinstance(task, MixKernel):
        return "KERNEL_MIX_AIC" if task.mix in (MixKind.AIC, MixKind.MAIN_AIC) else "KERNEL_MIX_AIV"
    return _TYPE_NAMES.get(task.type, task.type.name)


def _event_name(node: Node, kind: str) -> str:
    task = node.template
    if node.kernel is not None:
        return node.kernel.name
    if isinstance(task, (EventRecord, EventWait, EventReset)):
        return f"{kind}_{task.event_id}"
    if isinstance(task, (NotifyRecord, NotifyWait)):
        return f"{kind}_{task.notify_id}"
    if isinstance(task, (MemWriteValue, MemWaitValue)):
        return f"{kind}_{task.addr}"
    return kind


def _facts(model: ports.Model, node: Node, kind: str, flags: int) -> dict[str, object]:
    task = node.task
    facts: dict[str, object] = {
        "Model Id": model.model_id, "Stream Id": node.stream.stream_id, "Task Id": node.ids.task_id, "Task Type": kind,
    }
    if text := model.texts.get(node):
        facts["ExtendInfo"] = text
    if isinstance(task, StreamActive):
        facts["Active Stream Id"] = task.active_stream_id
    if isinstance(task, (CoreKernel, AicpuKernel)):
        facts["Numblocks"] = task.block_dim
    if isinstance(task, MixKernel):
        facts["Task Ration"] = task.ratio
    if isinstance(task, CoreKernel):
        facts["Schem Mode"] = task.schem_mode
        if flags & _VERBOSE and task.args and task.args_size:
            data = model.device.memory.read(task.args, task.args_size // _WORD_BYTES * _WORD_BYTES)
            words = (data[at : at + _WORD_BYTES] for at in range(0, len(data), _WORD_BYTES))
            facts["Kernel Args"] = " ".join(f"0x{int.from_bytes(word, 'little'):016x}" for word in words)
            facts["Kernel Args Size"] = task.args_size
    return facts


def times(graph: ports.Graph, executed: Any) -> dict[Node, list[int]]:
    """Return the nanoseconds of each execution of each node; see `Graph.times`."""
    device = graph.device.device_id
    by_position = {(device, node.stream.stream_id, node.position): node for node in graph.nodes}
    replays = getattr(executed, "replays", None)
    records = executed if replays is None else (replay.record for replay in replays)
    found: dict[Node, list[int]] = {}
    for record in records:
        node = by_position.get((record.device, record.stream, record.position))
        if node is not None:
            found.setdefault(node, []).append(record.end - record.start)
    return found


# -- comparison --------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One difference between two graphs: nodes that only one has, or one that differs."""

    before: tuple[Node, ...]
    after: tuple[Node, ...]
    what: str


def differences(before: ports.Graph, after: ports.Graph) -> list[Difference]:
    """Return what differs between two graphs, in order; streams and events are compared by their order in the capture.

    A node is the same when it has the same name, blocks, branch and state; kernels are also told apart by the words of
    their arguments.
    """
    found: list[Difference] = []
    left, right = [_signature(before, node) for node in before.nodes], [_signature(after, node) for node in after.nodes]
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        old, new = tuple(before.nodes[a:b]), tuple(after.nodes[c:d])
        if tag != "equal":
            what = {"replace": "differs", "delete": "only before", "insert": "only after"}[tag]
            found.append(Difference(old, new, what))
            continue
        for one, other in zip(old, new, strict=True):
            if _words(one) != _words(other):
                found.append(Difference((one,), (other,), "other arguments"))
    return found


def _signature(graph: ports.Graph, node: Node) -> tuple[object, ...]:
    position = next((index for index, branch in enumerate(graph.recording.branches) if branch.user is node.user), -1)
    kernel = "" if node.kernel is None else node.kernel.name
    return (position, type_name(node), kernel, node.blocks, node.enabled)


def _words(node: Node) -> bytes:
    task = node.task
    if not isinstance(task, CoreKernel) or not task.args or not task.args_size:
        return b""
    return bytes(node.stream.device.memory.read(task.args, task.args_size))
