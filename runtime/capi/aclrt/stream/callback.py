"""Callbacks and host functions by name (core_spec 18.1 to 18.3)."""

from __future__ import annotations

import threading

from runtime import errors
from runtime.capi.aclrt.checks import null_rt
from runtime.capi.aclrt.entry import entry, need_rt, own_stream_of
from runtime.capi.aclrt.kinds import I32, U64, Address, Callback, Enum, Handle
from runtime.capi.aclrt.state import Acl

_NO_BLOCK, _BLOCK = 0, 1
"""aclrtCallbackBlockType."""


@entry()
def aclrtSubscribeReport(acl: Acl, threadId: U64, stream: Handle) -> None:
    """Let a thread (pthread_self) take the callbacks of a stream."""
    acl.runtime.callbacks.subscribe(threadId, own_stream_of(acl, "aclrtSubscribeReport", stream))


@entry()
def aclrtUnSubscribeReport(acl: Acl, threadId: U64, stream: Handle) -> None:
    """End a subscription."""
    acl.runtime.callbacks.unsubscribe(threadId, own_stream_of(acl, "aclrtUnSubscribeReport", stream))


@entry()
def aclrtLaunchCallback(acl: Acl, fn: Callback, userData: Address, blockType: Enum, stream: Handle) -> None:
    """Queue a call for the thread that has subscribed to the stream."""
    call = "aclrtLaunchCallback"
    kind = blockType
    if kind not in (_NO_BLOCK, _BLOCK):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: blockType is {kind}", ee="EH0007",
            params=(call, kind, "blockType", "0 or 1"), hint="0 lets the stream go on, 1 makes it wait",
        )
    need_rt(call, fn=fn)
    acl.runtime.callbacks.launch(own_stream_of(acl, call, stream), fn, userData, block=kind == _BLOCK)


@entry()
def aclrtProcessReport(acl: Acl, timeout: I32) -> None:
    """Make one call on this thread; needs no context. The time-out is in milliseconds, -1 for ever."""
    limit = timeout
    if limit == 0 or limit < -1:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclrtProcessReport: timeout is {limit}", ee="EH0009",
            params=("aclrtProcessReport", limit, "timeout", "-1 or greater than 0"),
            hint="pass a positive number of milliseconds, or -1 to wait for ever",
        )
    acl.runtime.callbacks.process(threading.get_ident(), limit)


@entry(null_rt("fn"))
def aclrtLaunchHostFunc(acl: Acl, stream: Handle, fn: Callback, args: Address) -> None:
    """Queue a call that a thread of the runtime makes; the stream waits for it."""
    acl.runtime.callbacks.host_function(own_stream_of(acl, "aclrtLaunchHostFunc", stream), fn, args)
