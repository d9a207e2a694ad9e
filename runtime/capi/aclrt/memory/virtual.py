"""Virtual memory by name (core_spec 13.11). Handles are the driver's; nothing is kept here."""

from __future__ import annotations

import struct

from npuhal import constants as c
from runtime import errors
from runtime.capi.aclrt.checks import null, null_rt, one_of, refuse, succeed, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import U32, U64, Address, Enum, Handle, Size
from runtime.capi.aclrt.layouts import PHYSICAL_PROPERTIES
from runtime.capi.aclrt.memory.allocation import device_of, virtual_driver
from runtime.capi.aclrt.state import Acl
from runtime.driver.memory import MemoryDriver
from runtime.driver.vmm import PhysicalKind
from runtime.memory import caller
from runtime.memory.information import attribute_of, physical_kind
from runtime.memory.virtual import map_again

_GRANT = struct.Struct("<III12x")
"""aclrtMemAccessDesc: flags, location id and type, 12 reserved bytes."""
_LOCATION = struct.Struct("<II")
"""aclrtMemLocation: id, type (0 host, 1 device)."""
_HOST, _DEVICE, _NUMA = 0, 1, 4
_HANDLE_NONE = 0
_LAST_LINK = 3


def _zero(call: str, **given: int | None) -> None:
    """Refuse what must be 0: 107000 with EE1003."""
    for name, value in given.items():
        if value:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; it must be 0", ee="EE1003",
                params=(call, value, name, 0), hint="pass 0",
            )


# -- addresses -----------------------------------------------------------------------------------------------------


@entry(null("virPtr"), zero("size"), one_of("flags", 0, 1), waits_for_snapshot=True)
def aclrtReserveMemAddress(
    acl: Acl, virPtr: Out[Address], size: Size, alignment: Size, expectPtr: Address, flags: U64
) -> None:
    """Reserve addresses, at `expectPtr` if that is not NULL; flag 1 for huge pages."""
    _reserve(acl, "aclrtReserveMemAddress", virPtr, size, alignment, expectPtr, flags)


