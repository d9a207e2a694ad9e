"""Callbacks and host functions by name (core_spec 18.1 to 18.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from runtime import errors
from runtime.capi.aclrt.entry import entry, need_rt, stream_of
from runtime.capi.aclrt.state import Acl

_NO_BLOCK, _BLOCK = 0, 1
"""aclrtCallbackBlockType."""


@entry
def aclrtSubscribeReport(acl: Acl, threadId: int | None, stream: int | None) -> None:
    """Let a thread (pthread_self) take the callbacks of a stream."""
    acl.runtime.callbacks.subscribe(threadId or 0, stream_of(acl, stream))


@entry
def aclrtUnSubscribeReport(acl: Acl, threadId: int | None, stream: int | None) -> None:
    """End a subscription."""
    acl.runtime.callbacks.unsubscribe(threadId or 0, stream_of(acl, stream))


@entry
def aclrtLaunchCallback(
    acl: Acl, fn: Callable[..., Any] | int | None, userData: int | None, blockType: int | None, stream: int | None
) -> None:
    """Queue a call for the thread that has subscribed to the stream."""
    call = "aclrtLaunchCallback"
    kind = blockType or 0
    if kind not in (_NO_BLOCK, _BLOCK):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: blockType is {kind}", ee="EH0007",
            params=(call, kind, "blockType", "0 or 1"), hint="0 lets the stream go on, 1 makes it wait",
        )
    need_rt(call, fn=fn)
    assert fn is not None
    acl.runtime.callbacks.launch(stream_of(acl, stream), fn, userData or 0, block=kind == _BLOCK)


@entry
def aclrtProcessReport(acl: Acl, timeout: int | None) -> None:
    """Make one call on this thread; needs no context. The time-out is in milliseconds, -1 for ever."""
    limit = timeout or 0
    if limit == 0 or limit < -1:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclrtProcessReport: timeout is {limit}", ee="EH0009",
            params=("aclrtProcessReport", limit, "timeout", "-1 or greater than 0"),
            hint="pass a positive number of milliseconds, or -1 to wait for ever",
        )
    acl.runtime.callbacks.process(threading.get_ident(), limit)


@entry
def aclrtLaunchHostFunc(
    acl: Acl, stream: int | None, fn: Callable[..., Any] | int | None, args: int | None
) -> None:
    """Queue a call that a thread of the runtime makes; the stream waits for it."""
    need_rt("aclrtLaunchHostFunc", fn=fn)
    assert fn is not None
    acl.runtime.callbacks.host_function(stream_of(acl, stream), fn, args or 0)
