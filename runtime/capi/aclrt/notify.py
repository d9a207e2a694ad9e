"""Notifies and count-notifies by name (core_spec 10.7.11)."""

from __future__ import annotations

import ctypes
import struct

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need, need_rt, stream_of
from runtime.capi.aclrt.ipc import server_pids
from runtime.capi.aclrt.state import Acl
from runtime.core.sync import notify as core
from runtime.core.sync.notify import CountNotify, Notify

_DEVICE_ONLY = 1
_CREATE_FLAGS = (0, 1)
"""Default, or for device code only."""
_EXPORT_FLAGS = IMPORT_FLAGS = (0, 2)
"""Default; 2 does without a list of processes, or allows access to the other device."""
_EVERYONE = 2
_KEY_BYTES = 65
_RECORD_INFO = struct.Struct("<II")
"""aclrtCntNotifyRecordInfo: mode, value."""
_WAIT_INFO = struct.Struct("<IIIB")
"""aclrtCntNotifyWaitInfo: mode, value, time-out in seconds, whether the counter is cleared."""


def _check_flags(call: str, flags: int | None, known: tuple[int, ...]) -> int:
    if (flags or 0) not in known:
        names = " or ".join(map(str, known))
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags {flags:#x}; known are {names}", ee="EE1003",
            params=(call, flags, "flags", names), hint="use 0",
        )
    return flags or 0


def _need_context(acl: Acl, call: str) -> None:
    """Raise 107002 without a message, as these calls do."""
    if acl.runtime.find_context() is None and acl.runtime.default_device is None:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", f"{call}: this thread has no device set")


@entry(waits_for_snapshot=True)
def aclrtCreateNotify(acl: Acl, notify: Out | None, flag: int | None) -> None:
    """Make a notify."""
    need("aclrtCreateNotify", notify=notify)
    assert notify is not None
    notify.value = None
    _check_flags("aclrtCreateNotify", flag, _CREATE_FLAGS)
    _need_context(acl, "aclrtCreateNotify")
    notify.value = Notify(acl.runtime.current_context().device, device_only=flag == _DEVICE_ONLY).handle


def _notify(acl: Acl, call: str, notify: int | None) -> Notify:
    need(call, notify=notify)
    found: Notify = handle_of(acl, notify, Notify)
    return found


@entry
def aclrtDestroyNotify(acl: Acl, notify: int | None) -> None:
    """Give a notify up; needs a context."""
    need("aclrtDestroyNotify", notify=notify)
    acl.runtime.current_context()
    handle_of(acl, notify, Notify).close()


@entry
def aclrtRecordNotify(acl: Acl, notify: int | None, stream: int | None) -> None:
    """Set the flag when the stream gets there."""
    _notify(acl, "aclrtRecordNotify", notify).record(stream_of(acl, stream))


@entry
def aclrtWaitAndResetNotify(acl: Acl, notify: int | None, stream: int | None, timeout: int | None) -> None:
    """Wait for the flag and clear it; the time-out is in seconds, 0 for ever."""
    _notify(acl, "aclrtWaitAndResetNotify", notify).wait(stream_of(acl, stream), timeout or 0)


@entry
def aclrtNotifyBatchReset(acl: Acl, notifies: int | None, num: int | None) -> None:
    """Clear the flags of several notifies, in the default stream, and wait for that."""
    need("aclrtNotifyBatchReset", notifies=notifies, num=num)
    assert notifies is not None
    assert num is not None
    handles = (ctypes.c_uint64 * num).from_address(notifies)
    members = [_notify(acl, "aclrtNotifyBatchReset", handle) for handle in handles]
    stream = stream_of(acl, None)
    core.clear(members, stream)
    stream.synchronize()


@entry
def aclrtGetNotifyId(acl: Acl, notify: int | None, notifyId: Out | None) -> None:
    """Give the device id."""
    found = _notify(acl, "aclrtGetNotifyId", notify)
    need("aclrtGetNotifyId", notifyId=notifyId)
    assert notifyId is not None
    notifyId.value = found.notify_id


# -- other processes ---------------------------------------------------------------------------------------------------


@entry
def aclrtNotifyGetExportKey(acl: Acl, notify: int | None, key: int | None, len: int | None, flags: int | None) -> None:
    """Write the name by which other processes open the notify; the buffer has at least 65 bytes."""
    call = "aclrtNotifyGetExportKey"
    found = _notify(acl, call, notify)
    need(call, key=key)
    assert key is not None
    checked = _check_flags(call, flags, _EXPORT_FLAGS)
    if (len or 0) < _KEY_BYTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: len is {len}; a key needs {_KEY_BYTES} bytes", ee="EE1003",
            params=(call, len, "len", f"at least {_KEY_BYTES}"), hint=f"pass a buffer of {_KEY_BYTES} bytes",
        )
    name = found.export(everyone=checked == _EVERYONE) + b"\0"
    ctypes.memmove(key, name, name.__len__())


