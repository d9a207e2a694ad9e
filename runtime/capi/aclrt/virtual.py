"""Virtual memory by name (core_spec 13.11). Handles are the driver's; nothing is kept here."""

from __future__ import annotations

import ctypes
import struct

from npuhal import constants as c
from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need, need_rt
from runtime.capi.aclrt.layouts import PHYSICAL_PROPERTIES
from runtime.capi.aclrt.memory import device_of, need_size
from runtime.capi.aclrt.state import Acl
from runtime.driver.vmm import PhysicalKind, VirtualDriver
from runtime.memory.information import attribute_of, physical_kind
from runtime.memory.virtual import map_again

_GRANT = struct.Struct("<III12x")
"""aclrtMemAccessDesc: flags, location id and type, 12 reserved bytes."""
_LOCATION = struct.Struct("<II")
"""aclrtMemLocation: id, type (0 host, 1 device)."""
_HOST, _DEVICE = 0, 1
_HANDLE_NONE = 0
_LAST_LINK = 3


def _driver(acl: Acl) -> VirtualDriver:
    return device_of(acl).virtual


def _zero(call: str, **given: int | None) -> None:
    """Refuse what must be 0: 107000 with EE1003."""
    for name, value in given.items():
        if value:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; it must be 0", ee="EE1003",
                params=(call, value, name, 0), hint="pass 0",
            )


# -- addresses -----------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtReserveMemAddress(
    acl: Acl, virPtr: Out | None, size: int, alignment: int, expectPtr: int, flags: int
) -> None:
    """Reserve addresses, at `expectPtr` if that is not NULL; flag 1 for huge pages."""
    _reserve(acl, "aclrtReserveMemAddress", virPtr, size, alignment, expectPtr, flags)


@entry(waits_for_snapshot=True)
def aclrtReserveMemAddressNoUCMemory(
    acl: Acl, virPtr: Out | None, size: int, alignment: int, expectPtr: int, flags: int
) -> None:
    """The same for memory that is never used past the cache; the address must be given."""
    need("aclrtReserveMemAddressNoUCMemory", expectPtr=expectPtr)
    _reserve(acl, "aclrtReserveMemAddressNoUCMemory", virPtr, size, alignment, expectPtr, flags)


def _reserve(
    acl: Acl, call: str, virPtr: Out | None, size: int, alignment: int, expectPtr: int, flags: int
) -> None:
    if virPtr is not None:
        virPtr.value = None
    need(call, virPtr=virPtr)
    assert virPtr is not None
    asked = need_size(call, size)
    _zero(call, alignment=alignment)
    if (flags or 0) & ~1:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags is {flags}; 0 and 1 exist", ee="EE1003",
            params=(call, flags, "flags", "0 or 1"), hint="pass 1 for huge pages",
        )
    virPtr.value = _driver(acl).reserve(asked, expectPtr or 0, flags or 0)


@entry(waits_for_snapshot=True)
def aclrtReleaseMemAddress(acl: Acl, virPtr: int) -> None:
    """Give reserved addresses back."""
    need("aclrtReleaseMemAddress", virPtr=virPtr)
    _driver(acl).release(virPtr)


# -- physical memory -----------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtMallocPhysical(acl: Acl, handle: Out | None, size: int, prop: int, flags: int) -> None:
    """Make memory without an address; sizes are multiples of the granularity."""
    call = "aclrtMallocPhysical"
    if handle is not None:
        handle.value = None
    need(call, handle=handle, prop=prop)
    assert handle is not None
    asked = need_size(call, size)
    _zero(call, flags=flags)
    handle.value = _driver(acl).create(asked, _kind(acl, call, prop))


def _kind(acl: Acl, call: str, prop: int) -> PhysicalKind:
    handle, allocation, attribute, number, side, reserve = PHYSICAL_PROPERTIES.unpack(
        ctypes.string_at(prop, PHYSICAL_PROPERTIES.size)
    )
    _zero(call, handleType=handle, allocationType=allocation, reserve=reserve)
    if side == _DEVICE:
        return physical_kind(attribute, acl.runtime.visible.ids[acl.runtime.slot(number, call).index], call)
    kind = physical_kind(attribute, 0, call)
    return PhysicalKind(c.MEM_HOST_SIDE if side == _HOST else c.MEM_HOST_NUMA_SIDE, number, kind.page, kind.memory)


@entry(waits_for_snapshot=True)
def aclrtFreePhysical(acl: Acl, handle: int) -> None:
    """Give a handle up; the memory goes with its last mapping."""
    need("aclrtFreePhysical", handle=handle)
    _driver(acl).destroy(handle)


@entry
def aclrtMemGetAllocationGranularity(acl: Acl, prop: int, option: int, granularity: Out | None) -> None:
    """Return what sizes must be a multiple of: 0 at least, 1 as recommended."""
    call = "aclrtMemGetAllocationGranularity"
    need(call, prop=prop, granularity=granularity)
    assert granularity is not None
    if (option or 0) not in (0, 1):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: option is {option}; 0 and 1 exist", ee="EE1003",
            params=(call, option, "option", "0 or 1"),
        )
    granularity.value = _driver(acl).granularity(_kind(acl, call, prop), recommended=bool(option))


