"""Capture of streams into graphs, by name (core_spec 14)."""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, handle_of, own_stream_of
from runtime.capi.aclrt.kinds import Address, Enum, Handle
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.feature import graph
from runtime.feature.graph import CaptureMode, Graph, Model


@entry(null("stream"), waits_for_snapshot=True)
def aclmdlRICaptureBegin(acl: Acl, stream: Handle, mode: Enum) -> None:
    """Capture what is submitted to a stream from now on; mode 0 global, 1 thread-local, 2 relaxed."""
    call = "aclmdlRICaptureBegin"
    wanted = _mode(call, mode)
    graph.begin(own_stream_of(acl, call, stream), wanted)


@entry(null("stream", "modelRI"), waits_for_snapshot=True)
def aclmdlRICaptureToModelRIBegin(acl: Acl, stream: Handle, modelRI: Handle, mode: Enum) -> None:
    """Capture into a branch of a conditional node."""
    call = "aclmdlRICaptureToModelRIBegin"
    wanted, target = _mode(call, mode), handle_of(acl, modelRI, Model)
    if not isinstance(target, Graph):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {target!r} was not made for a capture", ee="EE1017",
            params=(call, "modelRI", "it is no branch of a conditional node"), hint="pass what a conditional node gave",
        )
    graph.begin(own_stream_of(acl, call, stream), wanted, into=target)


@entry(null("stream"))
def aclmdlRICaptureEnd(acl: Acl, stream: Handle, modelRI: Out[Handle] | None) -> None:
    """End a capture and give its graph."""
    found = own_stream_of(acl, "aclmdlRICaptureEnd", stream)
    if modelRI is None and found.branch is not None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "aclmdlRICaptureEnd: modelRI is NULL", ee="EE1004",
            params=("aclmdlRICaptureEnd", "modelRI"), hint="pass where the handle of the graph goes",
        )
    if modelRI is not None:
        modelRI.value = None  # what a capture that fails here gives
    made = graph.end(found)
    if modelRI is not None:
        modelRI.value = made.handle


@entry(null("stream"))
def aclmdlRICaptureGetInfo(acl: Acl, stream: Handle, status: Out[Enum] | None, modelRI: Out[Handle] | None) -> None:
    """Tell whether a stream is captured (0 no, 1 active, 2 invalidated) and into which graph; needs no context."""
    state, found = graph.status(handle_of(acl, stream, Stream))
    if status is not None:
        status.value = int(state)
    if modelRI is not None and found is not None:
        modelRI.value = found.handle


@entry(null("mode"))
def aclmdlRICaptureThreadExchangeMode(acl: Acl, mode: Address) -> None:
    """Swap how far captures of others hinder the thread with the value at an address."""
    call = "aclmdlRICaptureThreadExchangeMode"
    word = ctypes.c_int32.from_address(mode)
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
