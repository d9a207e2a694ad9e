"""Contexts by name, and parameters of the system (core_spec 2.7, 3.3, 4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, null, one_of, refuse, visible
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, I64, Enum, Handle
from runtime.capi.aclrt.state import Acl
from runtime.core.process.context import Context


@entry(null("context"), visible("deviceId"), waits_for_snapshot=True)
def aclrtCreateContext(acl: Acl, context: Out[Handle], deviceId: I32) -> None:
    """Make a context on a device and work in it."""
    context.value = acl.runtime.create_context(deviceId).handle


@entry(null("context"), waits_for_snapshot=True)
def aclrtDestroyContext(acl: Acl, context: Handle) -> None:
    """End a context that aclrtCreateContext made, with all that runs in it."""
    acl.runtime.destroy_context(_live(acl, context, "RT_ERROR_CONTEXT_NULL", "EE1017"))


@entry(null("context"))
def aclrtSetCurrentContext(acl: Acl, context: Handle) -> None:
    """Let the thread work in a context; a dead one is 107000, and nothing changes."""
    acl.runtime.current.use_context(_live(acl, context, "RT_ERROR_INVALID_VALUE", "EE1018"))


@entry(null("context"), context(message=""))
def aclrtGetCurrentContext(acl: Acl, context: Out[Handle]) -> None:
    """Return the thread's context; without one 107002 without a message."""
    found = acl.runtime.find_context()
    if found is None:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "aclrtGetCurrentContext: this thread has no context")
    context.value = found.handle


@entry(null("stream"), context())
def aclrtCtxGetCurrentDefaultStream(acl: Acl, stream: Out[Handle]) -> None:
    """Return the handle of the stream that NULL stands for; after it was destroyed, a new one for the same stream."""
    stream.value = acl.runtime.current_context().default_handle()


def _live(acl: Acl, handle: int, problem: str, message: str) -> Context:
    try:
        return acl.runtime.handles.get(handle, Context)
    except errors.RuntimeFault as dead:
        reason = acl.runtime.handles.history(handle)
        params = ("use of a context", "context", reason) if message == "EE1017" else ("use of a context", reason)
        raise errors.fault(
            problem, f"context {handle:#x} cannot be used: {reason}", ee=message, params=params
        ) from dead


# -- parameters ----------------------------------------------------------------------------------------------------


@entry(
    one_of("opt", 0, 1, 2),
    refuse("not 0 <= value <= (1 if opt else 3)", "value", "[0, 3] for option 0, else 0 or 1", "EE1003"), context(),
)  # fmt: skip
def aclrtCtxSetSysParamOpt(acl: Acl, opt: Enum, value: I64) -> None:
    """Set a parameter of the thread's context."""
    acl.runtime.current_context().parameters[opt] = value


@entry(null("value"), one_of("opt", 0, 1, 2), context())
def aclrtCtxGetSysParamOpt(acl: Acl, opt: Enum, value: Out[I64]) -> None:
    """Return a parameter of the thread's context; 107021 when it was never set."""
    parameters = acl.runtime.current_context().parameters
    if opt not in parameters:
        raise errors.fault(
            "ACL_ERROR_RT_SYSPARAMOPT_NOT_SET", f"parameter {opt} of this context was never set", hint="set it first"
        )
    value.value = parameters[opt]


@entry(
    one_of("opt", 0, 1, 2, 3),
    refuse("not 0 <= value <= (1 if opt else 3)", "value", "[0, 3] for option 0, else 0 or 1", "EE1003"),
)  # fmt: skip
def aclrtSetSysParamOpt(acl: Acl, opt: Enum, value: I64) -> None:
    """Set a parameter of the process."""
    acl.runtime.parameters[opt] = value


@entry(null("value"), one_of("opt", 0, 1, 2, 3))
def aclrtGetSysParamOpt(acl: Acl, opt: Enum, value: Out[I64]) -> None:
    """Return a parameter of the process; 107021 when it was never set."""
    value.value = acl.runtime.parameters.get(opt, 0)
