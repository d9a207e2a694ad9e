"""Host memory that devices may use, by name (core_spec 13.4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, null, refuse, visible, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import U32, U64, Address, Enum
from runtime.capi.aclrt.memory.allocation import device_of
from runtime.capi.aclrt.state import Acl
from runtime.driver.ipc import ShareDriver
from runtime.memory.registered import IO_MEMORY, MAPPED, READ_ONLY

_TYPES = IO_MEMORY | READ_ONLY
"""Bits of aclrtHostRegisterType; none of them: mapped."""


@entry(
    null("ptr", "devPtr"), zero("size"), refuse("type & ~12", "type", "an OR of 4 and 8", "EE1001", code=207000),
    context(message="EE1001"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtHostRegister(acl: Acl, ptr: Address, size: U64, type: Enum, devPtr: Out[Address]) -> None:
    """Let the device use host memory and return where it finds it: 0 mapped, 4 I/O memory, 8 read-only."""
    call = "aclrtHostRegister"
    asked = size
    if type & ~_TYPES:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: type {type} is not supported; 0, 4, 8 and 12 are",
            ee="EE1001", params=(f"{call}: type {type} is not supported",), hint="pass 0 to map the memory",
        )
    device = device_of(acl)
    made = acl.runtime.host_memory.renew(device.shared, device.chip, ptr, asked, type | MAPPED)
    devPtr.value = made.device_address


@entry(
    null("ptr"), zero("size"),
    refuse("not flag & 0x1000000E or flag & ~0x1000000E", "flag", "an OR of 2, 4, 8 and 0x10000000", "EE1011"),
    context(message="EE1001"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtHostRegisterV2(acl: Acl, ptr: Address, size: U64, flag: U32) -> None:
    """Let the device use host memory; the flag is an OR of MAPPED 2, IOMEMORY 4, READONLY 8 and PINNED 2^28."""
    call = "aclrtHostRegisterV2"
    asked, device = size, device_of(acl)
    acl.runtime.host_memory.register(device.shared, device.chip, ptr, asked, flag, call)


@entry(null("ptr"), context(message="EE1001"), waits_for_snapshot=True)
def aclrtHostUnregister(acl: Acl, ptr: Address) -> None:
    """Undo a registration, by the address that was registered."""
    acl.runtime.host_memory.unregister(ptr, "aclrtHostUnregister")


@entry(null("pHost", "pDevice"), refuse("flag", "flag", "0", "EH0009"), context(), waits_for_snapshot=True)
def aclrtHostGetDevicePointer(acl: Acl, pHost: Address, pDevice: Out[Address], flag: U32) -> None:
    """Return where the device finds registered host memory; `flag` is reserved and must be 0."""
    call = "aclrtHostGetDevicePointer"
    pDevice.value = acl.runtime.host_memory.device_pointer(device_of(acl).shared, pHost, call)


@entry(
    null("capabilities"), visible("deviceId"), refuse("hacType > 9", "hacType", "[0, 9]", "EE1003"),
    context(message="EE1001"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtHostMemMapCapabilities(acl: Acl, deviceId: U32, hacType: Enum, capabilities: Out[Enum]) -> None:
    """Tell whether an engine reaches registered host memory: 1 yes, 0 no."""
    call = "aclrtHostMemMapCapabilities"
    slot = acl.runtime.slot(deviceId, call)
    driver = ShareDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index])
    capabilities.value = int(driver.reachable(hacType))
