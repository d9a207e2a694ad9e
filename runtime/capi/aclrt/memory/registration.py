"""Host memory that devices may use, by name (core_spec 13.4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import U32, U64, Address, Enum
from runtime.capi.aclrt.memory.allocation import device_of, need_size
from runtime.capi.aclrt.state import Acl
from runtime.driver.ipc import ShareDriver
from runtime.memory.registered import IO_MEMORY, MAPPED, READ_ONLY

_TYPES = IO_MEMORY | READ_ONLY
"""Bits of aclrtHostRegisterType; none of them: mapped."""


@entry(null("ptr", "devPtr"), waits_for_snapshot=True)
def aclrtHostRegister(acl: Acl, ptr: Address, size: U64, type: Enum, devPtr: Out[Address]) -> None:
    """Let the device use host memory and return where it finds it: 0 mapped, 4 I/O memory, 8 read-only."""
    call = "aclrtHostRegister"
    asked = need_size(call, size)
    if type & ~_TYPES:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: type {type} is not supported; 0, 4, 8 and 12 are",
            ee="EE1001", params=(f"{call}: type {type} is not supported",), hint="pass 0 to map the memory",
        )
    device = device_of(acl)
    made = acl.runtime.host_memory.renew(device.shared, device.chip, ptr, asked, type | MAPPED)
    devPtr.value = made.device_address


@entry(null("ptr"), waits_for_snapshot=True)
def aclrtHostRegisterV2(acl: Acl, ptr: Address, size: U64, flag: U32) -> None:
    """Let the device use host memory; the flag is an OR of MAPPED 2, IOMEMORY 4, READONLY 8 and PINNED 2^28."""
    call = "aclrtHostRegisterV2"
    asked, device = need_size(call, size), device_of(acl)
    acl.runtime.host_memory.register(device.shared, device.chip, ptr, asked, flag, call)


@entry(null("ptr"), waits_for_snapshot=True)
def aclrtHostUnregister(acl: Acl, ptr: Address) -> None:
    """Undo a registration, by the address that was registered."""
    acl.runtime.host_memory.unregister(ptr, "aclrtHostUnregister")


@entry(null("pHost", "pDevice"))
def aclrtHostGetDevicePointer(acl: Acl, pHost: Address, pDevice: Out[Address], flag: U32) -> None:
    """Return where the device finds registered host memory; `flag` is reserved and must be 0."""
    call = "aclrtHostGetDevicePointer"
    if flag:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag is {flag}, it must be 0", ee="EH0009",
            params=(call, flag, "flag", "it is reserved"), hint="pass 0",
        )
    pDevice.value = acl.runtime.host_memory.device_pointer(device_of(acl).shared, pHost, call)


@entry(null("capabilities"))
def aclrtHostMemMapCapabilities(acl: Acl, deviceId: U32, hacType: Enum, capabilities: Out[Enum]) -> None:
    """Tell whether an engine reaches registered host memory: 1 yes, 0 no."""
    call = "aclrtHostMemMapCapabilities"
    slot = acl.runtime.slot(deviceId, call)
    driver = ShareDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index])
    capabilities.value = int(driver.reachable(hacType))