@entry(
    null("virPtr"), zero("size"), refuse("flags not in (0, 1)", "flags", "0 or 1"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtReserveMemAddressNoUCMemory(
    acl: Acl, virPtr: Out[Address], size: Size, alignment: Size, expectPtr: Address, flags: U64
) -> None:
    """The same for memory that is never used past the cache."""
    _reserve(acl, "aclrtReserveMemAddressNoUCMemory", virPtr, size, alignment, expectPtr, flags)


def _reserve(
    acl: Acl, call: str, virPtr: Out[int], size: int, alignment: int, expectPtr: int, flags: int
) -> None:
    if alignment:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: alignment is {alignment}; it must be 0", hint="pass 0",
        )
    virPtr.value = virtual_driver(acl).reserve(size, expectPtr, flags)


@entry(null("virPtr"), waits_for_snapshot=True)
def aclrtReleaseMemAddress(acl: Acl, virPtr: Address) -> None:
    """Give reserved addresses back."""
    virtual_driver(acl).release(virPtr)


# -- physical memory -----------------------------------------------------------------------------------------------


_ATTRIBUTES = (
    refuse(
        "word_at(prop + 16) == 1 and word_at(prop + 8) in (2, 3, 6, 7)", "prop->memAttr", "HBM for a device",
        rule="memAttr is DDR, and location.type a device",
    ),
    refuse(
        "word_at(prop + 8) not in (2, 3, 4, 5, 6, 7, 10, 12, 13, 14, 15, 16, 17)", "prop->memAttr",
        "2 to 7, 10 or 12 to 17", "EH0009", rule="memAttr is no kind of physical memory",
    ),
)  # fmt: skip
"""What calls refuse of a kind of physical memory (aclrtPhysicalMemProp)."""


@entry(
    null("handle", "prop"), zero("size"), refuse("flags", "flags", "0", "EH0009"),
    refuse("word_at(prop)", "prop->handleType", "0 (none)"),
    refuse("word_at(prop + 4)", "prop->allocationType", "0 (pinned)"),
    refuse("word_at(prop + 16) in (2, 3)", "prop->location.type", "a host or a device", "EH0009"), *_ATTRIBUTES,
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMallocPhysical(acl: Acl, handle: Out[Handle], size: Size, prop: Address, flags: U64) -> None:
    """Make memory without an address; sizes are multiples of the granularity."""
    call = "aclrtMallocPhysical"
    kind = _kind(acl, call, prop)
    if kind.side == c.MEM_HOST_NUMA_SIDE:
        if not MemoryDriver(acl.runtime.hal, 0).supports("FEATURE_SVM_VMM_NORMAL_GRANULARITY"):
            text = f"{call}: the driver has no memory of a NUMA node of the host"
            raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", text, hint="use location.type 0, host memory")
        acl.runtime.current_context()
    handle.value = virtual_driver(acl).create(size, kind)


def _kind(acl: Acl, call: str, prop: int) -> PhysicalKind:
    _, _, attribute, number, side, _ = PHYSICAL_PROPERTIES.unpack(caller.read(prop, PHYSICAL_PROPERTIES.size))
    if side == _DEVICE:
        return physical_kind(attribute, acl.runtime.visible.ids[acl.runtime.slot(number, call).index], call)
    kind = physical_kind(attribute, 0, call)
    where = {_HOST: c.MEM_HOST_SIDE, _NUMA: c.MEM_HOST_NUMA_SIDE}.get(side, side)  # the driver refuses any other
    return PhysicalKind(where, number, kind.page, kind.memory)


@entry(null("handle"), waits_for_snapshot=True)
def aclrtFreePhysical(acl: Acl, handle: Handle) -> None:
    """Give a handle up; the memory goes with its last mapping."""
    virtual_driver(acl).destroy(handle)


@entry(null("prop", "granularity"), *_ATTRIBUTES)
def aclrtMemGetAllocationGranularity(acl: Acl, prop: Address, option: Enum, granularity: Out[Size]) -> None:
    """Return what sizes must be a multiple of: 0 at least, 1 as recommended."""
    kind = _kind(acl, "aclrtMemGetAllocationGranularity", prop)
    granularity.value = virtual_driver(acl).granularity(kind, option)


@entry(null("virPtr", "handle"))
def aclrtMemRetainAllocationHandle(acl: Acl, virPtr: Address, handle: Out[Handle]) -> None:
    """Return the handle behind a mapped address; it must be freed as well."""
    handle.value = virtual_driver(acl).retain(virPtr)


@entry(null("handle", "prop"))
def aclrtMemGetAllocationPropertiesFromHandle(acl: Acl, handle: Handle, prop: Address) -> None:
    """Write what the memory of a handle was made as."""
    kind = virtual_driver(acl).kind_of(handle)
    ids = acl.runtime.visible.ids
    number = ids.index(kind.owner) if kind.side == c.MEM_DEV_SIDE and kind.owner in ids else kind.owner
    data = PHYSICAL_PROPERTIES.pack(_HANDLE_NONE, 0, attribute_of(kind), number, int(kind.side == c.MEM_DEV_SIDE), 0)
    caller.write(prop, data, len(data))


# -- mappings ------------------------------------------------------------------------------------------------------


@entry(null("virPtr", "handle"), zero("size"), refuse("flags", "flags", "0"), waits_for_snapshot=True)
def aclrtMapMem(acl: Acl, virPtr: Address, size: Size, offset: Size, handle: Handle, flags: U64) -> None:
    """Map physical memory as a whole at reserved addresses."""
    call = "aclrtMapMem"
    _zero(call, offset=offset, flags=flags)
    virtual_driver(acl).map(virPtr, size, handle)


@entry(null("virPtr"), waits_for_snapshot=True)
def aclrtUnmapMem(acl: Acl, virPtr: Address) -> None:
    """Undo aclrtMapMem."""
    virtual_driver(acl).unmap(virPtr)


@entry(null_rt("virPtr", "desc"), succeed("not size or not count"))
def aclrtMemSetAccess(acl: Acl, virPtr: Address, size: Size, desc: Address, count: Size) -> None:
    """Let locations read and write a mapping (flags 3); other devices need this."""
    call = "aclrtMemSetAccess"
    grants = []
    for flags, number, kind in caller.rows(_GRANT, count, desc):
        if kind == _DEVICE:
            number = acl.runtime.visible.ids[acl.runtime.slot(number, call).index]
        grants.append((flags, c.MEM_DEV_SIDE if kind == _DEVICE else c.MEM_HOST_SIDE, number))
    virtual_driver(acl).set_access(virPtr, size, grants)


@entry(null("virPtr", "location", "flag"))
def aclrtMemGetAccess(acl: Acl, virPtr: Address, location: Address, flag: Out[U64]) -> None:
    """Return the access of a location to a mapping: 0 none, 1 read, 3 read and write."""
    number, kind = _LOCATION.unpack(caller.read(location, _LOCATION.size))
    ids = acl.runtime.visible.ids
    if kind == _DEVICE and number < len(ids):  # of another one the driver says what it is
        number = ids[number]
    flag.value = virtual_driver(acl).access(virPtr, c.MEM_DEV_SIDE if kind == _DEVICE else c.MEM_HOST_SIDE, number)


@entry(null("virPtr", "handle"), zero("size"), refuse("flags", "flags", "0"), waits_for_snapshot=True)
def aclrtMemMapNoAccess(acl: Acl, virPtr: Address, size: Size, offset: Size, handle: Handle, flags: U64) -> None:
    """Map without access; the headers of the drivers that are supported have no such function."""
    call = "aclrtMemMapNoAccess"
    _zero(call, flags=flags)
    raise errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the driver maps memory with access for its own device only",
        hint="use aclrtMapMem; other devices need aclrtMemSetAccess",
    )


# -- links ---------------------------------------------------------------------------------------------------------


@entry(null("handle"), waits_for_snapshot=True)
def aclrtMemMapSetLink(acl: Acl, handle: Handle, adviceLink: Enum) -> None:
    """Choose over which link later mappings of a handle go: 0 SIO, 1 HCCS, 2 and 3 UB."""
    call = "aclrtMemMapSetLink"
    if not 0 <= adviceLink <= _LAST_LINK:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: adviceLink is {adviceLink}; 0 to {_LAST_LINK} exist", ee="EE1003",
            params=(call, adviceLink, "adviceLink", f"[0, {_LAST_LINK}]"),
        )
    virtual_driver(acl).set_link(handle, adviceLink)


@entry(
    null("virPtrDst", "virPtrSrc"), zero("size", message="EH0001"),
    refuse("linkIdx > 1", "linkIdx", "at most 1", "EH0001"),
)  # fmt: skip
def aclrtMemMapSelectedLink(acl: Acl, virPtrDst: Address, size: Size, virPtrSrc: Address, linkIdx: U32) -> None:
    """Map memory that is mapped at `virPtrSrc` at `virPtrDst` as well, over SIO (0) or HCCS (1)."""
    call = "aclrtMemMapSelectedLink"
    if not 0 <= linkIdx <= 1:
        raise _refused(call, "linkIdx", linkIdx, "0 and 1 exist")
    map_again(virtual_driver(acl), device_of(acl).memory, virPtrDst, size, virPtrSrc, linkIdx)


def _refused(call: str, name: str, value: int, why: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {value}: {why}", ee="EH0001", params=(name, value, why),
    )
