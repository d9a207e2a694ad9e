"""Handles of physical memory that other processes import, by name (core_spec 13.11).

A server-wide handle is a number; a fabric handle is a block of 128 bytes that other servers understand as well.
"""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.api.memory import DeviceMemory
from runtime.capi.aclrt.checks import context, null, one_of, refuse, visible, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U64, Address, Enum, Handle, Size
from runtime.capi.aclrt.memory.allocation import device_of, virtual_driver
from runtime.capi.aclrt.state import Acl
from runtime.driver.p2p import PeerDriver
from runtime.driver.vmm import VirtualDriver
from runtime.memory import caller

_ANYBODY = 0x1
"""Export flag: no list of processes."""
_SERVER, _FABRIC = 1, 2
"""aclrtMemSharedHandleType."""
_FABRIC_BYTES = 128
"""aclrtMemFabricHandle."""


# -- numbers -------------------------------------------------------------------------------------------------------


@entry(
    null("handle"), refuse("handleType", "handleType", "0"), null("shareableHandle"),
    refuse("flags > 1", "flags", "at most 1", "EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemExportToShareableHandle(
    acl: Acl, handle: Handle, handleType: Enum, flags: U64, shareableHandle: Out[U64]
) -> None:
    """Return the number under which other processes import a handle; flag 1 needs no list of them."""
    call = "aclrtMemExportToShareableHandle"
    shareableHandle.value = virtual_driver(acl).export(handle, anybody=_check_flags(call, flags))


@entry(null("handle"), visible("deviceId"), waits_for_snapshot=True)
def aclrtMemImportFromShareableHandle(acl: Acl, shareableHandle: U64, deviceId: I32, handle: Out[Handle]) -> None:
    """Return a handle of memory that another process has exported, for one device."""
    call = "aclrtMemImportFromShareableHandle"
    slot = acl.runtime.slot(deviceId, call)
    if slot.device is None:
        text = f"{call}: device {deviceId} is not set"
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", text, ee="EE1001", params=(text,), hint="set it first")
    driver = VirtualDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index], acl.runtime.virtual_memory)
    exporter = driver.exporter(shareableHandle)
    if exporter is not None:
        _reach(device_of(acl), exporter)
    handle.value = driver.import_(shareableHandle)


@entry(null("pid"), zero("pidNum"), waits_for_snapshot=True)
def aclrtMemSetPidToShareableHandle(acl: Acl, shareableHandle: U64, pid: Address, pidNum: Size) -> None:
    """Let processes import a shared handle; pids are bare tgids."""
    count = pidNum
    virtual_driver(acl).allow(shareableHandle, list(caller.array(ctypes.c_int32, count, pid)))


def _check_flags(call: str, flags: int) -> bool:
    """Return whether an export is open to everybody; other flags are 107000 with EE1003."""
    if flags & ~_ANYBODY:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags is {flags}; 0 and 1 exist", ee="EE1003",
            params=(call, flags, "flags", "0 or 1"),
        )
    return bool(flags)


def _reach(device: DeviceMemory, exporter: int | None) -> None:
    """Let the device reach the one whose memory it imports."""
    if exporter is not None:
        PeerDriver(device.hal, device.device_id).reach(exporter, own=device.driver.info.physical_id())


# -- numbers or fabric handles -------------------------------------------------------------------------------------


@entry(
    null("handle", "shareableHandle"), refuse("shareType not in (1, 2)", "shareType", "1 or 2", "EE1003"),
    refuse("flags > 1", "flags", "at most 1", "EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemExportToShareableHandleV2(
    acl: Acl, handle: Handle, flags: U64, shareType: Enum, shareableHandle: Address
) -> None:
    """Write a handle's number (shareType 1, 8 bytes) or fabric handle (2, 128 bytes) to `shareableHandle`."""
    call = "aclrtMemExportToShareableHandleV2"
    fabric, anybody = _is_fabric(call, shareType), _check_flags(call, flags)
    driver = virtual_driver(acl)
    if fabric:
        block = driver.export_fabric(handle, anybody=anybody)
    else:
        block = driver.export(handle, anybody=anybody).to_bytes(8, "little")
    caller.write(shareableHandle, block, len(block))


@entry(
    null("shareableHandle", "handle"), refuse("flags", "flags", "0", "EH0009"), context(message=""),
    one_of("shareType", 1, 2, message="EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemImportFromShareableHandleV2(
    acl: Acl, shareableHandle: Address, shareType: Enum, flags: U64, handle: Out[Handle]
) -> None:
    """Return a handle of memory that another process has exported, for the thread's device."""
    call = "aclrtMemImportFromShareableHandleV2"
    device, fabric = device_of(acl), _is_fabric(call, shareType)
    driver, block = device.virtual, _block(shareableHandle, fabric)
    _, number = driver.fabric_number(block) if fabric else (0, int.from_bytes(block, "little"))
    _reach(device, driver.exporter(number))
    handle.value = driver.import_fabric(block) if fabric else driver.import_(number)


@entry(
    null("shareableHandle", "pid"), zero("pidNum"),
    refuse("shareType not in (1, 2)", "shareType", "1 or 2", "EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemSetPidToShareableHandleV2(
    acl: Acl, shareableHandle: Address, shareType: Enum, pid: Address, pidNum: Size
) -> None:
    """Let processes import a shared handle of either kind; pids are bare tgids."""
    call = "aclrtMemSetPidToShareableHandleV2"
    count = pidNum
    fabric, driver = _is_fabric(call, shareType), virtual_driver(acl)
    block = _block(shareableHandle, fabric)
    number = driver.fabric_number(block)[1] if fabric else int.from_bytes(block, "little")
    driver.allow(number, list(caller.array(ctypes.c_int32, count, pid)))


def _is_fabric(call: str, kind: int) -> bool:
    if kind not in (_SERVER, _FABRIC):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: shareType is {kind}; 1 (server) and 2 (fabric) exist", ee="EE1003",
            params=(call, kind, "shareType", "1 or 2"),
        )
    return kind == _FABRIC


def _block(address: int, fabric: bool) -> bytes:
    return caller.read(address, _FABRIC_BYTES if fabric else 8)
