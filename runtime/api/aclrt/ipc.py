"""Memory shared between processes under a key, by name (core_spec 13.12)."""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.api.aclrt.entry import Out, entry, need
from runtime.api.aclrt.memory import device_of
from runtime.api.aclrt.state import Acl
from runtime.core.device import Device
from runtime.driver.peers import PeerDriver
from runtime.driver.sharing import ShareDriver
from runtime.memory import ipc

_ACCESS_LINK = 0
"""aclrtIpcMemAttrType: over which link accesses go."""


def _key(key: int | str | bytes) -> bytes:
    """Return a key that was given as an address, or as text."""
    if isinstance(key, int):
        return ctypes.string_at(key)
    return key.encode() if isinstance(key, str) else key


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )


@entry(waits_for_snapshot=True)
def aclrtIpcMemGetExportKey(acl: Acl, devPtr: int, size: int, key: int, len: int, flags: int) -> None:
    """Write a key for device memory to `key`, which has room for `len` bytes (65); flag 1: open to all processes."""
    call = "aclrtIpcMemGetExportKey"
    need(call, devPtr=devPtr, key=key)
    made = ipc.export(device_of(acl).shared, devPtr, size or 0, len or 0, flags or 0, call)
    closed = made + b"\0"
    ctypes.memmove(key, closed, memoryview(closed).nbytes)


@entry(waits_for_snapshot=True)
def aclrtIpcMemClose(acl: Acl, key: int) -> None:
    """Close a key: in an importing process what it has open, in the exporting one the key itself."""
    call = "aclrtIpcMemClose"
    need(call, key=key)
    text, table, driver = _key(key), acl.runtime.open_keys, device_of(acl).shared
    opened = table.addresses(text)
    if opened:
        for address in opened:
            table.close(driver, address)
    else:
        driver.forget(text)


@entry(waits_for_snapshot=True)
def aclrtIpcMemImportByKey(acl: Acl, devPtr: Out | None, key: int, flags: int) -> None:
    """Map the memory behind a key; flag 1 lets the device reach the exporting one first."""
    call = "aclrtIpcMemImportByKey"
    if devPtr is not None:
        devPtr.value = None
    need(call, devPtr=devPtr, key=key)
    assert devPtr is not None
    if (flags or 0) & ~ipc.ENABLE_PEER:
        raise _out_of_range(call, flags, "flags", "0 or 1")
    device, text = device_of(acl), _key(key)
    if flags:
        _reach(device, device.shared, text)
    devPtr.value = acl.runtime.open_keys.open(device.shared, text)


def _reach(device: Device, driver: ShareDriver, key: bytes) -> None:
    peers, exporter = PeerDriver(device.hal, device.device_id), driver.exporter(key)
    if exporter != device.driver.info.physical_id() and not peers.enabled(exporter):
        peers.enable(exporter)


@entry(waits_for_snapshot=True)
def aclrtIpcMemSetImportPid(acl: Acl, key: int, pid: int, num: int) -> None:
    """Let processes open a key; pids are bare tgids (aclrtDeviceGetBareTgid)."""
    call = "aclrtIpcMemSetImportPid"
    need(call, key=key, pid=pid)
    pids = list((ctypes.c_int32 * max(num or 0, 0)).from_address(pid))
    ipc.allow(device_of(acl).shared, _key(key), pids, call)


@entry(waits_for_snapshot=True)
def aclrtIpcMemSetAttr(acl: Acl, key: int, type: int, attr: int) -> None:
    """Choose the link of accesses to a key (type 0): 0 SIO, 1 HCCS, 2 and 3 UB."""
    call = "aclrtIpcMemSetAttr"
    need(call, key=key)
    if (type or 0) != _ACCESS_LINK:
        raise _out_of_range(call, type, "type", "0")
    acl.runtime.open_keys.set_attribute(device_of(acl).shared, _key(key), attr or 0)
