"""What a capture forbids: calls that wait for the device, on the threads that its mode reaches (core_spec 14.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import errors

if TYPE_CHECKING:
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream


_PINNED = "use pinned memory (alloc_host)"
_OUTSIDE = "make the call before or after the capture, or as work of a captured stream"


def check_blocking(context: Context, call: str, *, asynchronous: bool = False) -> None:
    """Refuse a call that waits while a capture forbids it; the capture goes on.

    Args:
        asynchronous: the caller did not ask to wait, plain host memory makes the call do so.

    Raises:
        CaptureError 107030, or 107041 for an asynchronous call.
    """
    if not context.open_captures.forbid_waiting():
        return
    code = "STREAM_CAPTURE_MODE_BLOCK_ASYNC" if asynchronous else "STREAM_CAPTURE_MODE_NOT_SUPPORT"
    why = "plain host memory makes it wait for the stream" if asynchronous else "it waits for the device"
    raise errors.fault(
        f"RT_ERROR_{code}", f"{call} is not allowed during a capture: {why}, and a stream is being captured by "
        f"{context.open_captures.describe()}; the capture goes on", ee="EE1016",
        params=(call, f"a stream is being captured, and {why}"),
        hint=f"{_PINNED if asynchronous else _OUTSIDE}; or {context.open_captures.cure()}",
    )


def check_unbound(stream: Stream, call: str) -> None:
    """Refuse a copy through a buffer in a stream of a model: 107000 with EE1016."""
    if stream.bound is not None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: stream {stream.stream_id} is bound to a model, whose tasks run "
            "again and again; HOST_TO_BUF_TO_DEVICE copies the source only once", ee="EE1016",
            params=(call, "the stream is bound to a model"), hint="use pinned memory and HOST_TO_DEVICE",
        )


def check_pageable(stream: Stream, call: str) -> None:
    """Refuse a copy of plain host memory in a stream that is being captured: 107000 with EE1016."""
    if stream.bound is not None or not stream.sinks.over:
        return
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: stream {stream.stream_id} is being captured, and an end of the copy is "
        "pageable (plain) host memory, which would have to be copied now", ee="EE1016",
        params=(call, "pageable host memory cannot be copied in a captured stream"),
        hint="use pinned memory: device.alloc_host(size), or aclrtMallocHost",
    )