@entry(waits_for_snapshot=True)
def aclrtMemRetainAllocationHandle(acl: Acl, virPtr: int, handle: Out | None) -> None:
    """Return the handle behind a mapped address; it must be freed as well."""
    call = "aclrtMemRetainAllocationHandle"
    if handle is not None:
        handle.value = None
    need(call, virPtr=virPtr, handle=handle)
    assert handle is not None
    handle.value = _driver(acl).retain(virPtr)


@entry
def aclrtMemGetAllocationPropertiesFromHandle(acl: Acl, handle: int, prop: int) -> None:
    """Write what the memory of a handle was made as."""
    call = "aclrtMemGetAllocationPropertiesFromHandle"
    need(call, handle=handle, prop=prop)
    kind = _driver(acl).kind_of(handle)
    ids = acl.runtime.visible.ids
    number = ids.index(kind.owner) if kind.side == c.MEM_DEV_SIDE and kind.owner in ids else kind.owner
    data = PHYSICAL_PROPERTIES.pack(_HANDLE_NONE, 0, attribute_of(kind), number, int(kind.side == c.MEM_DEV_SIDE), 0)
    ctypes.memmove(prop, data, len(data))


# -- mappings ------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtMapMem(acl: Acl, virPtr: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Map physical memory as a whole at reserved addresses."""
    call = "aclrtMapMem"
    need(call, virPtr=virPtr, handle=handle)
    _zero(call, offset=offset, flags=flags)
    _driver(acl).map(virPtr, need_size(call, size), handle)


@entry(waits_for_snapshot=True)
def aclrtUnmapMem(acl: Acl, virPtr: int) -> None:
    """Undo aclrtMapMem."""
    need("aclrtUnmapMem", virPtr=virPtr)
    _driver(acl).unmap(virPtr)


@entry(waits_for_snapshot=True)
def aclrtMemSetAccess(acl: Acl, virPtr: int, size: int, desc: int, count: int) -> None:
    """Let locations read and write a mapping (flags 3); other devices need this."""
    call = "aclrtMemSetAccess"
    need_rt(call, virPtr=virPtr, desc=desc)
    if not size or not count:
        return
    grants = []
    for flags, number, kind in _GRANT.iter_unpack(ctypes.string_at(desc, _GRANT.size * count)):
        if kind == _DEVICE:
            number = acl.runtime.visible.ids[acl.runtime.slot(number, call).index]
        grants.append((flags, c.MEM_DEV_SIDE if kind == _DEVICE else c.MEM_HOST_SIDE, number))
    _driver(acl).set_access(virPtr, size, grants)


@entry
def aclrtMemGetAccess(acl: Acl, virPtr: int, location: int, flag: Out | None) -> None:
    """Return the access of a location to a mapping: 0 none, 1 read, 3 read and write."""
    call = "aclrtMemGetAccess"
    need_rt(call, virPtr=virPtr, location=location, flag=flag)
    assert flag is not None
    number, kind = _LOCATION.unpack(ctypes.string_at(location, _LOCATION.size))
    if kind == _DEVICE:
        number = acl.runtime.visible.ids[acl.runtime.slot(number, call).index]
    flag.value = _driver(acl).access(virPtr, c.MEM_DEV_SIDE if kind == _DEVICE else c.MEM_HOST_SIDE, number)


@entry(waits_for_snapshot=True)
def aclrtMemMapNoAccess(acl: Acl, virPtr: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Map without access; the headers of the drivers that are supported have no such function."""
    call = "aclrtMemMapNoAccess"
    need(call, virPtr=virPtr, handle=handle)
    need_size(call, size)
    _zero(call, flags=flags)
    raise errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the driver maps memory with access for its own device only",
        hint="use aclrtMapMem; other devices need aclrtMemSetAccess",
    )


# -- links ---------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtMemMapSetLink(acl: Acl, handle: int, adviceLink: int) -> None:
    """Choose over which link later mappings of a handle go: 0 SIO, 1 HCCS, 2 and 3 UB."""
    call = "aclrtMemMapSetLink"
    need(call, handle=handle)
    if not 0 <= (adviceLink or 0) <= _LAST_LINK:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: adviceLink is {adviceLink}; 0 to {_LAST_LINK} exist", ee="EE1003",
            params=(call, adviceLink, "adviceLink", f"[0, {_LAST_LINK}]"),
        )
    _driver(acl).set_link(handle, adviceLink or 0)


@entry(waits_for_snapshot=True)
def aclrtMemMapSelectedLink(acl: Acl, virPtrDst: int, size: int, virPtrSrc: int, linkIdx: int) -> None:
    """Map memory that is mapped at `virPtrSrc` at `virPtrDst` as well, over SIO (0) or HCCS (1)."""
    call = "aclrtMemMapSelectedLink"
    need(call, virPtrDst=virPtrDst, virPtrSrc=virPtrSrc)
    if not size:
        raise _refused(call, "size", 0, "more than 0 is needed")
    if not 0 <= (linkIdx or 0) <= 1:
        raise _refused(call, "linkIdx", linkIdx, "0 and 1 exist")
    map_again(_driver(acl), device_of(acl).memory, virPtrDst, size, virPtrSrc, linkIdx or 0)


def _refused(call: str, name: str, value: int, why: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {value}: {why}", ee="EH0001", params=(name, value, why),
    )
