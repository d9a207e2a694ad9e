"""Host memory that devices may use, by name (core_spec 13.4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.memory import device_of, need_size
from runtime.capi.aclrt.state import Acl
from runtime.driver.ipc import ShareDriver
from runtime.memory.registered import IO_MEMORY, MAPPED, READ_ONLY

_TYPES = IO_MEMORY | READ_ONLY
"""Bits of aclrtHostRegisterType; none of them: mapped."""


@entry(waits_for_snapshot=True)
def aclrtHostRegister(acl: Acl, ptr: int, size: int, type: int, devPtr: Out | None) -> None:
    """Let the device use host memory and return where it finds it: 0 mapped, 4 I/O memory, 8 read-only."""
    call = "aclrtHostRegister"
    if devPtr is not None:
        devPtr.value = None
    need(call, ptr=ptr, devPtr=devPtr)
    assert devPtr is not None
    asked = need_size(call, size)
    if (type or 0) & ~_TYPES:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: type {type} is not supported; 0, 4, 8 and 12 are",
            ee="EE1001", params=(f"{call}: type {type} is not supported",), hint="pass 0 to map the memory",
        )
    device = device_of(acl)
    made = acl.runtime.host_memory.renew(device.shared, device.chip, ptr, asked, (type or 0) | MAPPED)
    devPtr.value = made.device_address


@entry(waits_for_snapshot=True)
def aclrtHostRegisterV2(acl: Acl, ptr: int, size: int, flag: int) -> None:
    """Let the device use host memory; the flag is an OR of MAPPED 2, IOMEMORY 4, READONLY 8 and PINNED 2^28."""
    call = "aclrtHostRegisterV2"
    need(call, ptr=ptr)
    asked, device = need_size(call, size), device_of(acl)
    acl.runtime.host_memory.register(device.shared, device.chip, ptr, asked, flag or 0, call)


@entry(waits_for_snapshot=True)
def aclrtHostUnregister(acl: Acl, ptr: int) -> None:
    """Undo a registration, by the address that was registered."""
    need("aclrtHostUnregister", ptr=ptr)
    acl.runtime.host_memory.unregister(ptr, "aclrtHostUnregister")


@entry
def aclrtHostGetDevicePointer(acl: Acl, pHost: int, pDevice: Out | None, flag: int) -> None:
    """Return where the device finds registered host memory; `flag` is reserved and must be 0."""
    call = "aclrtHostGetDevicePointer"
    if pDevice is not None:
        pDevice.value = None
    need(call, pHost=pHost, pDevice=pDevice)
    assert pDevice is not None
    if flag:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag is {flag}, it must be 0", ee="EH0009",
            params=(call, flag, "flag", "it is reserved"), hint="pass 0",
        )
    pDevice.value = acl.runtime.host_memory.device_pointer(device_of(acl).shared, pHost, call)


@entry
def aclrtHostMemMapCapabilities(acl: Acl, deviceId: int, hacType: int, capabilities: Out | None) -> None:
    """Tell whether an engine reaches registered host memory: 1 yes, 0 no."""
    call = "aclrtHostMemMapCapabilities"
    need(call, capabilities=capabilities)
    assert capabilities is not None
    slot = acl.runtime.slot(deviceId or 0, call)
    driver = ShareDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index])
    capabilities.value = int(driver.reachable(hacType or 0))
