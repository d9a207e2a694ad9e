"""Capture: what is submitted to a stream becomes part of a graph instead of running (core_spec 14.2, 14.3, 14.8)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core.stream.stream import StreamFlag
from runtime.core.sync.open_captures import CaptureMode
from runtime.feature.graph.graph import Graph
from runtime.feature.graph.recording.branch import branch_of, in_dry_run
from runtime.feature.graph.state import Block, CaptureStatus, GraphState

if TYPE_CHECKING:
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream


def begin(
    stream: Stream, mode: CaptureMode = CaptureMode.GLOBAL, *, into: Graph | None = None, block: Block | None = None
) -> Graph:
    """Capture what is submitted to a stream from now on; nothing of it runs before the graph is executed.

    Args:
        into: a branch of a conditional node; by default a graph of its own is made.
        block: the block at whose end the capture ends; where that is gone the capture is given up.

    Raises:
        StreamError 107005: the stream is bound to a model.
        NotSupported 207000: it is a default stream.
        CaptureError 107027: it is being captured already.
        InvalidArgument 107000: `into` is no branch of a conditional node. CaptureError 107026: it has its tasks.
        ResourceExhausted: no model, stream or queue left; the stream stays usable.
    """
    call = "begin of a capture"
    stream.check_open()
    if into is not None:
        _check_target(into, call)
    _check_stream(stream, call)
    stream.check_not_captured(call)
    graph = Graph(stream.context) if into is None else into
    try:
        graph.recording.block = block
        graph.recording.begin(stream, mode)
    except BaseException:
        graph.recording.leave()
        graph.state = GraphState.NEW
        if into is None:
            graph.close(force=True)
        raise
    stream.lost_capture = ""
    return graph


def end(stream: Stream) -> Graph:
    """End the capture that began in a stream and return its graph, ready to execute.

    Raises:
        CaptureError 107029: the stream is not captured.
        CaptureError 107036: the capture began in another stream; it goes on.
        CaptureError 107038: it was begun by another thread, not in relaxed mode. This and what follows ends it.
        CaptureError 507903, 107033, 107025: see `Graph.finish`.
    """
    stream.check_open()
    _check_stream(stream, "end of a capture")
    branch = branch_of(stream)
    if branch is None:
        earlier = f"; the last one has ended with an error: {stream.lost_capture}" if stream.lost_capture else ""
        raise errors.fault(
            "RT_ERROR_STREAM_NOT_CAPTURED", f"stream {stream.stream_id} is not being captured{earlier}", ee="EE1018",
            params=("end of a capture", "the stream is not being captured"), hint="begin a capture first",
        )
    graph = branch.graph
    assert isinstance(graph, Graph)
    recording = graph.recording
    if branch is not recording.origin:
        assert recording.origin is not None
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_UNMATCHED", f"end of a capture in stream {stream.stream_id}, which is captured "
            f"into {branch.told()}", hint="end it in the stream where it began",
        )
    if recording.mode is not CaptureMode.RELAXED and recording.begun_by != threading.get_ident():
        reason = f"thread {threading.get_ident()} tried to end the capture of {recording.told()}"
        graph.abandon(reason)
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_WRONG_THREAD", f"{reason}; it is given up",
            hint="end it in the thread that begins it, or begin it with CaptureMode.RELAXED",
        )
    graph.finish()
    return graph


def status(stream: Stream) -> tuple[CaptureStatus, Graph | None]:
    """Return how the capture of a stream stands, and its graph while there is one."""
    branch = None if in_dry_run(stream) else branch_of(stream)
    if branch is None:
        return CaptureStatus.NONE, None
    assert isinstance(branch.graph, Graph)
    return branch.graph.status, branch.graph


def exchange_mode(context: Context, mode: CaptureMode) -> CaptureMode:
    """Set how far captures of others hinder the calling thread; returns what it was."""
    context.check_open()
    current = context.device.runtime.current
    before: CaptureMode = current.capture_mode
    current.capture_mode = mode
    return before


def _check_target(graph: Graph, call: str) -> None:
    graph.check_open()
    if graph.parent is None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {graph!r} is no branch of a conditional node", ee="EE1017",
            params=(call, "model", "it is no branch of a conditional node"),
            hint="pass a graph that a conditional node gave, or begin without one",
        )
    if graph.state is not GraphState.NEW:
        raise errors.fault(
            "RT_ERROR_MODEL_CAPTURED", f"{call}: {graph!r} has been captured into already",
            hint="each branch is captured once",
        )


def _check_stream(stream: Stream, call: str) -> None:
    chip = stream.device.chip
    if not chip.has("MODEL_ACL_GRAPH"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {chip.soc} cannot capture streams",
            hint="build a model by hand: bind streams that keep their tasks" if chip.traits.runs_models
            else "launch kernel by kernel; `launch_many` and batches send many at once",
        )
    if stream.flags & StreamFlag.PERSISTENT and not chip.traits.captures_persistent:
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} keeps its tasks for a model", ee="EE1011",
            params=(call, stream.stream_id, "stream", "it was made with PERSISTENT"), hint="use an ordinary stream",
        )
    if stream.bound is not None:
        raise errors.fault(
            "RT_ERROR_STREAM_MODEL", f"{call}: stream {stream.stream_id} is bound to a model", ee="EE1017",
            params=(call, "stream", "it is bound to a model"), hint="use an ordinary stream",
        )
    if stream.is_default:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the default stream cannot be captured", ee="EE1017",
            params=(call, "stream", "it is the default stream"), hint="use a stream from create_stream()",
        )
    if stream.flags & (StreamFlag.HOST_ONLY | StreamFlag.DEVICE_USE_ONLY):
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} is not fed by the host", ee="EE1011",
            params=(call, stream.stream_id, "stream", "it is not fed by the host"), hint="use an ordinary stream",
        )
