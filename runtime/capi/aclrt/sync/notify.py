"""Notifies and count-notifies by name (core_spec 10.7.11)."""

from __future__ import annotations

import ctypes
import struct

from runtime import errors
from runtime.capi.aclrt.checks import (
    WORD,
    above_zero,
    context,
    feature,
    live,
    null,
    null_rt,
    own,
    refuse,
    written,
    zero,
)
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, need, need_rt, own_stream_of
from runtime.capi.aclrt.kinds import U32, U64, Address, Handle, Size, Text
from runtime.capi.aclrt.memory.ipc import server_pids
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.core.sync import notify as core
from runtime.core.sync.notify import CountNotify, Notify
from runtime.memory import caller

_DEVICE_ONLY = 1
_CREATE_FLAGS = (0, 1)
"""Default, or for device code only."""
_EXPORT_FLAGS = (0, 2)
"""Default; 2 does without a list of processes, or allows access to the other device."""
_EVERYONE = 2
_KEY_BYTES = 65
_RECORD_INFO = struct.Struct("<II")
"""aclrtCntNotifyRecordInfo: mode, value."""
_WAIT_INFO = struct.Struct("<IIIB")
"""aclrtCntNotifyWaitInfo: mode, value, time-out in seconds, whether the counter is cleared."""


def _check_flags(call: str, flags: int, known: tuple[int, ...]) -> int:
    if flags not in known:
        names = " or ".join(map(str, known))
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags {flags:#x}; known are {names}", ee="EE1003",
            params=(call, flags, "flags", names), hint="use 0",
        )
    return flags


def _need_context(acl: Acl, call: str) -> None:
    """Raise 107002 without a message, as these calls do."""
    if acl.runtime.find_context() is None and acl.runtime.default_device is None:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", f"{call}: this thread has no device set")


@entry(null("notify"), refuse("flag not in (0, 1)", "flag", "0 or 1", "EE1003"), waits_for_snapshot=True)
def aclrtCreateNotify(acl: Acl, notify: Out[Handle], flag: U64) -> None:
    """Make a notify."""
    _check_flags("aclrtCreateNotify", flag, _CREATE_FLAGS)
    _need_context(acl, "aclrtCreateNotify")
    notify.value = kept(acl, Notify(acl.runtime.current_context().device, device_only=flag == _DEVICE_ONLY))


def _notify(acl: Acl, call: str, notify: int) -> Notify:
    need(call, notify=notify)
    found: Notify = handle_of(acl, notify, Notify)
    return found


@entry(null("notify"), live("notify", Notify), context(), waits_for_snapshot=True)
def aclrtDestroyNotify(acl: Acl, notify: Handle) -> None:
    """Give a notify up; needs a context."""
    acl.runtime.current_context()
    handle_of(acl, notify, Notify).close()


@entry(
    null("notify"), live("notify", Notify), live("stream", Stream), context(), own("stream"), waits_for_snapshot=True,
)
def aclrtRecordNotify(acl: Acl, notify: Handle, stream: Handle) -> None:
    """Set the flag when the stream gets there."""
    _notify(acl, "aclrtRecordNotify", notify).record(own_stream_of(acl, "aclrtRecordNotify", stream))


@entry(
    null("notify"), live("notify", Notify), live("stream", Stream), context(), own("stream"), waits_for_snapshot=True,
)
def aclrtWaitAndResetNotify(acl: Acl, notify: Handle, stream: Handle, timeout: U32) -> None:
    """Wait for the flag and clear it; the time-out is in seconds, 0 for ever."""
    _notify(acl, "aclrtWaitAndResetNotify", notify).wait(own_stream_of(acl, "aclrtWaitAndResetNotify", stream), timeout)


