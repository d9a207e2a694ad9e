"""Contexts by name, and parameters of the system (core_spec 2.7, 3.3, 4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.state import Acl
from runtime.core.process.context import Context

_CONTEXT_PARAMETERS = range(3)
_PROCESS_PARAMETERS = range(4)
"""aclSysParamOpt: 0 deterministic, 1 and 2 debugging, 3 only for the process."""


@entry(waits_for_snapshot=True)
def aclrtCreateContext(acl: Acl, context: Out | None, deviceId: int) -> None:
    """Make a context on a device and work in it."""
    need("aclrtCreateContext", context=context)
    assert context is not None
    context.value = None
    context.value = acl.runtime.create_context(deviceId or 0).handle


@entry(waits_for_snapshot=True)
def aclrtDestroyContext(acl: Acl, context: int) -> None:
    """End a context that aclrtCreateContext made, with all that runs in it."""
    need("aclrtDestroyContext", context=context)
    acl.runtime.destroy_context(_live(acl, context, "RT_ERROR_CONTEXT_NULL", "EE1017"))


@entry
def aclrtSetCurrentContext(acl: Acl, context: int) -> None:
    """Let the thread work in a context; a dead one is 107000, and nothing changes."""
    need("aclrtSetCurrentContext", context=context)
    acl.runtime.current.use_context(_live(acl, context, "RT_ERROR_INVALID_VALUE", "EE1018"))


@entry
def aclrtGetCurrentContext(acl: Acl, context: Out | None) -> None:
    """Return the thread's context; without one 107002 without a message."""
    need("aclrtGetCurrentContext", context=context)
    assert context is not None
    context.value = None
    found = acl.runtime.find_context()
    if found is None:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "aclrtGetCurrentContext: this thread has no context")
    context.value = found.handle


@entry
def aclrtCtxGetCurrentDefaultStream(acl: Acl, stream: Out | None) -> None:
    """Return the handle of the stream that NULL stands for; after it was destroyed, a new one for the same stream."""
    need("aclrtCtxGetCurrentDefaultStream", stream=stream)
    assert stream is not None
    stream.value = None
    stream.value = acl.runtime.current_context().default_handle()


def _live(acl: Acl, handle: int, problem: str, message: str) -> Context:
    try:
        return acl.runtime.handles.get(handle, Context)
    except errors.RuntimeFault as dead:
        reason = "it was destroyed, or is no context"
        params = ("use of a context", "context", reason) if message == "EE1017" else ("use of a context", reason)
        raise errors.fault(
            problem, f"context {handle:#x} cannot be used: {reason}", ee=message, params=params
        ) from dead


# -- parameters ----------------------------------------------------------------------------------------------------


@entry
def aclrtCtxSetSysParamOpt(acl: Acl, opt: int, value: int) -> None:
    """Set a parameter of the thread's context."""
    _check("aclrtCtxSetSysParamOpt", opt, _CONTEXT_PARAMETERS)
    acl.runtime.current_context().parameters[opt or 0] = value or 0


@entry
def aclrtCtxGetSysParamOpt(acl: Acl, opt: int, value: Out | None) -> None:
    """Return a parameter of the thread's context; 107021 when it was never set."""
    need("aclrtCtxGetSysParamOpt", value=value)
    assert value is not None
    _check("aclrtCtxGetSysParamOpt", opt, _CONTEXT_PARAMETERS)
    value.value = _read(acl.runtime.current_context().parameters, opt, "context")


@entry
def aclrtSetSysParamOpt(acl: Acl, opt: int, value: int) -> None:
    """Set a parameter of the process."""
    _check("aclrtSetSysParamOpt", opt, _PROCESS_PARAMETERS)
    acl.runtime.parameters[opt or 0] = value or 0


@entry
def aclrtGetSysParamOpt(acl: Acl, opt: int, value: Out | None) -> None:
    """Return a parameter of the process; 107021 when it was never set."""
    need("aclrtGetSysParamOpt", value=value)
    assert value is not None
    _check("aclrtGetSysParamOpt", opt, _PROCESS_PARAMETERS)
    value.value = _read(acl.runtime.parameters, opt, "process")


def _check(call: str, opt: int, known: range) -> None:
    if (opt or 0) not in known:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: opt is {opt}; expected 0 to {known.stop - 1}", ee="EH0007",
            params=(call, opt, "opt", f"0 to {known.stop - 1}"),
        )


def _read(parameters: dict[int, int], opt: int, whose: str) -> int:
    if (opt or 0) not in parameters:
        raise errors.fault(
            "ACL_ERROR_RT_SYSPARAMOPT_NOT_SET", f"parameter {opt} of this {whose} was never set", hint="set it first"
        )
    return parameters[opt or 0]
