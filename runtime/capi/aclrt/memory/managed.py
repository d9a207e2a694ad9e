"""Managed memory by name: allocated once, used by host and device (semantics_for_tests 1)."""

from __future__ import annotations

import ctypes
import struct
from itertools import pairwise

from runtime import errors
from runtime.capi.aclrt.checks import context, live, null, refuse, zero
from runtime.capi.aclrt.entry import Out, entry, need_rt, own_stream_of
from runtime.capi.aclrt.kinds import U32, U64, Address, Enum, Handle, ManagedLocation, Size
from runtime.capi.aclrt.memory.allocation import device_of
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.driver.pools import ManagedDriver
from runtime.memory import caller

_ATTACH_GLOBAL = 1
_DEVICE = 1
"""aclrtMemManagedLocationType of a device."""
_LOCATION = struct.Struct("<Ii")
"""aclrtMemManagedLocation: type, id."""
_ATTRIBUTES = range(1, 9)


def _driver(acl: Acl) -> ManagedDriver:
    device = device_of(acl)
    return ManagedDriver(device.hal, device.device_id)


def _location(location: int) -> tuple[int, int]:
    kind, number = _LOCATION.unpack(caller.read(location, _LOCATION.size))
    return kind, number


@entry(
    null("ptr"), refuse("flag != 1", "flag", "1"), zero("size", message="EE1003"), context(), waits_for_snapshot=True,
)
def aclrtMemAllocManaged(acl: Acl, ptr: Out[Address], size: U64, flag: U32) -> None:
    """Allocate memory that host and device share, in units of 2 MiB; aclrtFree frees it."""
    call = "aclrtMemAllocManaged"
    asked = size
    if flag != _ATTACH_GLOBAL:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; it must be 1", ee="EE1003",
            params=(call, flag, "flag", _ATTACH_GLOBAL), hint="pass ACL_RT_MEM_ATTACH_GLOBAL",
        )
    ptr.value = device_of(acl).allocator.managed(asked)


_EXISTS = refuse(
    "is_no_location(acl, location)", "location", "a device that exists", "EE1003",
    rule="location is a device that does not exist",
)  # fmt: skip


@entry(
    null("ptr"), zero("size"), null("location"), refuse("not 0 <= advise <= 5", "advise", "[0, 5]", "EE1003"), _EXISTS,
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemManagedAdvise(acl: Acl, ptr: Address, size: U64, advise: Enum, location: ManagedLocation) -> None:
    """Give a hint about a range of managed memory; `location` points to an aclrtMemManagedLocation."""
    _driver(acl).advise(ptr, size, advise, *_location(location))


@entry(
    null("ptr"), zero("size"), refuse("flags", "flags", "0", "EH0009"), live("stream", Stream), null("location"),
    context("not stream", code=507000), _EXISTS,
    passes_snapshot=True,
)  # fmt: skip
def aclrtMemManagedPrefetchAsync(
    acl: Acl, ptr: Address, size: Size, location: ManagedLocation, flags: U32, stream: Handle
) -> None:
    """Move managed memory to a location when the stream gets there."""
    call = "aclrtMemManagedPrefetchAsync"
    asked, (kind, number) = size, _location(location)
    driver = _driver(acl)
    where = own_stream_of(acl, call, stream)

    def move(_data: int) -> int:
        driver.prefetch(ptr, asked, kind, number)
        return 0

    acl.runtime.callbacks.host_function(where, move, fails=True)


@entry(
    null("ptrs", "sizes", "prefetchLocs", "prefetchLocIdxs"), zero("count", "numPrefetchLocs"),
    refuse("flags", "flags", "0", "EH0009"),
    refuse("count < numPrefetchLocs", "count", "at least numPrefetchLocs", "EH0009"), live("stream", Stream),
)  # fmt: skip
def aclrtMemManagedPrefetchBatchAsync(
    acl: Acl, ptrs: Address, sizes: Address, count: Size, prefetchLocs: Address, prefetchLocIdxs: Address,
    numPrefetchLocs: Size, flags: U64, stream: Handle,
) -> None:
    """Move many ranges: location k is for the ranges from number `prefetchLocIdxs[k]` on."""
    call = "aclrtMemManagedPrefetchBatchAsync"
    if count < numPrefetchLocs:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: {numPrefetchLocs} locations for {count} ranges", ee="EH0009",
            params=(call, count, "count", f"there are {numPrefetchLocs} locations"), hint="one location per run",
        )
    ranges = list(zip(_words(ptrs, count), _words(sizes, count), strict=True))
    starts = _words(prefetchLocIdxs, numPrefetchLocs)
    locations = [_location(prefetchLocs + number * _LOCATION.size) for number in range(numPrefetchLocs)]
    _check_runs(call, ranges, starts)
    for kind, number in locations:
        if kind == _DEVICE and not 0 <= number < acl.runtime.device_count:
            raise _EXISTS.fault(call, number)
    driver, where = _driver(acl), own_stream_of(acl, call, stream)

    def move(_data: int) -> int:
        driver.prefetch_many(ranges, locations, starts)
        return 0

    acl.runtime.callbacks.host_function(where, move, fails=True)


