"""Memory shared between processes under a key, by name (core_spec 13.12)."""

from __future__ import annotations

import ctypes
import struct

from runtime import errors
from runtime.capi.aclrt.checks import WORD, above_zero, context, feature, null, null_rt, refuse, zero
from runtime.capi.aclrt.entry import Out, entry, need_rt
from runtime.capi.aclrt.kinds import I32, U64, Address, Enum, Size
from runtime.capi.aclrt.memory.allocation import device_of
from runtime.capi.aclrt.state import Acl
from runtime.driver.ipc import ShareDriver
from runtime.driver.p2p import PeerDriver
from runtime.memory import caller, ipc

_LAST_LINK = 3
_ACCESS_LINK = 0
"""aclrtIpcMemAttrType: over which link accesses go."""
_SERVER_PIDS = struct.Struct("<I4xQQ")
"""aclrtServerPid: super-pod device id, address of process ids, how many."""


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )


@entry(
    null("devPtr", "key"), zero("size", message="EE1003"), zero("len", message="EE1003"),
    refuse("flags > 1", "flags", "at most 1", "EE1003"), context(), waits_for_snapshot=True,
)  # fmt: skip
def aclrtIpcMemGetExportKey(acl: Acl, devPtr: Address, size: Size, key: Address, len: Size, flags: U64) -> None:
    """Write a key for device memory to `key`, which has space for `len` bytes (65); flag 1: open to all processes."""
    call = "aclrtIpcMemGetExportKey"
    made = ipc.export(device_of(acl).shared, devPtr, size, len, flags, call)
    closed = made + b"\0"
    caller.write(key, closed, memoryview(closed).nbytes)


@entry(null("key"), feature("IPC_MEMORY"), waits_for_snapshot=True)
def aclrtIpcMemClose(acl: Acl, key: Address) -> None:
    """Close a key: in an importing process what it has open, in the exporting one the key itself."""
    text, table, driver = caller.text(key), acl.runtime.open_keys, device_of(acl).shared
    opened = table.addresses(text)
    if opened:
        for address in opened:
            table.close(driver, address)
    else:
        driver.forget(text)


@entry(null("devPtr", "key"), refuse("flags > 1", "flags", "at most 1", "EE1003"), context(), waits_for_snapshot=True)
def aclrtIpcMemImportByKey(acl: Acl, devPtr: Out[Address], key: Address, flags: U64) -> None:
    """Map the memory behind a key; flag 1 lets the device reach the exporting one first."""
    call = "aclrtIpcMemImportByKey"
    if flags & ~ipc.ENABLE_PEER:
        raise _out_of_range(call, flags, "flags", "0 or 1")
    device, text = device_of(acl), caller.text(key)
    if flags:
        peers = PeerDriver(device.hal, device.device_id)
        peers.reach(device.shared.exporter(text), own=device.driver.info.physical_id())
    devPtr.value = acl.runtime.open_keys.open(device.shared, text)


@entry(null("key", "pid"), above_zero("num"), context(), waits_for_snapshot=True)
def aclrtIpcMemSetImportPid(acl: Acl, key: Address, pid: Address, num: Size) -> None:
    """Let processes open a key; pids are bare tgids (aclrtDeviceGetBareTgid)."""
    pids = caller.array(ctypes.c_int32, num & WORD, pid)
    device_of(acl).shared.allow(caller.text(key), list(pids))


@entry(null_rt("key"))
def aclrtIpcMemSetAttr(acl: Acl, key: Address, type: Enum, attr: U64) -> None:
    """Choose the link of accesses to a key (type 0): 0 SIO, 1 HCCS, 2 and 3 UB."""
    call = "aclrtIpcMemSetAttr"
    if type != _ACCESS_LINK:
        raise _out_of_range(call, type, "type", "0")
    if attr > _LAST_LINK:
        raise _out_of_range(call, attr, "attr", f"[0, {_LAST_LINK}]")
    acl.runtime.open_keys.set_attribute(device_of(acl).shared, caller.text(key), attr)


@entry(null_rt("key", "serverPids"), zero("num", message="EE1003"))
def aclrtIpcMemImportPidInterServer(acl: Acl, key: Address, serverPids: Address, num: Size) -> None:
    """Let processes of other servers of a super-pod open a key; only forms of Ascend 910_93 are in one."""
    call = "aclrtIpcMemImportPidInterServer"
    driver, text = device_of(acl).shared, caller.text(key)
    for server, pids, count in server_pids(call, serverPids, num):
        driver.allow_server(text, server, list(caller.array(ctypes.c_int32, count, pids)))


def server_pids(call: str, address: int, count: int) -> list[tuple[int, int, int]]:
    """Read aclrtServerPid rows: (super-pod device id, address of process ids, how many); 107000 for a NULL address."""
    rows = [(server, pids, number) for server, pids, number in caller.rows(_SERVER_PIDS, count, address)]
    for at, (_, pids, _) in enumerate(rows):
        if not pids:
            need_rt(call, **{f"serverPids[{at}].pid": pids})
    caller.check_count(sum(number for _, _, number in rows))
    return rows


# -- processes and peers -------------------------------------------------------------------------------------------


@entry(null("pid"))
def aclrtDeviceGetBareTgid(acl: Acl, pid: Out[I32]) -> None:
    """Return this process's id as the driver knows it, outside of any container: what lists of processes take."""
    pid.value = ShareDriver(acl.runtime.hal, 0).bare_pid()


@entry(null("devPtr"), zero("size"), refuse("flags", "flags", "0", "EH0009"))
def aclrtMemP2PMap(acl: Acl, devPtr: Address, size: Size, dstDevId: I32, flags: U64) -> None:
    """Map memory for another device ahead of use; peer access must be enabled before."""
    call = "aclrtMemP2PMap"
    asked = size
    if not 0 <= dstDevId < acl.runtime.device_count:
        raise errors.fault("ACL_ERROR_RT_INVALID_DEVICEID", f"{call}: there is no device {dstDevId}")
    other = acl.runtime.visible.ids[acl.runtime.slot(dstDevId, call).index]
    device_of(acl).memory.map_for(devPtr, asked, other)
