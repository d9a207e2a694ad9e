"""Models and graphs by name: building, executing, ending (core_spec 14.10, 14.13, 17)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need, need_rt, stream_of
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph import Model

_HEAD, _ACTIVATED = 0, 0x7FFFFFFF
"""Flags of a bound stream: it starts with the model, or is activated by a task."""


def model_of(acl: Acl, call: str, model: int | None) -> Model:
    """Return the model of a handle, which must belong to the thread's context; another one's is 107004 (EE1010)."""
    found: Model = handle_of(acl, model, Model)
    if found.context is not acl.runtime.current_context():
        raise errors.fault(
            "RT_ERROR_MODEL_CONTEXT", f"{call}: {found!r} belongs to another context than the thread's", ee="EE1010",
            params=(call, "model", "it belongs to another context"), hint="make the model's context current first",
        )
    return found


# -- building ----------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclmdlRIBuildBegin(acl: Acl, modelRI: Out | None, flag: int | None) -> None:
    """Make a model; flag must be 0."""
    need("aclmdlRIBuildBegin", modelRI=modelRI)
    assert modelRI is not None
    _create(acl, "aclmdlRIBuildBegin", modelRI, flag or 0)


@entry(waits_for_snapshot=True)
def rtModelCreate(acl: Acl, mdl: Out | None, flag: int | None) -> None:
    """Make a model; the runtime layer's form."""
    need_rt("rtModelCreate", mdl=mdl)
    assert mdl is not None
    _create(acl, "rtModelCreate", mdl, flag or 0)


def _create(acl: Acl, call: str, out: Out, flag: int) -> None:
    out.value = None
    if flag:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; it must be 0", ee="EE1003",
            params=(call, flag, "flag", 0), hint="pass 0",
        )
    out.value = Model(acl.runtime.current_context()).handle


@entry
def aclmdlRIBindStream(acl: Acl, modelRI: int | None, stream: int | None, flag: int | None) -> None:
    """Let a model keep a stream's tasks; flag 0 starts the stream with the model, 0x7fffffff leaves that to a task."""
    need("aclmdlRIBindStream", modelRI=modelRI)
    _bind(acl, "aclmdlRIBindStream", modelRI, stream, flag, StreamFlag.PERSISTENT)


@entry
def rtModelBindStream(acl: Acl, mdl: int | None, stm: int | None, flag: int | None) -> None:
    """Let a model keep a stream's tasks; the runtime layer's form."""
    need_rt("rtModelBindStream", mdl=mdl)
    _bind(acl, "rtModelBindStream", mdl, stm, flag)


def _bind(
    acl: Acl, call: str, model: int | None, stream: int | None, flag: int | None,
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
    bound = stream_of(acl, stream)
    if not found.captured and not bound.flags & kept:
        raise Model.not_kept(bound)
    found.bind(bound, head=flag != _ACTIVATED)


@entry
def aclmdlRIUnbindStream(acl: Acl, modelRI: int | None, stream: int | None) -> None:
    """Take a stream out of a model."""
    need("aclmdlRIUnbindStream", modelRI=modelRI, stream=stream)
    model_of(acl, "aclmdlRIUnbindStream", modelRI).unbind(stream_of(acl, stream))


@entry
def rtModelUnbindStream(acl: Acl, mdl: int | None, stm: int | None) -> None:
    """Take a stream out of a model; the runtime layer's form."""
    need_rt("rtModelUnbindStream", mdl=mdl, stm=stm)
    model_of(acl, "rtModelUnbindStream", mdl).unbind(stream_of(acl, stm))


@entry
def aclmdlRIEndTask(acl: Acl, modelRI: int | None, stream: int | None) -> None:
    """Put the end of a model at a stream's place; a second end changes nothing."""
    need("aclmdlRIEndTask", modelRI=modelRI)
    model_of(acl, "aclmdlRIEndTask", modelRI).end(stream_of(acl, stream))


@entry
def rtEndGraph(acl: Acl, mdl: int | None, stm: int | None) -> None:
    """Put the end of a model at a stream's place; the runtime layer's form."""
    need_rt("rtEndGraph", mdl=mdl)
    model_of(acl, "rtEndGraph", mdl).end(stream_of(acl, stm))


@entry
def aclmdlRIBuildEnd(acl: Acl, modelRI: int | None, reserve: int | None) -> None:
    """Declare a model complete; reserve must be NULL."""
    call = "aclmdlRIBuildEnd"
    need(call, modelRI=modelRI)
    if reserve:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: reserve must be NULL", ee="EH0012", params=(call, "reserve"),
            hint="pass NULL",
        )
    model_of(acl, call, modelRI).load()


@entry
def rtModelLoadComplete(acl: Acl, mdl: int | None) -> None:
    """Declare a model complete; the runtime layer's form."""
    need_rt("rtModelLoadComplete", mdl=mdl)
    model_of(acl, "rtModelLoadComplete", mdl).load()


