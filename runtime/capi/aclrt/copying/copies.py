"""Copies, fills and reductions by name (core_spec 13.5 to 13.9)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from runtime import errors
from runtime.capi.aclrt.checks import context, live, null, one_of, own, refuse, reserved, succeed, zero
from runtime.capi.aclrt.entry import Out, entry, own_stream_of, stream_of
from runtime.capi.aclrt.kinds import I32, U32, U64, Address, Enum, Handle, Size
from runtime.capi.aclrt.predicates import is_pageable
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.driver.dma import Plane
from runtime.driver.memory import MemoryDriver
from runtime.launch.copy import copy_batch as batch
from runtime.launch.copy import planes
from runtime.launch.copy.copy import copy_addresses, queue_copy
from runtime.launch.copy.copy_batch import BadPair, Claim, Pair
from runtime.launch.copy.direction import Direction
from runtime.launch.copy.fill import fill_now, fill_words_now, queue_fill
from runtime.launch.copy.reduce import DATA_TYPES, queue_reduce
from runtime.memory import caller
from runtime.memory.location import Location, MemoryLocation

_NO_FAILURE = (1 << 64) - 1
"""What failIndex holds when no single copy is to blame (SIZE_MAX)."""
_NOWHERE = -1
"""The number of a device that does not exist."""
_CLAIM = struct.Struct("<IIII16x")
"""aclrtMemcpyBatchAttr: id and type of the target's location, of the source's, 16 reserved bytes."""
_PLANE_KINDS = (Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_HOST, Direction.DEVICE_TO_DEVICE, Direction.DEFAULT)


def _kind(call: str, kind: int, allowed: Sequence[Direction] = tuple(Direction)) -> Direction:
    if kind not in allowed:
        names = f"{min(allowed)} to {max(allowed)}"
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: kind is {kind}; expected {names}", ee="EH0007",
            params=(call, kind, "kind", names), hint="pass 4, and the direction is found",
        )
    return Direction(kind)


# -- plain copies --------------------------------------------------------------------------------------------------

_SAME_ADDRESS = succeed("dst == src and kind != 5 and on_device(acl, dst)", "dst == src, in memory of a device")
_OWN = own("stream", unless="is_pageable(acl, dst, src)", rule="plain host memory is copied at once")
"""Whose streams copies may use."""


@entry(
    succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5),
    refuse("count > destMax", "count", "at most destMax", "EE1003"), succeed("dst == src"), context(),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpy(acl: Acl, dst: Address, destMax: Size, src: Address, count: Size, kind: Enum) -> None:
    """Copy and wait; the direction is that of the addresses, whatever the kind says. No bytes: success at once."""
    copy_addresses(acl.runtime.current_context(), dst, destMax, src, count, "aclrtMemcpy")


@entry(
    succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5), live("stream", Stream),
    refuse("count > destMax", "count", "at most destMax", "EE1003"), context(), _SAME_ADDRESS, _OWN,
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyAsync(
    acl: Acl, dst: Address, destMax: Size, src: Address, count: Size, kind: Enum, stream: Stream
) -> None:
    """Queue a copy; plain host memory makes the call wait for the stream, and copy at once."""
    acl.last.note(stream)
    queue_copy(stream, dst, destMax, src, count, Direction(kind), "aclrtMemcpyAsync")


@entry(
    succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5), live("stream", Stream),
    refuse("count > destMax", "count", "at most destMax", "EE1003"), context(), _SAME_ADDRESS, _OWN,
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyAsyncWithCondition(
    acl: Acl, dst: Address, destMax: Size, src: Address, count: Size, kind: Enum, stream: Stream
) -> None:
    """The old name of aclrtMemcpyAsync."""
    acl.last.note(stream)
    queue_copy(stream, dst, destMax, src, count, Direction(kind), "aclrtMemcpyAsyncWithCondition")


# -- fills ---------------------------------------------------------------------------------------------------------


@entry(succeed("not count"), null("devPtr"), context(), waits_for_snapshot=True)
def aclrtMemset(acl: Acl, devPtr: Address, maxCount: Size, value: I32, count: Size) -> None:
    """Set bytes and wait; only the low byte of the value counts."""
    fill_now(acl.runtime.current_context(), devPtr, maxCount, value, count, "aclrtMemset")


@entry(
    succeed("not count"), null("devPtr"), live("stream", Stream),
    refuse("count > maxCount", "count", "at most maxCount", "EE1003"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemsetAsync(acl: Acl, devPtr: Address, maxCount: Size, value: I32, count: Size, stream: Stream) -> None:
    """Queue the setting of bytes; host memory is set at once."""
    acl.last.note(stream)
    queue_fill(stream, devPtr, maxCount, (value & 0xFF) * 0x01010101, count, "aclrtMemsetAsync")


@entry(
    succeed("not N"), null("ptr"), refuse("ptr % 4", "ptr", "a multiple of 4", "", code=100000),
    refuse("memSize < 4 * N", "N", "at most memSize / 4", "EH0009"),
    refuse("is_plain(acl, ptr)", "ptr", "memory of a device, or pinned", "", code=100000), context(),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemsetD32(acl: Acl, ptr: Address, memSize: Size, value: U32, N: Size) -> None:
    """Set N 32-bit words and wait; no capture forbids it."""
    fill_words_now(acl.runtime.current_context(), ptr, value, N)


@entry(
    succeed("not N"), null("ptr"), refuse("ptr % 4", "ptr", "a multiple of 4", "", code=100000),
    refuse("memSize < 4 * N", "N", "at most memSize / 4", "EH0009"),
    refuse("is_plain(acl, ptr)", "ptr", "memory of a device, or pinned", "", code=100000), live("stream", Stream),
    own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemsetD32Async(acl: Acl, ptr: Address, memSize: Size, value: U32, N: Size, stream: Stream) -> None:
    """Queue the setting of N 32-bit words; pinned memory is set at once."""
    acl.last.note(stream)
    queue_fill(stream, ptr, memSize, value, 4 * N, "aclrtMemsetD32Async")


# -- rows ----------------------------------------------------------------------------------------------------------


@entry(
    succeed("not width or not height"), null("dst", "src"),
    refuse("width > dpitch", "width", "at most dpitch", "EH0009"),
    refuse("width > spitch", "width", "at most spitch", "EH0009"), one_of("kind", 1, 2, 3, 4),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpy2d(
    acl: Acl, dst: Address, dpitch: Size, src: Address, spitch: Size, width: Size, height: Size, kind: Enum
) -> None:
    """Copy rows between host and device and wait."""
    call = "aclrtMemcpy2d"
    plane = _plane(call, dst, dpitch, src, spitch, width, height)
    direction = _kind(call, kind, _PLANE_KINDS)
    planes.copy_plane(acl.runtime.current_context(), plane, direction, call)


@entry(
    succeed("not width or not height"), null("dst", "src"),
    refuse("width > dpitch", "width", "at most dpitch", "EH0009"),
    refuse("width > spitch", "width", "at most spitch", "EH0009"), one_of("kind", 1, 2, 3, 4), live("stream", Stream),
    context("not stream", code=107000), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpy2dAsync(
    acl: Acl, dst: Address, dpitch: Size, src: Address, spitch: Size, width: Size, height: Size, kind: Enum,
    stream: Handle,
) -> None:
    """Queue a copy of rows."""
    call = "aclrtMemcpy2dAsync"
    plane = _plane(call, dst, dpitch, src, spitch, width, height)
    direction = _kind(call, kind, _PLANE_KINDS)
    acl.runtime.current_context()
    at_once = is_pageable(acl, dst, src)
    where = stream_of(acl, stream) if at_once else own_stream_of(acl, call, stream)
    planes.queue_plane(where, plane, direction, call)


def _plane(call: str, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int) -> Plane:
    """Return the rows; what leaves 64 bits is refused."""
    for pitch in (dpitch, spitch):
        if pitch * height >= 1 << 64:
            raise errors.fault("ACL_ERROR_INVALID_PARAM", f"{call}: {height} rows of {pitch} bytes leave 64 bits")
    return Plane(dst, dpitch, src, spitch, width, height)


# -- batches -------------------------------------------------------------------------------------------------------

_COLUMNS = (
    null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    refuse("exceeds(sizes, destMaxs, numBatches)", "destMaxs", "at least the size of each copy", "EH0009"),
    refuse("has_reserved(attrs, numAttrs, numBatches)", "attrs.rsv", "0", "EH0007", rule="a reserved byte is set"),
)  # fmt: skip
"""What all batches refuse of their columns, behind sizes and numBatches."""
_NOTHING = "every size is 0"


@entry(
    null("failIndex", "sizes"), zero("numBatches"),
    succeed("no_bytes(sizes, numBatches)", _NOTHING, ("failIndex", _NO_FAILURE)), *_COLUMNS, waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatch(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, failIndex: Out[Size],
) -> None:
    """Make many copies between host and device and wait; failIndex names the first bad one."""
    _batch_now(acl, "aclrtMemcpyBatch", (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs,
               failIndex)  # fmt: skip


@entry(
    null("sizes"), zero("numBatches"), succeed("no_bytes(sizes, numBatches)", _NOTHING), *_COLUMNS,
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchV2(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size,
) -> None:
    """The same without failIndex."""
    _batch_now(acl, "aclrtMemcpyBatchV2", (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs,
               Out())  # fmt: skip


@entry(
    null("failIndex", "sizes"), zero("numBatches"),
    succeed("no_bytes(sizes, numBatches)", _NOTHING, ("failIndex", _NO_FAILURE)), *_COLUMNS, live("stream", Stream),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchAsync(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, failIndex: Out[Size], stream: Handle,
) -> None:
    """Queue many copies between host and device."""
    _queue_batch(acl, "aclrtMemcpyBatchAsync", (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes),
                 numAttrs, failIndex, stream)  # fmt: skip


@entry(
    null("sizes"), zero("numBatches"), succeed("no_bytes(sizes, numBatches)", _NOTHING), *_COLUMNS,
    live("stream", Stream), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchAsyncV2(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, stream: Handle,
) -> None:
    """The same without failIndex."""
    _queue_batch(acl, "aclrtMemcpyBatchAsyncV2", (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes),
                 numAttrs, Out(), stream)  # fmt: skip


_Columns = tuple[int, int, int, int]
"""Addresses of targets, capacities, sources and sizes."""


def _batch_now(
    acl: Acl, call: str, columns: _Columns, count: int, attributes: tuple[int, int], claims: int, failed: Out[int]
) -> None:
    """Copy; no capture forbids it, and no context is needed."""
    failed.value = _NO_FAILURE
    batch.check_counts(call, count, claims)
    pairs, assigned = _read(acl, call, columns, count, attributes, claims)
    try:
        batch.directions(MemoryDriver(acl.runtime.hal, 0), call, pairs, assigned)
    except BadPair as bad:
        failed.value = bad.index
        raise bad.fault from None
    batch.copy_batch(acl.runtime.hal, pairs, call)


def _queue_batch(
    acl: Acl, call: str, columns: _Columns, count: int, attributes: tuple[int, int], claims: int, failed: Out[int],
    stream: int,
) -> None:
    """Queue; all pairs are checked before the first one is sent."""
    failed.value = _NO_FAILURE
    batch.check_counts(call, count, claims, queued=True)
    pairs, assigned = _read(acl, call, columns, count, attributes, claims)
    acl.runtime.current_context()
    try:
        kinds = batch.directions(MemoryDriver(acl.runtime.hal, 0), call, pairs, assigned, queued=True)
    except BadPair as bad:
        failed.value = bad.index
        raise bad.fault from None
    where = own_stream_of(acl, call, stream)
    batch.queue_batch(where, pairs, kinds, call)


def _read(
    acl: Acl, call: str, columns: _Columns, count: int, attributes: tuple[int, int], claims: int
) -> tuple[list[Pair], list[Claim]]:
    """Return the copies, and for each what its attributes say."""
    read = (caller.array(ctypes.c_uint64, count, column) for column in columns)
    pairs = [Pair(*row) for row in zip(*read, strict=True)]
    starts = list(caller.array(ctypes.c_uint64, claims, attributes[1]))
    return pairs, batch.assign(call, count, _claims(acl, attributes[0], claims), starts)


def _claims(acl: Acl, address: int, count: int) -> list[Claim]:
    ids, found = acl.runtime.visible.ids, []
    for target_id, target, source_id, source in caller.rows(_CLAIM, count, address):
        locations = []
        for number, kind in ((source_id, source), (target_id, target)):
            location = Location(kind) if kind in tuple(Location) else Location.UNREGISTERED
            locations.append(MemoryLocation(location, ids[number] if number < len(ids) else _NOWHERE))
        found.append(Claim(*locations))
    return found


# -- reductions ----------------------------------------------------------------------------------------------------


@entry(
    null("dst", "src"), reserved("reserve"),
    refuse("type not in REDUCED", "type", "a type that the copy engine reduces", "EH0009"), live("stream", Stream),
    zero("count", message="EE1003"), one_of("kind", 10, 11, 12, 13, message="EE1003"),
    refuse("count > 1 << 32", "count", "at most 4 GiB", "EE1011"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtReduceAsync(
    acl: Acl, dst: Address, src: Address, count: U64, kind: Enum, type: Enum, stream: Handle, reserve: Address
) -> None:
    """Queue dst = dst (op) src over `count` bytes: 10 sum, 11 max, 12 min, 13 equal."""
    call = "aclrtReduceAsync"
    queue_reduce(own_stream_of(acl, call, stream), dst, src, count, kind, DATA_TYPES[type], call)
