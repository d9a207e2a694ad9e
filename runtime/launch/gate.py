"""What a capture forbids: calls that wait for the device, on the threads that its mode reaches (core_spec 14.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import errors

if TYPE_CHECKING:
    from runtime.core.context import Context
    from runtime.core.stream import Stream


def check_blocking(context: Context, call: str, *, asynchronous: bool = False) -> None:
    """Refuse a call that waits while a capture forbids it; the capture goes on.

    Args:
        asynchronous: the caller did not ask to wait, plain host memory makes the call do so.

    Raises:
        CaptureError 107030, or 107041 for an asynchronous call.
    """
    if not context.capture_gate():
        return
    code = "STREAM_CAPTURE_MODE_BLOCK_ASYNC" if asynchronous else "STREAM_CAPTURE_MODE_NOT_SUPPORT"
    why = "plain host memory makes it wait for the stream" if asynchronous else "it waits for the device"
    raise errors.fault(
        f"RT_ERROR_{code}", f"{call} is not allowed during a capture: {why}", ee="EE1016",
        params=(call, f"a stream is being captured, and {why}"),
        hint="use pinned memory (alloc_host) and a stream's copy, or capture in relaxed mode",
    )


def check_pageable(stream: Stream, call: str) -> None:
    """Refuse a copy of plain host memory in a stream that is being captured: 107000 with EE1016."""
    if stream.route.immediate:
        return
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: stream {stream.stream_id} is being captured, and an end of the copy is "
        "pageable (plain) host memory, which would have to be copied now", ee="EE1016",
        params=(call, "pageable host memory cannot be copied in a captured stream"),
        hint="use pinned memory: device.alloc_host(size), or aclrtMallocHost",
    )
