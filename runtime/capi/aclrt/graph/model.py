"""Models and graphs by name: building, executing, ending (core_spec 14.10, 14.13, 17)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

from runtime import errors
from runtime.capi.aclrt.checks import null, null_rt
from runtime.capi.aclrt.entry import Out, entry, handle_of, need, own_stream_of
from runtime.capi.aclrt.kinds import I32, U32, Address, Callback, Handle, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph import Model

_HEAD, _ACTIVATED = 0, 0x7FFFFFFF
"""Flags of a bound stream: it starts with the model, or is activated by a task."""


def model_of(acl: Acl, call: str, model: int) -> Model:
    """Return the model of a handle, which must belong to the thread's context; another one's is 107004 (EE1010)."""
    found: Model = handle_of(acl, model, Model)
    if found.context is not acl.runtime.current_context():
        raise errors.fault(
            "RT_ERROR_MODEL_CONTEXT", f"{call}: {found!r} belongs to another context than the thread's", ee="EE1010",
            params=(call, "model", "it belongs to another context"), hint="make the model's context current first",
        )
    return found


# -- building ----------------------------------------------------------------------------------------------------------


@entry(null("modelRI"), waits_for_snapshot=True)
def aclmdlRIBuildBegin(acl: Acl, modelRI: Out[Handle], flag: U32) -> None:
    """Make a model; flag must be 0."""
    _create(acl, "aclmdlRIBuildBegin", modelRI, flag)


@entry(null_rt("mdl"), waits_for_snapshot=True)
def rtModelCreate(acl: Acl, mdl: Out[Handle], flag: U32) -> None:
    """Make a model; the runtime layer's form."""
    _create(acl, "rtModelCreate", mdl, flag)


def _create(acl: Acl, call: str, out: Out[int], flag: int) -> None:
    out.value = None
    if flag:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; it must be 0", ee="EE1003",
            params=(call, flag, "flag", 0), hint="pass 0",
        )
    out.value = Model(acl.runtime.current_context()).handle


@entry(null("modelRI"))
def aclmdlRIBindStream(acl: Acl, modelRI: Handle, stream: Handle, flag: U32) -> None:
    """Let a model keep a stream's tasks; flag 0 starts the stream with the model, 0x7fffffff leaves that to a task."""
    _bind(acl, "aclmdlRIBindStream", modelRI, stream, flag, StreamFlag.PERSISTENT)


@entry(null_rt("mdl"))
def rtModelBindStream(acl: Acl, mdl: Handle, stm: Handle, flag: U32) -> None:
    """Let a model keep a stream's tasks; the runtime layer's form."""
    _bind(acl, "rtModelBindStream", mdl, stm, flag)


def _bind(
    acl: Acl, call: str, model: int, stream: int, flag: int,
    kept: StreamFlag = StreamFlag.PERSISTENT | StreamFlag.CPU_SCHEDULE,
) -> None:
    """Bind a stream that has one of the flags `kept`."""
    found = model_of(acl, call, model)
    if flag not in (None, _HEAD, _ACTIVATED):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag:#x}", ee="EE1003",
            params=(call, flag, "flag", f"{_HEAD} or {_ACTIVATED}"), hint="0 starts the stream with the model",
        )
    if not stream:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the default stream cannot be bound", ee="EE1011",
            params=(call, "NULL", "stream", "it is the default stream"), hint="pass a stream made with PERSISTENT",
        )
    bound = own_stream_of(acl, call, stream)
    if not found.captured and not bound.flags & kept:
        raise Model.not_kept(bound)
    found.bind(bound, head=flag != _ACTIVATED)


@entry(null("modelRI", "stream"))
def aclmdlRIUnbindStream(acl: Acl, modelRI: Handle, stream: Handle) -> None:
    """Take a stream out of a model."""
    model_of(acl, "aclmdlRIUnbindStream", modelRI).unbind(own_stream_of(acl, "aclmdlRIUnbindStream", stream))


@entry(null_rt("mdl", "stm"))
def rtModelUnbindStream(acl: Acl, mdl: Handle, stm: Handle) -> None:
    """Take a stream out of a model; the runtime layer's form."""
    model_of(acl, "rtModelUnbindStream", mdl).unbind(own_stream_of(acl, "rtModelUnbindStream", stm))


@entry(null("modelRI"))
def aclmdlRIEndTask(acl: Acl, modelRI: Handle, stream: Handle) -> None:
    """Put the end of a model at a stream's place; a second end changes nothing."""
    model_of(acl, "aclmdlRIEndTask", modelRI).end(own_stream_of(acl, "aclmdlRIEndTask", stream))


@entry(null_rt("mdl"))
def rtEndGraph(acl: Acl, mdl: Handle, stm: Handle) -> None:
    """Put the end of a model at a stream's place; the runtime layer's form."""
    model_of(acl, "rtEndGraph", mdl).end(own_stream_of(acl, "rtEndGraph", stm))


@entry(null("modelRI"))
def aclmdlRIBuildEnd(acl: Acl, modelRI: Handle, reserve: Address) -> None:
    """Declare a model complete; reserve must be NULL."""
    call = "aclmdlRIBuildEnd"
    if reserve:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: reserve must be NULL", ee="EH0012", params=(call, "reserve"),
            hint="pass NULL",
        )
    model_of(acl, call, modelRI).load()


