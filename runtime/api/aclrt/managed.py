"""Managed memory by name: allocated once, used by host and device (semantics_for_tests 1)."""

from __future__ import annotations

import ctypes
import struct

from runtime import errors
from runtime.api.aclrt.entry import Out, entry, need
from runtime.api.aclrt.memory import device_of, need_size
from runtime.api.aclrt.state import Acl
from runtime.api.aclrt.stream import own_stream_of
from runtime.driver.pools import ManagedDriver

_ATTACH_GLOBAL = 1
_ADVICE = range(6)
_LOCATION = struct.Struct("<iI")
"""aclrtMemManagedLocation: id, type."""
_ATTRIBUTES = range(1, 9)


def _driver(acl: Acl) -> ManagedDriver:
    device = device_of(acl)
    return ManagedDriver(device.hal, device.device_id)


def _location(location: int) -> tuple[int, int]:
    number, kind = _LOCATION.unpack(ctypes.string_at(location, _LOCATION.size))
    return kind, number


@entry(waits_for_snapshot=True)
def aclrtMemAllocManaged(acl: Acl, ptr: Out | None, size: int, flag: int) -> None:
    """Allocate memory that host and device share, in units of 2 MiB; aclrtFree frees it."""
    call = "aclrtMemAllocManaged"
    if ptr is not None:
        ptr.value = None
    need(call, ptr=ptr)
    assert ptr is not None
    asked = need_size(call, size)
    if flag != _ATTACH_GLOBAL:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; it must be 1", ee="EE1003",
            params=(call, flag, "flag", _ATTACH_GLOBAL), hint="pass ACL_RT_MEM_ATTACH_GLOBAL",
        )
    ptr.value = device_of(acl).allocator.managed(asked)


@entry(waits_for_snapshot=True)
def aclrtMemManagedAdvise(acl: Acl, ptr: int, size: int, advise: int, location: int) -> None:
    """Give a hint about a range of managed memory; `location` points to an aclrtMemManagedLocation."""
    call = "aclrtMemManagedAdvise"
    need(call, ptr=ptr, location=location)
    asked = need_size(call, size)
    if (advise or 0) not in _ADVICE:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: advise is {advise}; 0 to 5 exist", ee="EE1003",
            params=(call, advise, "advise", "[0, 5]"),
        )
    _driver(acl).advise(ptr, asked, advise or 0, *_location(location))


@entry(waits_for_snapshot=True)
def aclrtMemManagedPrefetchAsync(acl: Acl, ptr: int, size: int, location: int, flags: int, stream: int) -> None:
    """Move managed memory to a location when the stream gets there."""
    call = "aclrtMemManagedPrefetchAsync"
    need(call, ptr=ptr, location=location)
    asked, (kind, number) = need_size(call, size), _location(location)
    if flags:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags is {flags}; it must be 0", ee="EE1003",
            params=(call, flags, "flags", 0),
        )
    driver = _driver(acl)
    where = own_stream_of(acl, call, stream)

    def move(_data: int) -> int:
        driver.prefetch(ptr, asked, kind, number)
        return 0

    acl.runtime.callbacks.host_function(where, move, fails=True)


@entry
def aclrtMemManagedGetAttr(acl: Acl, attribute: int, ptr: int, size: int, data: int, dataSize: int) -> None:
    """Write one attribute of a range to `data`."""
    call = "aclrtMemManagedGetAttr"
    need(call, ptr=ptr, data=data)
    asked, room = need_size(call, size), need_size(call, dataSize, "dataSize")
    if attribute not in _ATTRIBUTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attribute is {attribute}; 1 to 8 exist", ee="EE1003",
            params=(call, attribute, "attribute", "[1, 8]"),
        )
    (value,) = _driver(acl).attributes(ptr, asked, [attribute], [room])
    ctypes.memmove(data, value, len(value))
