"""Copies, fills and reductions by name (core_spec 13.5 to 13.9)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from runtime import errors
from runtime.capi.aclrt.checks import context, live, null, one_of, own, refuse, reserved, succeed, zero
from runtime.capi.aclrt.entry import Out, entry, need, own_stream_of
from runtime.capi.aclrt.kinds import I32, U32, U64, Address, Enum, Handle, Size
from runtime.capi.aclrt.memory.allocation import device_of, need_size
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.driver.dma import Plane
from runtime.launch.copy import copy_batch as batch
from runtime.launch.copy import planes
from runtime.launch.copy.copy import copy_addresses, queue_copy
from runtime.launch.copy.copy_batch import BadPair, Claim, Pair
from runtime.launch.copy.direction import Direction
from runtime.launch.copy.fill import fill_now, fill_words_now, queue_fill
from runtime.launch.copy.reduce import DATA_TYPES, queue_reduce
from runtime.memory.location import Location, Place

_NO_FAILURE = (1 << 64) - 1
"""What failIndex holds when no single copy is to blame (SIZE_MAX)."""
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


@entry(succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5), waits_for_snapshot=True)
def aclrtMemcpy(acl: Acl, dst: Address, destMax: Size, src: Address, count: Size, kind: Enum) -> None:
    """Copy and wait; the direction is that of the addresses, whatever the kind says. No bytes: success at once."""
    copy_addresses(acl.runtime.current_context(), dst, destMax, src, count, "aclrtMemcpy")


@entry(
    succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5), live("stream", Stream),
    refuse("count > destMax", "count", "at most destMax", "EE1003"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyAsync(
    acl: Acl, dst: Address, destMax: Size, src: Address, count: Size, kind: Enum, stream: Stream
) -> None:
    """Queue a copy; plain host memory makes the call wait for the stream, and copy at once."""
    acl.last.note(stream)
    queue_copy(stream, dst, destMax, src, count, Direction(kind), "aclrtMemcpyAsync")


@entry(
    succeed("not count"), null("dst", "src"), one_of("kind", 0, 1, 2, 3, 4, 5), live("stream", Stream),
    refuse("count > destMax", "count", "at most destMax", "EE1003"), own("stream"), waits_for_snapshot=True,
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
    need("aclrtMemset", devPtr=devPtr)
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
    refuse("memSize < 4 * N", "N", "at most memSize / 4", "EH0009"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemsetD32(acl: Acl, ptr: Address, memSize: Size, value: U32, N: Size) -> None:
    """Set N 32-bit words and wait."""
    fill_words_now(acl.runtime.current_context(), ptr, value, N, "aclrtMemsetD32")


@entry(
    succeed("not N"), null("ptr"), refuse("ptr % 4", "ptr", "a multiple of 4", "", code=100000),
    refuse("memSize < 4 * N", "N", "at most memSize / 4", "EH0009"), live("stream", Stream), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemsetD32Async(acl: Acl, ptr: Address, memSize: Size, value: U32, N: Size, stream: Handle) -> None:
    """Queue the setting of N 32-bit words; host memory is set at once."""
    call = "aclrtMemsetD32Async"
    queue_fill(own_stream_of(acl, call, stream), ptr, memSize, value, 4 * N, call)



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
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpy2dAsync(
    acl: Acl, dst: Address, dpitch: Size, src: Address, spitch: Size, width: Size, height: Size, kind: Enum,
    stream: Handle,
) -> None:
    """Queue a copy of rows."""
    call = "aclrtMemcpy2dAsync"
    plane = _plane(call, dst, dpitch, src, spitch, width, height)
    direction = _kind(call, kind, _PLANE_KINDS)
    planes.queue_plane(own_stream_of(acl, call, stream), plane, direction, call)


def _plane(call: str, dst: int, dpitch: int, src: int, spitch: int, width: int, height: int) -> Plane:
    """Return the rows; what leaves 64 bits is refused."""
    for pitch in (dpitch, spitch):
        if pitch * height >= 1 << 64:
            raise errors.fault("ACL_ERROR_INVALID_PARAM", f"{call}: {height} rows of {pitch} bytes leave 64 bits")
    return Plane(dst, dpitch, src, spitch, width, height)


# -- batches -------------------------------------------------------------------------------------------------------


@entry(
    null("failIndex", "sizes"), zero("numBatches"), null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatch(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, failIndex: Out[Size],
) -> None:
    """Make many copies between host and device and wait; failIndex names the first bad one."""
    call = "aclrtMemcpyBatch"
    _batch(acl, call, (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs, failIndex)


@entry(
    null("sizes"), zero("numBatches"), null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchV2(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size,
) -> None:
    """The same without failIndex."""
    _batch(acl, "aclrtMemcpyBatchV2", (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs, None)


@entry(
    null("failIndex", "sizes"), zero("numBatches"), null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    live("stream", Stream), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchAsync(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, failIndex: Out[Size], stream: Handle,
) -> None:
    """Queue many copies between host and device."""
    call = "aclrtMemcpyBatchAsync"
    where = own_stream_of(acl, call, stream)
    _batch(acl, call, (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs, failIndex, where)


@entry(
    null("sizes"), zero("numBatches"), null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    live("stream", Stream), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyBatchAsyncV2(
    acl: Acl, dsts: Address, destMaxs: Address, srcs: Address, sizes: Address, numBatches: Size, attrs: Address,
    attrsIndexes: Address, numAttrs: Size, stream: Handle,
) -> None:
    """The same without failIndex."""
    call = "aclrtMemcpyBatchAsyncV2"
    where = own_stream_of(acl, call, stream)
    _batch(acl, call, (dsts, destMaxs, srcs, sizes), numBatches, (attrs, attrsIndexes), numAttrs, None, where)


def _batch(
    acl: Acl, call: str, columns: tuple[int, int, int, int], count: int, attributes: tuple[int, int], claims: int,
    failed: Out[int] | None, stream: Stream | None = None,
) -> None:
    names = ("dsts", "destMaxs", "srcs", "sizes")
    need(call, **dict(zip(names, columns, strict=True)), attrs=attributes[0], attrsIndexes=attributes[1])
    need_size(call, count, "numBatches")
    dsts, rooms, srcs, sizes = ((ctypes.c_uint64 * count).from_address(column) for column in columns)
    if not any(sizes):
        return
    if failed is not None:
        failed.value = _NO_FAILURE
    pairs = [Pair(*row) for row in zip(dsts, rooms, srcs, sizes, strict=True)]
    starts = list((ctypes.c_uint64 * claims).from_address(attributes[1]))
    assigned = batch.assign(call, count, _claims(acl, call, attributes[0], claims), starts)
    device = device_of(acl)
    try:
        kinds = batch.directions(device, call, pairs, assigned)
    except BadPair as bad:
        if failed is not None:
            failed.value = bad.index
        raise bad.fault from None
    if stream is None:
        batch.copy_batch(device.context, pairs, call)
    else:
        batch.queue_batch(stream, pairs, kinds, call)


def _claims(acl: Acl, call: str, address: int, count: int) -> list[Claim]:
    ids, found = acl.runtime.visible.ids, []
    for target_id, target, source_id, source in _CLAIM.iter_unpack(ctypes.string_at(address, _CLAIM.size * count)):
        places = []
        for number, kind in ((source_id, source), (target_id, target)):
            location = Location(kind) if kind in tuple(Location) else Location.UNREGISTERED
            logic = ids[acl.runtime.slot(number, call).index] if location is Location.DEVICE else 0
            places.append(Place(location, logic))
        found.append(Claim(*places))
    return found


# -- reductions ----------------------------------------------------------------------------------------------------


@entry(null("dst", "src"), reserved("reserve"), waits_for_snapshot=True)
def aclrtReduceAsync(
    acl: Acl, dst: Address, src: Address, count: U64, kind: Enum, type: Enum, stream: Handle, reserve: Address
) -> None:
    """Queue dst = dst (op) src over `count` bytes: 10 sum, 11 max, 12 min, 13 equal."""
    call = "aclrtReduceAsync"
    data_type = DATA_TYPES.get(type)
    if data_type is None:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: the copy engine does not reduce data of type {type}", ee="EH0009",
            params=(call, type, "type", "the copy engine has no such type"),
            hint="reduce with a kernel, or convert the data",
        )
    queue_reduce(own_stream_of(acl, call, stream), dst, src, count, kind, data_type, call)
