"""Callbacks and host functions by name (core_spec 18.1 to 18.3)."""

from __future__ import annotations

import threading

from runtime import errors
from runtime.capi.aclrt.checks import context, live, null_rt, one_of, own, refuse
from runtime.capi.aclrt.entry import entry, stream_of
from runtime.capi.aclrt.kinds import I32, U64, Address, Callback, Enum, Handle
from runtime.capi.aclrt.predicates import runs_callbacks
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream

_BLOCK = 1
"""aclrtCallbackBlockType."""


@entry(
    live("stream", Stream),
    refuse("runs_host_functions(acl, stream_)", "stream", "a stream without host functions", "EE1016", code=107011),
    context(), waits_for_snapshot=True,
)  # fmt: skip
def aclrtSubscribeReport(acl: Acl, threadId: U64, stream: Handle) -> None:
    """Let a thread (pthread_self) take the callbacks of a stream."""
    acl.runtime.callbacks.subscribe(threadId, stream_of(acl, stream))


@entry(
    live("stream", Stream),
    refuse("runs_host_functions(acl, stream_)", "stream", "a stream without host functions", "EE1016", code=107011),
    context("not stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtUnSubscribeReport(acl: Acl, threadId: U64, stream: Handle) -> None:
    """End a subscription."""
    acl.runtime.callbacks.unsubscribe(threadId, stream_of(acl, stream))


@entry(
    one_of("blockType", 0, 1), live("stream", Stream), null_rt("fn"),
    refuse("runs_host_functions(acl, stream_)", "stream", "a stream without host functions", "EE1016", code=107011),
    own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchCallback(acl: Acl, fn: Callback, userData: Address, blockType: Enum, stream: Stream) -> None:
    """Queue a call for the thread that has subscribed to the stream."""
    acl.runtime.callbacks.launch(stream, fn, userData, block=blockType == _BLOCK)


@entry(refuse("timeout < -1 or timeout == 0", "timeout", "-1 or more than 0", "EH0009"), waits_for_snapshot=True)
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


@entry(
    live("stream", Stream), null_rt("fn"),
    refuse("runs_callbacks(acl, stream_)", "stream", "a stream without a subscription", "EE1016", code=107011),
    own("stream"),
    passes_snapshot=True,
)  # fmt: skip
def aclrtLaunchHostFunc(acl: Acl, stream: Stream, fn: Callback, args: Address) -> None:
    """Queue a call that a thread of the runtime makes; the stream waits for it.

    On NULL, the default stream, a thread of the user's that has subscribed to it makes the call.
    """
    if runs_callbacks(acl, stream):
        acl.runtime.callbacks.launch(stream, fn, args, block=True)
    else:
        acl.runtime.callbacks.host_function(stream, fn, args)


# -- names that the header declares for another chip ---------------------------------------------------------------


@entry(
    live("exeStream", Stream),
    refuse("runs_host_functions(acl, exeStream_)", "exeStream", "no host functions", "EE1016", code=107011),
    context(),
)  # fmt: skip
def aclrtSubscribeHostFunc(acl: Acl, hostFuncThreadId: U64, exeStream: Handle) -> None:
    """The same as aclrtSubscribeReport."""
    acl.runtime.callbacks.subscribe(hostFuncThreadId, stream_of(acl, exeStream))


@entry(
    live("exeStream", Stream),
    refuse("runs_host_functions(acl, exeStream_)", "exeStream", "no host functions", "EE1016", code=107011),
    context("not exeStream"),
)  # fmt: skip
def aclrtUnSubscribeHostFunc(acl: Acl, hostFuncThreadId: U64, exeStream: Handle) -> None:
    """The same as aclrtUnSubscribeReport."""
    acl.runtime.callbacks.unsubscribe(hostFuncThreadId, stream_of(acl, exeStream))


@entry(refuse("timeout < -1 or timeout == 0", "timeout", "-1 or more than 0", "EH0009"))
def aclrtProcessHostFunc(acl: Acl, timeout: I32) -> None:
    """The same as aclrtProcessReport."""
    acl.runtime.callbacks.process(threading.get_ident(), timeout)
