"""Differences that docs/differences.md names: no fault where the vendor's library answers otherwise."""

from __future__ import annotations

from typing import Any

from tests.tools.differential.programs import Step

LEFT_OUT = (
    "aclrtAllocBuf", "aclrtSetDeviceWithoutTsdVXX", "aclrtResetDeviceWithoutTsdVXX", "aclrtGetArgsFromExceptionInfo",
    "aclrtGetFuncHandleFromExceptionInfo", "aclmdlSetDump", "aclrtCreateStreamV2", "aclrtCacheLastTaskOpInfo",
)  # fmt: skip
"""Functions that answer otherwise on purpose in whatever state."""
_HANDLE, _NOT_THERE, _DEVICE, _REGISTERED, _ABORTED = 107017, 207000, 107001, 507910, 107019
_BOUND_TO_FAIL = (0, 507000, 507899)
"""What tasks give that nobody executes: those of the AICPU's streams and of queues that the host does not feed."""
_ADDRESSES = ("devPtr", "dst", "src")
_OBJECTS = ("stream", "event", "context", "notify", "label", "model", "binary", "function", "group")
"""Kinds of objects that handles stand for, which lie in the library's own memory."""


def is_named(step: Step, ours: Any, theirs: Any) -> bool:
    """Whether a row of docs/differences.md speaks of what two sides have answered to a step.

    Args:
        ours: result, outputs and the first message's id.
        theirs: the same, or text where the library has not survived the step.
    """
    code, _, ids = ours
    if code == _HANDLE:  # a handle that is dead or of another kind: there is no table of all handles there
        return isinstance(theirs, str) or theirs[0] in (0, 107000)
    if isinstance(theirs, str):
        return False
    if code == 107000 and any(_is_object(step.arguments.get(name)) for name in _ADDRESSES):
        return bool(theirs[0] == 0)
    if step.function == "aclrtDevicePeerAccessStatus":  # another device's number and its physical id
        return bool(code == theirs[0] == 0)
    if code == _DEVICE:  # numbers of devices that do not exist
        return bool(theirs[0] == 107000)
    if code == _NOT_THERE and "stream" in step.arguments and ids in ([], ["EE1006"]):
        return theirs[0] in _BOUND_TO_FAIL
    # host memory registered twice; an abort that took too long
    return bool(code == _REGISTERED or theirs[0] == _ABORTED)


def _is_object(given: Any) -> bool:
    """Whether an argument is the handle of an object."""
    return isinstance(given, dict) and str(given.get("var", "")).rstrip("0123456789") in _OBJECTS