# -- execution ---------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclmdlRIExecuteAsync(acl: Acl, modelRI: int | None, stream: int | None) -> None:
    """Queue an execution in a stream, NULL for the default one."""
    if not modelRI and stream and (lost := stream_of(acl, stream).lost_capture):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclmdlRIExecuteAsync: modelRI is NULL; the last capture of the stream has "
            f"failed: {lost}", ee="EH0008", params=("aclmdlRIExecuteAsync", "modelRI"),
            hint="look at the code that aclmdlRICaptureEnd returns",
        )
    need("aclmdlRIExecuteAsync", modelRI=modelRI)
    handle_of(acl, modelRI, Model)
    target = stream_of(acl, stream)
    found = model_of(acl, "aclmdlRIExecuteAsync", modelRI)
    if found.scheduled:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"aclmdlRIExecuteAsync: {found!r} is scheduled by the AICPU",
            hint="aclmdlRIExecute, or rtModelExecute, which queues it in a stream",
        )
    found.execute(target)


@entry(waits_for_snapshot=True)
def rtModelExecute(acl: Acl, mdl: int | None, stm: int | None, flag: int | None) -> None:
    """Queue an execution in a stream; the runtime layer's form."""
    need_rt("rtModelExecute", mdl=mdl)
    model_of(acl, "rtModelExecute", mdl).execute(stream_of(acl, stm))


@entry(waits_for_snapshot=True)
def aclmdlRIExecute(acl: Acl, modelRI: int | None, timeout: int | None) -> None:
    """Execute a model made by hand and wait so many milliseconds, -1 for ever; a captured graph is refused."""
    call = "aclmdlRIExecute"
    need(call, modelRI=modelRI)
    wait_ms = timeout or 0
    if wait_ms < -1 or wait_ms == 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: timeout is {wait_ms}", ee="EE1003",
            params=(call, wait_ms, "timeout", "-1 or (0, 2147483647]"), hint="-1 waits for ever",
        )
    found: Model = handle_of(acl, modelRI, Model)
    if not found.captured:
        found = model_of(acl, call, modelRI)
    found.execute_now(wait_ms)


@entry
def aclmdlRIAbort(acl: Acl, modelRI: int | None) -> None:
    """Stop an execution of a model made by hand."""
    need_rt("aclmdlRIAbort", modelRI=modelRI)
    model_of(acl, "aclmdlRIAbort", modelRI).abort()


# -- end, name ---------------------------------------------------------------------------------------------------------


@entry
def aclmdlRIDestroy(acl: Acl, modelRI: int | None) -> None:
    """End a model or graph once its executions are over."""
    need("aclmdlRIDestroy", modelRI=modelRI)
    model_of(acl, "aclmdlRIDestroy", modelRI).close()


@entry
def rtModelDestroy(acl: Acl, mdl: int | None) -> None:
    """End a model; the runtime layer's form."""
    need_rt("rtModelDestroy", mdl=mdl)
    model_of(acl, "rtModelDestroy", mdl).close()


@entry
def aclmdlRIDestroyRegisterCallback(
    acl: Acl, modelRI: int | None, func: Callable[..., object] | None, userData: int | None
) -> None:
    """Let a function be called when a model ends; the same one only once."""
    call = "aclmdlRIDestroyRegisterCallback"
    need_rt(call, modelRI=modelRI, func=func)
    assert func is not None
    watchers: dict[object, Callable[[], object]] = handle_of(acl, modelRI, Model).watchers
    if func in watchers:
        raise _watcher(call, "it is registered already")
    watchers[func] = partial(func, userData)


@entry
def aclmdlRIDestroyUnregisterCallback(acl: Acl, modelRI: int | None, func: Callable[..., object] | None) -> None:
    """Take a function back."""
    call = "aclmdlRIDestroyUnregisterCallback"
    need_rt(call, modelRI=modelRI, func=func)
    if handle_of(acl, modelRI, Model).watchers.pop(func, None) is None:
        raise _watcher(call, "it is not registered")


def _watcher(call: str, reason: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: func: {reason}", ee="EE1017", params=(call, "func", reason),
        hint="register a function once per model",
    )


@entry
def aclmdlRISetName(acl: Acl, modelRI: int | None, name: str | None) -> None:
    """Name a model."""
    if name is None:
        need("aclmdlRISetName", name=name)
    need("aclmdlRISetName", modelRI=modelRI)
    assert name is not None
    handle_of(acl, modelRI, Model).name = name


@entry
def aclmdlRIGetName(acl: Acl, modelRI: int | None, maxLen: int | None, name: int | None) -> None:
    """Write a model's name with its ending zero to an address; it must fit into maxLen bytes."""
    call = "aclmdlRIGetName"
    need(call, modelRI=modelRI, name=name)
    assert name is not None
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


@entry
def aclmdlRIGetId(acl: Acl, modelRI: int | None, modelRIId: Out | None) -> None:
    """Give the driver's number of a model."""
    need("aclmdlRIGetId", modelRI=modelRI, modelRIId=modelRIId)
    assert modelRIId is not None
    modelRIId.value = handle_of(acl, modelRI, Model).model_id