@entry(
    null("notifies"), refuse(f"not num & {WORD:#x}", "num", "more than 0 in its low 32 bits", "EE1003"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtNotifyBatchReset(acl: Acl, notifies: Address, num: Size) -> None:
    """Clear the flags of several notifies, in the default stream, and wait for that; those before a NULL are cleared.
    """
    call = "aclrtNotifyBatchReset"
    num &= WORD
    handles = list(caller.array(ctypes.c_uint64, num, notifies))
    members = [handle_of(acl, handle, Notify) for handle in handles if handle]
    given = handles.index(0) if 0 in handles else num
    if given:
        stream = own_stream_of(acl, call, 0)
        core.clear(members[:given], stream)
        stream.synchronize()
    if given < num:
        need_rt(call, **{f"notifies[{given}]": None})


@entry(null("notify", "notifyId"), live("notify", Notify), context())
def aclrtGetNotifyId(acl: Acl, notify: Handle, notifyId: Out[U32]) -> None:
    """Give the device id."""
    found = _notify(acl, "aclrtGetNotifyId", notify)
    need("aclrtGetNotifyId", notifyId=notifyId)
    notifyId.value = found.notify_id


# -- other processes ---------------------------------------------------------------------------------------------------


@entry(null("notify", "key"), live("notify", Notify), zero("len", message="EE1003"), feature("IPC_NOTIFY", message=""))
def aclrtNotifyGetExportKey(acl: Acl, notify: Handle, key: Address, len: Size, flags: U64) -> None:
    """Write the name by which other processes open the notify; the buffer has at least 65 bytes."""
    call = "aclrtNotifyGetExportKey"
    found = _notify(acl, call, notify)
    need(call, key=key)
    checked = _check_flags(call, flags, _EXPORT_FLAGS)
    if len < _KEY_BYTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: len is {len}; a key needs {_KEY_BYTES} bytes",
            hint=f"pass a buffer of {_KEY_BYTES} bytes",
        )
    name = found.export(everyone=checked == _EVERYONE) + b"\0"
    caller.write(key, name, name.__len__())


@entry(
    null("notify", "key"), feature("IPC_NOTIFY", message=""),
    refuse(f"flags & {WORD:#x} > 3", "flags", "at most 3", "EE1003"), written("notify"),
    context(),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtNotifyImportByKey(acl: Acl, notify: Out[Handle], key: Text, flags: U64) -> None:
    """Open a notify of another process."""
    call = "aclrtNotifyImportByKey"
    name = caller.octets(key)
    if not name:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: the key is empty", hint="pass the key that the owner has exported",
        )
    notify.value = kept(acl, Notify(acl.runtime.current_context().device, name))


@entry(
    null("notify", "pid"), feature("IPC_NOTIFY"), live("notify", Notify),
    above_zero("num"), context(),
    refuse("not notify_.exported", "notify", "a notify with an export key", "", code=107000),
)  # fmt: skip
def aclrtNotifySetImportPid(acl: Acl, notify: Notify, pid: Address, num: Size) -> None:
    """Let processes open a notify that was given a key."""
    notify.allow(caller.array(ctypes.c_int32, num & WORD, pid))


@entry(
    null_rt("notify", "serverPids"), zero("num", message="EE1003"), live("notify", Notify),
    feature("IPC_NOTIFY", message="EE1005"),
)  # fmt: skip
def aclrtNotifySetImportPidInterServer(acl: Acl, notify: Handle, serverPids: Address, num: Size) -> None:
    """Let processes of other servers of a super-pod open the notify; only forms of Ascend 910_93 are in one."""
    call = "aclrtNotifySetImportPidInterServer"
    found = _notify(acl, call, notify)
    servers = server_pids(call, serverPids, num)
    for _, _, count in servers:
        if count != 1:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {count} process ids for one server", ee="EE1003",
                params=(call, count, "serverPids.num", 1), hint="pass one process id with each server",
            )
    for server, pids, count in servers:
        found.allow_server(server, caller.array(ctypes.c_int32, count, pids))


# -- count-notifies ----------------------------------------------------------------------------------------------------


@entry(refuse("flag", "flag", "0", "EE1003"), context(message=""), null_rt("cntNotify"), waits_for_snapshot=True)
def aclrtCntNotifyCreate(acl: Acl, cntNotify: Out[Handle], flag: U64) -> None:
    """Make a count-notify; only STARS v2 has them."""
    device = acl.runtime.current_context().device
    _check_flags("aclrtCntNotifyCreate", flag, _CREATE_FLAGS)
    cntNotify.value = kept(acl, CountNotify(device))


def _count_notify(acl: Acl, call: str, handle: int) -> CountNotify:
    need_rt(call, cntNotify=handle)
    found: CountNotify = handle_of(acl, handle, CountNotify)
    return found


@entry(live("cntNotify", CountNotify), null_rt("cntNotify"), waits_for_snapshot=True)
def aclrtCntNotifyDestroy(acl: Acl, cntNotify: Handle) -> None:
    """Give a count-notify up."""
    _count_notify(acl, "aclrtCntNotifyDestroy", cntNotify).close()


@entry(
    null("info"), live("cntNotify", CountNotify), live("stream", Stream), null_rt("cntNotify"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtCntNotifyRecord(acl: Acl, cntNotify: Handle, stream: Handle, info: Address) -> None:
    """Change the counter: mode 0 store, 1 add, 2 set bits, 4 clear bits."""
    found = _count_notify(acl, "aclrtCntNotifyRecord", cntNotify)
    mode, value = _RECORD_INFO.unpack(caller.read(info, _RECORD_INFO.size))
    found.record(own_stream_of(acl, "aclrtCntNotifyRecord", stream), value, mode)


@entry(
    null("info"), live("cntNotify", CountNotify), live("stream", Stream), null_rt("cntNotify"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtCntNotifyWaitWithTimeout(acl: Acl, cntNotify: Handle, stream: Handle, info: Address) -> None:
    """Wait for the counter: mode 0 less, 1 equal, 2 greater, 3 greater or equal, 4 all bits."""
    found = _count_notify(acl, "aclrtCntNotifyWaitWithTimeout", cntNotify)
    mode, value, timeout, clear = _WAIT_INFO.unpack(caller.read(info, _WAIT_INFO.size))
    target = own_stream_of(acl, "aclrtCntNotifyWaitWithTimeout", stream)
    found.wait(target, value, mode, timeout_s=timeout, clear=bool(clear))


@entry(live("cntNotify", CountNotify), live("stream", Stream), null_rt("cntNotify"), waits_for_snapshot=True)
def aclrtCntNotifyReset(acl: Acl, cntNotify: Handle, stream: Handle) -> None:
    """Set the counter to 0."""
    _count_notify(acl, "aclrtCntNotifyReset", cntNotify).reset(own_stream_of(acl, "aclrtCntNotifyReset", stream))


@entry(live("cntNotify", CountNotify), null_rt("cntNotify", "notifyId"))
def aclrtCntNotifyGetId(acl: Acl, cntNotify: Handle, notifyId: Out[U32]) -> None:
    """Give the device id."""
    found = _count_notify(acl, "aclrtCntNotifyGetId", cntNotify)
    need("aclrtCntNotifyGetId", notifyId=notifyId)
    notifyId.value = found.notify_id