@entry(null_rt("mdl"))
def rtModelLoadComplete(acl: Acl, mdl: Handle) -> None:
    """Declare a model complete; the runtime layer's form."""
    model_of(acl, "rtModelLoadComplete", mdl).load()


# -- execution ---------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclmdlRIExecuteAsync(acl: Acl, modelRI: Handle, stream: Handle) -> None:
    """Queue an execution in a stream, NULL for the default one."""
    if not modelRI and stream and (lost := own_stream_of(acl, "aclmdlRIExecuteAsync", stream).lost_capture):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclmdlRIExecuteAsync: modelRI is NULL; the last capture of the stream has "
            f"failed: {lost}", ee="EH0008", params=("aclmdlRIExecuteAsync", "modelRI"),
            hint="look at the code that aclmdlRICaptureEnd returns",
        )
    need("aclmdlRIExecuteAsync", modelRI=modelRI)
    handle_of(acl, modelRI, Model)
    target = own_stream_of(acl, "aclmdlRIExecuteAsync", stream)
    found = model_of(acl, "aclmdlRIExecuteAsync", modelRI)
    if found.scheduled:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"aclmdlRIExecuteAsync: {found!r} is scheduled by the AICPU",
            hint="aclmdlRIExecute, or rtModelExecute, which queues it in a stream",
        )
    found.execute(target)


@entry(null_rt("mdl"), waits_for_snapshot=True)
def rtModelExecute(acl: Acl, mdl: Handle, stm: Handle, flag: U32) -> None:
    """Queue an execution in a stream; the runtime layer's form."""
    model_of(acl, "rtModelExecute", mdl).execute(own_stream_of(acl, "rtModelExecute", stm))


@entry(null("modelRI"), waits_for_snapshot=True)
def aclmdlRIExecute(acl: Acl, modelRI: Handle, timeout: I32) -> None:
    """Execute a model made by hand and wait so many milliseconds, -1 for ever; a captured graph is refused."""
    call = "aclmdlRIExecute"
    wait_ms = timeout
    if wait_ms < -1 or wait_ms == 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: timeout is {wait_ms}", ee="EE1003",
            params=(call, wait_ms, "timeout", "-1 or (0, 2147483647]"), hint="-1 waits for ever",
        )
    found: Model = handle_of(acl, modelRI, Model)
    if not found.captured:
        found = model_of(acl, call, modelRI)
    found.execute_now(wait_ms)


@entry(null_rt("modelRI"))
def aclmdlRIAbort(acl: Acl, modelRI: Handle) -> None:
    """Stop an execution of a model made by hand."""
    model_of(acl, "aclmdlRIAbort", modelRI).abort()


# -- end, name ---------------------------------------------------------------------------------------------------------


@entry(null("modelRI"))
def aclmdlRIDestroy(acl: Acl, modelRI: Handle) -> None:
    """End a model or graph once its executions are over."""
    model_of(acl, "aclmdlRIDestroy", modelRI).close()


@entry(null_rt("mdl"))
def rtModelDestroy(acl: Acl, mdl: Handle) -> None:
    """End a model; the runtime layer's form."""
    model_of(acl, "rtModelDestroy", mdl).close()


@entry(null_rt("modelRI", "func"))
def aclmdlRIDestroyRegisterCallback(acl: Acl, modelRI: Handle, func: Callback, userData: Address) -> None:
    """Let a function be called when a model ends; the same one only once."""
    call = "aclmdlRIDestroyRegisterCallback"
    watchers: dict[object, Callable[[], object]] = handle_of(acl, modelRI, Model).watchers
    if func in watchers:
        raise _watcher(call, "it is registered already")
    watchers[func] = partial(func, userData)


@entry(null_rt("modelRI", "func"))
def aclmdlRIDestroyUnregisterCallback(acl: Acl, modelRI: Handle, func: Callback) -> None:
    """Take a function back."""
    call = "aclmdlRIDestroyUnregisterCallback"
    if handle_of(acl, modelRI, Model).watchers.pop(func, None) is None:
        raise _watcher(call, "it is not registered")


def _watcher(call: str, reason: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: func: {reason}", ee="EE1017", params=(call, "func", reason),
        hint="register a function once per model",
    )


@entry(null("name", "modelRI"))
def aclmdlRISetName(acl: Acl, modelRI: Handle, name: Text) -> None:
    """Name a model."""
    handle_of(acl, modelRI, Model).name = name


@entry(null("modelRI", "name"))
def aclmdlRIGetName(acl: Acl, modelRI: Handle, maxLen: U32, name: Address) -> None:
    """Write a model's name with its ending zero to an address; it must fit into maxLen bytes."""
    call = "aclmdlRIGetName"
    if not maxLen:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: maxLen is 0", ee="EE1003",
            params=(call, 0, "maxLen", "[1, 4294967295]"), hint="pass the size of the buffer",
        )
    image = str(handle_of(acl, modelRI, Model).name).encode() + b"\0"
    if len(image) > maxLen:
        raise errors.fault(
            "ACL_ERROR_RT_INTERNAL_ERROR", f"{call}: the name takes {len(image)} bytes, maxLen is {maxLen}",
            hint="pass a larger buffer",
        )
    ctypes.memmove(name, image, len(image))


@entry(null("modelRI", "modelRIId"))
def aclmdlRIGetId(acl: Acl, modelRI: Handle, modelRIId: Out[U32]) -> None:
    """Give the driver's number of a model."""
    modelRIId.value = handle_of(acl, modelRI, Model).model_id