def _check_runs(call: str, ranges: list[tuple[int, int]], starts: list[int]) -> None:
    """Refuse NULL ranges (EE1004), and runs that do not begin at 0 (EE1003) and rise (EE1017)."""
    for number, (address, _) in enumerate(ranges):
        need_rt(call, **{f"ptrs[{number}]": address})
    if starts[0]:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: prefetchLocIdxs[0] is {starts[0]}; it must be 0", ee="EE1003",
            params=(call, starts[0], "prefetchLocIdxs[0]", 0),
        )
    for number, (earlier, later) in enumerate(pairwise(starts), 1):
        if not earlier < later < len(ranges):
            why = f"{later} is not between {earlier} and {len(ranges)}"
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: prefetchLocIdxs[{number}]: {why}", ee="EE1017",
                params=(call, f"prefetchLocIdxs[{number}]", why), hint="runs of ranges rise from 0",
            )


def _words(address: int, count: int) -> list[int]:
    return list(caller.array(ctypes.c_uint64, count, address))


@entry(null("ptr", "data"), zero("size"))
def aclrtMemManagedGetAttr(acl: Acl, attribute: Enum, ptr: Address, size: Size, data: Address, dataSize: Size) -> None:
    """Write one attribute of a range to `data`."""
    call = "aclrtMemManagedGetAttr"
    _need_attribute(call, attribute)
    caller.view(ctypes.c_char, dataSize, data)
    (value,) = _driver(acl).attributes(ptr, size, [attribute], [dataSize])
    caller.write(data, value, len(value))


@entry(null("ptr", "attributes", "data", "dataSizes"), zero("size"))
def aclrtMemManagedGetAttrs(
    acl: Acl, attributes: Address, numAttributes: Size, ptr: Address, size: Size, data: Address, dataSizes: Address
) -> None:
    """Write several attributes of a range: number k to the address `data[k]`, which has `dataSizes[k]`."""
    call = "aclrtMemManagedGetAttrs"
    asked, count = size, numAttributes
    kinds = list(caller.array(ctypes.c_uint32, count, attributes))
    for kind in kinds:
        _need_attribute(call, kind)
    if kinds:
        values = _driver(acl).attributes(ptr, asked, kinds, _words(dataSizes, count))
        for where, value in zip(_words(data, count), values, strict=True):
            caller.write(where, value, memoryview(value).nbytes)


def _need_attribute(call: str, attribute: int) -> None:
    if attribute not in _ATTRIBUTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attribute is {attribute}; 1 to 8 exist", ee="EE1003",
            params=(call, attribute, "attribute", "[1, 8]"),
        )
