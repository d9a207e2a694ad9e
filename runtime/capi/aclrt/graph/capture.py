"""Capture of streams into graphs, by name (core_spec 14)."""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.capi.aclrt.checks import feature, live, null, one_of, own, refuse, unbound, uncaptured
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept
from runtime.capi.aclrt.kinds import Address, Enum, Handle
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.feature import graph
from runtime.feature.graph import CaptureMode, Graph, Model
from runtime.memory import caller


@entry(
    null("stream"), feature("MODEL_ACL_GRAPH"), live("stream", Stream), one_of("mode", 0, 1, 2, message="EE1003"),
    refuse("forbids_capture(stream_)", "stream", "a stream whose flags allow capture", "EE1011", code=507000),
    own("stream"), unbound("stream"),
    refuse("is_default(stream_)", "stream", "another stream than the default one", "EE1017", code=207000),
    uncaptured("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureBegin(acl: Acl, stream: Stream, mode: Enum) -> None:
    """Capture what is submitted to a stream from now on; mode 0 global, 1 thread-local, 2 relaxed."""
    graph.begin(stream, CaptureMode(mode))


@entry(
    null("stream", "modelRI"), feature("MODEL_ACL_GRAPH"), live("modelRI", Model), live("stream", Stream),
    one_of("mode", 0, 1, 2, message="EE1003"),
    refuse("forbids_capture(stream_)", "stream", "a stream whose flags allow capture", "EE1011", code=507000),
    refuse("not is_branch(modelRI_)", "modelRI", "a branch of a conditional node", "EE1017"), own("stream"),
    unbound("stream"),
    refuse("is_default(stream_)", "stream", "another stream than the default one", "EE1017", code=207000),
    uncaptured("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureToModelRIBegin(acl: Acl, stream: Stream, modelRI: Model, mode: Enum) -> None:
    """Capture into a branch of a conditional node."""
    assert isinstance(modelRI, Graph)  # branches are
    graph.begin(stream, CaptureMode(mode), into=modelRI)


@entry(
    null("stream"), feature("MODEL_ACL_GRAPH"), live("stream", Stream),
    refuse("forbids_capture(stream_)", "stream", "a stream whose flags allow capture", "EE1011", code=507000),
    refuse("modelRI is None and is_captured(stream_)", "modelRI", "not NULL", "EE1004"),
    own("stream"), unbound("stream"),
    refuse("is_default(stream_)", "stream", "another stream than the default one", "EE1017", code=207000),
    waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureEnd(acl: Acl, stream: Stream, modelRI: Out[Handle] | None) -> None:
    """End a capture and give its graph."""
    if modelRI is not None and stream.branch is not None:
        modelRI.value = None  # what a capture that fails here gives
    made = graph.end(stream)
    if modelRI is not None:
        modelRI.value = kept(acl, made)


@entry(
    null("stream"),
    refuse("status is None and modelRI is None", "status", "status or modelRI", "EH0009",
           rule="status and modelRI are both NULL"), feature("MODEL_ACL_GRAPH"),
)  # fmt: skip
def aclmdlRICaptureGetInfo(acl: Acl, stream: Handle, status: Out[Enum] | None, modelRI: Out[Handle] | None) -> None:
    """Tell whether a stream is captured (0 no, 1 active, 2 invalidated) and into which graph; needs no context."""
    state, found = graph.status(handle_of(acl, stream, Stream))
    if status is not None:
        status.value = int(state)
    if modelRI is not None:
        modelRI.value = None if found is None else kept(acl, found)


@entry(null("mode"), feature("MODEL_ACL_GRAPH"))
def aclmdlRICaptureThreadExchangeMode(acl: Acl, mode: Address) -> None:
    """Swap how far captures of others hinder the thread with the value at an address."""
    call = "aclmdlRICaptureThreadExchangeMode"
    word = caller.at(ctypes.c_int32, mode)
    context = acl.runtime.current_context()
    word.value = int(graph.exchange_mode(context, _mode(call, word.value)))


def _mode(call: str, mode: int) -> CaptureMode:
    try:
        return CaptureMode(mode)
    except ValueError:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: mode is {mode}; known are 0 global, 1 thread-local, 2 relaxed",
            ee="EE1003", params=(call, mode, "mode", "[0, 2]"), hint="pass an aclmdlRICaptureMode value",
        ) from None
