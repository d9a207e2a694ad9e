"""Failed and ended tasks by name: failure modes, aborts, exception callbacks, last errors (core_spec 4, 10.6, 19.1)."""

from __future__ import annotations

import ctypes
from typing import Any

from chips.traits import EventKind
from runtime import errors
from runtime.capi.aclrt.checks import context, feature, live, null, null_rt, own, refuse, succeed, unbound, visible
from runtime.capi.aclrt.entry import entry, own_stream_of
from runtime.capi.aclrt.kinds import I32, U32, Address, Callback, Enum, Handle, Info, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream import abort
from runtime.core.stream.stream import Stream
from runtime.memory import caller

_MODULE = "acl"
"""The module that aclrtSetExceptionInfoCallback speaks for."""
_THREAD_LEVEL = 0
_NO_ERRORS = 0
_MEMORY, _CORE, _LINK = 1, 3, 4
"""aclrtErrorType of what can be repaired; 0 is no error."""


# -- failure modes and aborts --------------------------------------------------------------------------------------


_KEPT = "is_bound(stream_) or (not stream_.counts_ids and has_flag(stream_, PERSISTENT))"


@entry(
    live("stream", Stream), context("not stream", code=107000), own("stream"),
    refuse("is_bound(stream_) and stream_.counts_ids", "stream", "a stream of no model", "EE1016", code=507000,
           rule="stream is bound to a model"),
    refuse(_KEPT, "stream", "a stream whose tasks go", "EE1006", code=507000,
           rule="stream keeps its tasks, or is bound to a model"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtStreamAbort(acl: Acl, stream: Stream) -> None:
    """End a stream's running task and drop what is queued; NULL is the context's default stream."""
    abort.abort_stream(stream)


@entry(
    live("stream", Stream), null_rt("stream"),
    succeed("is_bound(stream_) and stream_.counts_ids", "tasks of models are not stopped"), own("stream"),
    unbound("stream", "", code=507000), waits_for_snapshot=True,
)  # fmt: skip
def aclrtStreamStop(acl: Acl, stream: Handle) -> None:
    """Stop a stream's running task and keep what is queued."""
    abort.stop_stream(own_stream_of(acl, "aclrtStreamStop", stream))


@entry(
    feature("DFX_FAST_RECOVER", message=""),
    refuse(f"timeout > {abort.LONGEST_DEVICE_MS}", "timeout", f"[0, {abort.LONGEST_DEVICE_MS}]", "EE1003"),
    visible("deviceId"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtDeviceTaskAbort(acl: Acl, deviceId: I32, timeout: U32) -> None:
    """End all tasks of a device; the limit is in milliseconds, 0 is none."""
    slot = acl.runtime.slot(deviceId, "aclrtDeviceTaskAbort")
    if slot.device is None:
        raise errors.fault(
            "ACL_ERROR_RT_CONTEXT_NULL", f"aclrtDeviceTaskAbort: device {deviceId} is not set", ee="EE1001",
            params=(f"aclrtDeviceTaskAbort: device {deviceId} is not set",), hint="set the device first",
        )
    abort.abort_device(slot.device, timeout)


@entry(null("regName"))
def aclrtSetDeviceTaskAbortCallback(acl: Acl, regName: Text, callback: Callback, args: Address) -> None:
    """Call `callback(device, phase, args)` before and after tasks are ended; NULL takes the name's callback away."""
    told = None if not callback else (lambda device, phase: callback(device, int(phase), args))
    acl.runtime.abort_observers.register(regName, told)


# -- exception callbacks -------------------------------------------------------------------------------------------


@entry()
def aclrtSetExceptionInfoCallback(acl: Acl, callback: Callback) -> None:
    """Call a function for every failed task, instead of the one set before; NULL calls none."""
    acl.runtime.exceptions.set_module(_MODULE, callback or None)


@entry(null("callback", message="EH0008", code=107000))
def aclrtExceptionInfoCallbackRegister(acl: Acl, callback: Callback) -> None:
    """Call a function for every failed task, besides others; a second registration changes nothing."""
    acl.runtime.exceptions.add(_callback("aclrtExceptionInfoCallbackRegister", callback))


@entry(null("callback", message="EH0008", code=107000))
def aclrtExceptionInfoCallbackUnregister(acl: Acl, callback: Callback) -> None:
    """No longer call a function."""
    acl.runtime.exceptions.remove(_callback("aclrtExceptionInfoCallbackUnregister", callback))


def _callback(call: str, callback: Any) -> Any:
    if not callback:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: callback is NULL", ee="EH0008", params=(call, "callback"),
            hint="pass a function",
        )
    return callback


@entry(null("info"), failure=0xFFFFFFFF)
def aclrtGetTaskIdFromExceptionInfo(acl: Acl, info: Info) -> U32:
    """Return the id of the task an exception is about."""
    return int(info.task_id)


@entry(null("info"), failure=0xFFFFFFFF)
def aclrtGetStreamIdFromExceptionInfo(acl: Acl, info: Info) -> U32:
    """Return the id of the stream an exception is about."""
    return int(info.stream_id)


@entry(null("info"), failure=0xFFFFFFFF)
def aclrtGetThreadIdFromExceptionInfo(acl: Acl, info: Info) -> U32:
    """Return the thread that met the exception."""
    return int(info.thread_id)


@entry(null("info"), failure=0xFFFFFFFF)
def aclrtGetDeviceIdFromExceptionInfo(acl: Acl, info: Info) -> U32:
    """Return the device an exception is about."""
    return int(info.device_id)


@entry(null("info"), failure=0xFFFFFFFF)
def aclrtGetErrorCodeFromExceptionInfo(acl: Acl, info: Info) -> U32:
    """Return the public code of an exception."""
    return int(info.error_code)


# -- last errors ---------------------------------------------------------------------------------------------------


@entry(refuse("level", "level", "0"))
def aclrtPeekAtLastError(acl: Acl, level: Enum) -> Handle:
    """Return the code of the thread's last runtime error and keep it."""
    _check_level("aclrtPeekAtLastError", level)
    return acl.reports.peek()


@entry(refuse("level", "level", "0"))
def aclrtGetLastError(acl: Acl, level: Enum) -> Handle:
    """Return the code of the thread's last runtime error and forget it."""
    _check_level("aclrtGetLastError", level)
    return acl.reports.take()


def _check_level(call: str, level: int) -> None:
    if level != _THREAD_LEVEL:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: level is {level}", ee="EH0007",
            params=(call, level, "level", _THREAD_LEVEL), hint="0 is the thread's level, the only one",
        )


@entry()
def aclGetRecentErrMsg(acl: Acl) -> Text | None:
    """Return the messages posted for the thread since the last call, or None; they are forgotten."""
    return acl.reports.take_text() or None


@entry(null("errorInfo"), feature("DFX_ERR_GET_AND_REPAIR"))
def aclrtGetErrorVerbose(acl: Acl, deviceId: I32, errorInfo: Address) -> None:
    """Write what the device says about its errors; here always that there are none."""
    acl.runtime.slot(deviceId, "aclrtGetErrorVerbose")
    caller.at(ctypes.c_uint32, errorInfo).value = _NO_ERRORS


@entry(null("errorInfo"), feature("DFX_ERR_GET_AND_REPAIR"))
def aclrtRepairError(acl: Acl, deviceId: I32, errorInfo: Address) -> None:
    """Repair an error that aclrtGetErrorVerbose has described; there is none of a kind that can be repaired."""
    call = "aclrtRepairError"
    tried, kind = caller.read(errorInfo, 1)[0], caller.at(ctypes.c_int32, errorInfo + 4).value
    if tried:
        device, entries = acl.runtime.slot(deviceId, call).device, acl.runtime.machine.chip.traits.events
        if device is None:
            raise errors.fault("RT_ERROR_DEVICE_NULL", f"{call}: device {deviceId} is not set", hint="set it first")
        v1 = entries is EventKind.IDS
        if kind in ((_NO_ERRORS,) if v1 else (_CORE, _LINK)):
            return  # nothing of it is left to repair
        if v1 and kind != _MEMORY:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: errorType is {kind}", ee="EE1003",
                params=(call, kind, "errorType", "no error (0) or memory (1)"), hint="pass what was described",
            )
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: the information names no error that can be repaired", ee="EE1001",
        params=(f"{call}: no error that can be repaired",), hint="reset the device",
    )