@entry(waits_for_snapshot=True)
def aclrtNotifyImportByKey(acl: Acl, notify: Out | None, key: str | int | None, flags: int | None) -> None:
    """Open a notify of another process."""
    call = "aclrtNotifyImportByKey"
    if notify is not None:
        notify.value = None
    need(call, notify=notify, key=key)
    assert notify is not None
    assert key is not None
    _check_flags(call, flags, IMPORT_FLAGS)
    name = key.encode() if isinstance(key, str) else ctypes.string_at(key)
    if not name:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: the key is empty", hint="pass the key that the owner has exported",
        )
    device = acl.runtime.current_context().device
    try:
        notify.value = Notify(device, name).handle
    except errors.RuntimeFault as cause:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: key {name!r} cannot be opened: {cause.message}",
            hint="let the owner export the notify and allow this process",
        ) from cause


@entry
def aclrtNotifySetImportPid(acl: Acl, notify: int | None, pid: int | None, num: int | None) -> None:
    """Let processes open the notify."""
    call = "aclrtNotifySetImportPid"
    found = _notify(acl, call, notify)
    need(call, pid=pid)
    assert pid is not None
    if not num:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: num is 0", ee="EE1003", params=(call, num, "num", "at least 1"),
            hint="pass one or more process ids",
        )
    found.allow((ctypes.c_int32 * num).from_address(pid))


@entry
def aclrtNotifySetImportPidInterServer(
    acl: Acl, notify: int | None, serverPids: int | None, num: int | None
) -> None:
    """Let processes of other servers of a super-pod open the notify; only forms of Ascend 910_93 are in one."""
    call = "aclrtNotifySetImportPidInterServer"
    need_rt(call, notify=notify, serverPids=serverPids)
    assert serverPids is not None
    if not num:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: num is 0", ee="EE1003", params=(call, num, "num", "at least 1"),
        )
    found = _notify(acl, call, notify)
    for server, pids, count in server_pids(call, serverPids, num):
        found.allow_server(server, (ctypes.c_int32 * count).from_address(pids))


# -- count-notifies ----------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtCntNotifyCreate(acl: Acl, cntNotify: Out | None, flag: int | None) -> None:
    """Make a count-notify; only STARS v2 has them."""
    need("aclrtCntNotifyCreate", cntNotify=cntNotify)
    assert cntNotify is not None
    cntNotify.value = None
    device = acl.runtime.current_context().device
    _check_flags("aclrtCntNotifyCreate", flag, _CREATE_FLAGS)
    cntNotify.value = CountNotify(device).handle


def _count_notify(acl: Acl, call: str, handle: int | None) -> CountNotify:
    need_rt(call, cntNotify=handle)
    found: CountNotify = handle_of(acl, handle, CountNotify)
    return found


@entry
def aclrtCntNotifyDestroy(acl: Acl, cntNotify: int | None) -> None:
    """Give a count-notify up."""
    _count_notify(acl, "aclrtCntNotifyDestroy", cntNotify).close()


@entry
def aclrtCntNotifyRecord(acl: Acl, cntNotify: int | None, stream: int | None, info: int | None) -> None:
    """Change the counter: mode 0 store, 1 add, 2 set bits, 4 clear bits."""
    need("aclrtCntNotifyRecord", info=info)
    found = _count_notify(acl, "aclrtCntNotifyRecord", cntNotify)
    assert info is not None
    mode, value = _RECORD_INFO.unpack(ctypes.string_at(info, _RECORD_INFO.size))
    found.record(stream_of(acl, stream), value, mode)


@entry
def aclrtCntNotifyWaitWithTimeout(acl: Acl, cntNotify: int | None, stream: int | None, info: int | None) -> None:
    """Wait for the counter: mode 0 less, 1 equal, 2 greater, 3 greater or equal, 4 all bits."""
    need("aclrtCntNotifyWaitWithTimeout", info=info)
    found = _count_notify(acl, "aclrtCntNotifyWaitWithTimeout", cntNotify)
    assert info is not None
    mode, value, timeout, clear = _WAIT_INFO.unpack(ctypes.string_at(info, _WAIT_INFO.size))
    found.wait(stream_of(acl, stream), value, mode, timeout_s=timeout, clear=bool(clear))


@entry
def aclrtCntNotifyReset(acl: Acl, cntNotify: int | None, stream: int | None) -> None:
    """Set the counter to 0."""
    _count_notify(acl, "aclrtCntNotifyReset", cntNotify).reset(stream_of(acl, stream))


@entry
def aclrtCntNotifyGetId(acl: Acl, cntNotify: int | None, notifyId: Out | None) -> None:
    """Give the device id."""
    found = _count_notify(acl, "aclrtCntNotifyGetId", cntNotify)
    need("aclrtCntNotifyGetId", notifyId=notifyId)
    assert notifyId is not None
    notifyId.value = found.notify_id
