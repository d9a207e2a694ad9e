"""Functions that aclInit and the finalisation call, by kind of component (acl_base_rt.h)."""

from __future__ import annotations

from typing import Any

from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import entry
from runtime.capi.aclrt.kinds import Address, Callback, Enum
from runtime.capi.aclrt.state import Acl
from runtime.memory import caller

_OTHER = 0xFFFF
"""The one kind that takes several functions."""
_AT_INIT = (0, 1, 6, _OTHER)
"""Kinds that aclInit calls, in this order: model, op executor, image processing, other."""
_AT_END = (3, 0, 6, _OTHER)
"""Kinds that the finalisation calls: op compiler, model, image processing, other."""


@entry(null("cbFunc", message="", code=100000))
def aclInitCallbackRegister(acl: Acl, type: Enum, cbFunc: Callback, userData: Address) -> None:
    """Let aclInit call a function with its configuration's text, its length and `userData`; after aclInit at once."""
    acl.init_hooks.add("aclInitCallbackRegister", type, cbFunc, userData)
    if acl.initialised:
        _check(cbFunc(None, 0, userData))


@entry(null("cbFunc", message="", code=100000))
def aclInitCallbackUnRegister(acl: Acl, type: Enum, cbFunc: Callback) -> None:
    """Take a function back."""
    acl.init_hooks.remove("aclInitCallbackUnRegister", type, cbFunc)


@entry(null("cbFunc", message="", code=100000))
def aclFinalizeCallbackRegister(acl: Acl, type: Enum, cbFunc: Callback, userData: Address) -> None:
    """Let the finalisation call a function with `userData`."""
    acl.end_hooks.add("aclFinalizeCallbackRegister", type, cbFunc, userData)


@entry(null("cbFunc", message="", code=100000))
def aclFinalizeCallbackUnRegister(acl: Acl, type: Enum, cbFunc: Callback) -> None:
    """Take a function back."""
    acl.end_hooks.remove("aclFinalizeCallbackUnRegister", type, cbFunc)


def run_init(acl: Acl, configuration: str | None) -> None:
    """Call what is registered for aclInit; the first result that is not 0 becomes the result of the call."""
    length = 0 if configuration is None else len(caller.octets(configuration))
    for function, data in acl.init_hooks.of(_AT_INIT):
        _check(function(configuration, length, data))


def run_end(acl: Acl) -> None:
    """Call what is registered for the finalisation; as in `run_init`."""
    for function, data in acl.end_hooks.of(_AT_END):
        _check(function(data))


def _check(result: Any) -> None:
    """Raise a function's result that is not 0 as the call's code, whatever number it is."""
    if result:
        failed = errors.fault("ACL_ERROR_INTERNAL_ERROR", f"a registered function has returned {result}")
        failed.code = int(result)
        raise failed
