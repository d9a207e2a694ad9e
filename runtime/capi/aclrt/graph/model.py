"""Models and graphs by name: building, executing, ending (core_spec 14.10, 14.13, 17)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from runtime import errors
from runtime.capi.aclrt.checks import (
    anywhere,
    context,
    live,
    null,
    null_rt,
    one_of,
    own,
    own_model,
    refuse,
    reserved,
    unbound,
    uncaptured,
    zero,
)
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, own_stream_of
from runtime.capi.aclrt.kinds import I32, U32, Address, Callback, Handle, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.feature.graph import Model
from runtime.memory import caller

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


@entry(null("modelRI"), refuse("flag", "flag", "0", "EE1003"), context(), waits_for_snapshot=True)
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
    out.value = kept(acl, Model(acl.runtime.current_context()))


_SOME_STREAM = context("not stream", code="ACL_ERROR_RT_PARAM_INVALID")
"""NULL is the default stream of the thread's context: without one there is no stream."""


@entry(
    null("modelRI"), one_of("flag", 0, 0x7FFFFFFF, message="EE1003"), live("modelRI", Model), live("stream", Stream),
    _SOME_STREAM,
    refuse("stream and not has_flag(stream_, PERSISTENT)", "stream", "a stream made with PERSISTENT", "EE1017"),
    unbound("stream", "EE1007"), refuse("is_graph(modelRI_)", "modelRI", "a model built by hand", "EE1016"),
    uncaptured("stream"),
    refuse("has_flag(stream_, DEVICE_USE_ONLY)", "stream", "a stream that the host feeds", "EE1011", code=507000),
    refuse("stops_at_failures(stream_)", "stream", "a stream of failure mode 0", "EE1016", code=207000),
    refuse("not stream or has_flag(stream_, FAST_LAUNCH)", "stream", "none of fast launch", "EE1011", code=207000),
    own_model("modelRI"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIBindStream(acl: Acl, modelRI: Model, stream: Stream, flag: U32) -> None:
    """Let a model keep a stream's tasks; flag 0 starts the stream with the model, 0x7fffffff leaves that to a task."""
    modelRI.bind(stream, head=flag != _ACTIVATED)


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


@entry(
    null("modelRI"), live("modelRI", Model), live("stream", Stream), _SOME_STREAM,
    refuse("is_graph(modelRI_)", "modelRI", "a model built by hand", "EE1016"), uncaptured("stream"),
    anywhere("stream"), own_model("modelRI"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIUnbindStream(acl: Acl, modelRI: Model, stream: Stream) -> None:
    """Take a stream out of a model."""
    modelRI.unbind(stream)


@entry(null_rt("mdl", "stm"))
def rtModelUnbindStream(acl: Acl, mdl: Handle, stm: Handle) -> None:
    """Take a stream out of a model; the runtime layer's form."""
    model_of(acl, "rtModelUnbindStream", mdl).unbind(own_stream_of(acl, "rtModelUnbindStream", stm))


@entry(
    null("modelRI"), live("modelRI", Model), live("stream", Stream), _SOME_STREAM,
    refuse("is_graph(modelRI_)", "modelRI", "a model built by hand", "EE1016"), uncaptured("stream"), own("stream"),
    own_model("modelRI"),
    refuse("not ends_model(modelRI_, stream_)", "stream", "a stream of this model", "EE1017", code=507000),
    waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIEndTask(acl: Acl, modelRI: Model, stream: Stream) -> None:
    """Put the end of a model behind the tasks of a stream; a second end changes nothing."""
    modelRI.end(stream)


@entry(null_rt("mdl"))
def rtEndGraph(acl: Acl, mdl: Handle, stm: Handle) -> None:
    """Put the end of a model behind the tasks of a stream; the runtime layer's form."""
    model_of(acl, "rtEndGraph", mdl).end(own_stream_of(acl, "rtEndGraph", stm))


@entry(
    null("modelRI"), reserved("reserve"), live("modelRI", Model),
    refuse("is_graph(modelRI_)", "modelRI", "a model built by hand", "EE1016"), own_model("modelRI"),
    refuse("not modelRI_.streams", "modelRI", "a model with a stream", "EE1018", code=107005),
    waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIBuildEnd(acl: Acl, modelRI: Model, reserve: Address) -> None:
    """Declare a model complete; reserve must be NULL."""
    modelRI.load()


@entry(
    live("mdl", Model), refuse("is_graph(mdl_)", "mdl", "a model built by hand", "EE1016"),
    null_rt("mdl", code=507000), own_model("mdl"),
)  # fmt: skip
def rtModelLoadComplete(acl: Acl, mdl: Model) -> None:
    """Declare a model complete; the runtime layer's form."""
    mdl.load()


# -- execution ---------------------------------------------------------------------------------------------------------


@entry(

    refuse("not modelRI and lost_capture(acl, stream)", "modelRI", "what aclmdlRICaptureEnd gave: look at its code",
        "EH0008", rule="modelRI is NULL; the last capture of the stream has failed",
    ),
    null("modelRI"), live("modelRI", Model), live("stream", Stream), unbound("stream", code=107000),
    uncaptured("stream"),
    refuse("cannot_execute(stream_)", "stream", "a stream that does not keep its tasks", "EE1006", code=107000),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
    own_model("modelRI"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIExecuteAsync(acl: Acl, modelRI: Model, stream: Stream) -> None:
    """Queue an execution in a stream, NULL for the default one."""
    if modelRI.scheduled:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"aclmdlRIExecuteAsync: {modelRI!r} is scheduled by the AICPU",
            hint="aclmdlRIExecute, or rtModelExecute, which queues it in a stream",
        )
    modelRI.execute(stream)


@entry(null_rt("mdl"), waits_for_snapshot=True)
def rtModelExecute(acl: Acl, mdl: Handle, stm: Handle, flag: U32) -> None:
    """Queue an execution in a stream; the runtime layer's form."""
    model_of(acl, "rtModelExecute", mdl).execute(own_stream_of(acl, "rtModelExecute", stm))


@entry(
    null("modelRI"), live("modelRI", Model),
    refuse("timeout < -1 or timeout == 0", "timeout", "-1 or more than 0", "EE1003"),
    refuse("is_graph(modelRI_)", "modelRI", "a model built by hand", "EE1016"), own_model("modelRI"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIExecute(acl: Acl, modelRI: Model, timeout: I32) -> None:
    """Execute a model made by hand and wait so many milliseconds, -1 for ever; a captured graph is refused."""
    modelRI.execute_now(timeout)


@entry(
    live("modelRI", Model), null_rt("modelRI"),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
    own_model("modelRI"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIAbort(acl: Acl, modelRI: Model) -> None:
    """Stop an execution of a model made by hand; the task scheduler must know how, unless the AICPU executes it."""
    modelRI.need_to_abort()
    if not modelRI.captured:  # a graph is stopped with the stream that executes it
        modelRI.abort()


# -- end, name ---------------------------------------------------------------------------------------------------------


@entry(
    null("modelRI"), live("modelRI", Model),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
    own_model("modelRI"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRIDestroy(acl: Acl, modelRI: Model) -> None:
    """End a model or graph once its executions are over."""
    modelRI.close()


@entry(
    live("mdl", Model), null_rt("mdl"),
    refuse("is_branch(mdl_)", "mdl", "no branch of a conditional node", "", code=207000), own_model("mdl"),
)  # fmt: skip
def rtModelDestroy(acl: Acl, mdl: Model) -> None:
    """End a model; the runtime layer's form."""
    mdl.close()


@entry(
    live("modelRI", Model), null_rt("modelRI", "func"),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
)  # fmt: skip
def aclmdlRIDestroyRegisterCallback(acl: Acl, modelRI: Handle, func: Callback, userData: Address) -> None:
    """Let a function be called when a model ends; the same one only once."""
    call = "aclmdlRIDestroyRegisterCallback"
    watchers: dict[object, Callable[[], object]] = handle_of(acl, modelRI, Model).watchers
    if func in watchers:
        raise _watcher(call, "it is registered already")
    watchers[func] = partial(func, userData)


@entry(
    live("modelRI", Model), null_rt("modelRI", "func"),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
)  # fmt: skip
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


@entry(null("modelRI", "name"), live("modelRI", Model), own_model("modelRI"))
def aclmdlRISetName(acl: Acl, modelRI: Model, name: Text) -> None:
    """Name a model."""
    modelRI.name = name


@entry(
    null("modelRI", "name"), live("modelRI", Model), zero("maxLen", message="EE1003"), context(),
    own_model("modelRI"),
)  # fmt: skip
def aclmdlRIGetName(acl: Acl, modelRI: Handle, maxLen: U32, name: Address) -> None:
    """Write a model's name with its ending zero to an address; it must fit into maxLen bytes."""
    call = "aclmdlRIGetName"
    image = caller.octets(str(handle_of(acl, modelRI, Model).name)) + b"\0"
    if len(image) > maxLen:
        raise errors.fault(
            "ACL_ERROR_RT_INTERNAL_ERROR", f"{call}: the name takes {len(image)} bytes, maxLen is {maxLen}",
            hint="pass a larger buffer",
        )
    caller.write(name, image, len(image))


@entry(null("modelRI", "modelRIId"), live("modelRI", Model))
def aclmdlRIGetId(acl: Acl, modelRI: Handle, modelRIId: Out[U32]) -> None:
    """Give the driver's number of a model."""
    modelRIId.value = handle_of(acl, modelRI, Model).model_id
