"""Copies: now (by the driver) or in a stream (as tasks), in the direction that the two ends imply.

The host end may be a pinned HostBuffer or anything with the buffer interface (pageable). Only pinned memory can be
copied asynchronously; a pageable end makes the call wait for the stream first, as the vendor's runtime does
(core_spec 13.7).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.memory_rules import internal_flags
from chips.tasks import CopyKind, MemcpyAsync
from npuhal.tuples import NamedTuple
from npuhal.words import count as counted
from runtime import errors
from runtime.core.submission.prepared import KEPT, prepare
from runtime.driver.p2p import PeerDriver
from runtime.errors.arguments import check_same_runtime, whole
from runtime.launch.capture_check import check_blocking, check_pageable, check_unbound
from runtime.launch.copy import sync_copy as now
from runtime.launch.copy import transfer
from runtime.launch.copy.direction import Direction, inferred, settle
from runtime.launch.copy.endpoints import End, ends, size_of
from runtime.launch.copy.transfer import Keeper
from runtime.memory.array import DeviceArray
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import HostBuffer
from runtime.memory.location import Location, MemoryLocation, locate

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.driver.memory import MemoryDriver

__all__ = ["copy_addresses", "copy_in_stream", "copy_now", "queue_copy", "size_of"]

_BUFFER_ALIGN = 64
_FEW_TASKS_BYTES = 1 << 32
"""Nobody asks whether a device has so many bytes: wrong or not, they are few tasks."""


class _Plain(NamedTuple):
    """A kind of copy that is one SQE with two addresses."""

    name: str
    kind: CopyKind


_ON_DEVICE = (DeviceBuffer, DeviceArray)
_PLAIN: Mapping[tuple[type, type], _Plain] = {
    **{(dst, src): _Plain("copy on the device", CopyKind.SDMA) for dst in _ON_DEVICE for src in _ON_DEVICE},
    **{(dst, HostBuffer): _Plain("copy to the device", CopyKind.HOST_TO_DEVICE) for dst in _ON_DEVICE},
    **{(HostBuffer, src): _Plain("copy to the host", CopyKind.DEVICE_TO_HOST) for src in _ON_DEVICE},
}
_SHORT = min(transfer.INSIDE_BYTES, transfer.PCIE_BYTES)
"""Most bytes of a copy by a prepared send: any kind takes so many with one SQE."""


# -- now -----------------------------------------------------------------------------------------------------------


def copy_now(device: Device, dst: Any, src: Any, size: int | None = None) -> None:
    """Copy and wait, without regard to any stream. Size 0 does nothing.

    Raises:
        InvalidArgument 107000: an end is no memory, freed, read-only, or too small; or the ends lie on two devices
            none of which reaches the other.
    """
    device.check_open()
    target, source, count = ends(dst, src, size)
    check_same_runtime("copy", device, target.device, source.device)
    if target.device is not source.device and target.location is source.location is Location.DEVICE:
        _check_link(target, source)
    if count:
        copy_addresses(device.context, target.address, target.size, source.address, count, "copy")


def copy_addresses(context: Context, dst: int, capacity: int, src: int, count: int, call: str) -> None:
    """Copy between any two addresses and wait; the driver finds the direction.

    Raises:
        InvalidArgument 107000: more bytes than the target has space for, or addresses that the driver refuses.
        CaptureError 107030: a capture forbids it.
    """
    check_capacity(call, capacity, count)
    context.device.check_open()
    check_blocking(context, call)
    now.copy(context.device, dst, capacity, src, count)


def check_capacity(call: str, capacity: int, count: int) -> None:
    """Refuse a copy of more bytes than the target holds: 107000 with EE1003."""
    if count > capacity:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {counted(count, 'byte')} cannot go into a target of {capacity}",
            ee="EE1003", params=(call, count, "count", f"(0, {capacity}]"),
            hint="the target must be at least as large as what is copied",
        )


def check_extent(memory: MemoryDriver, call: str, count: int) -> None:
    """Refuse more bytes than the device has, before they become millions of tasks: 107000 with EE1003.

    Asks the driver only where there are very many.
    """
    if count > _FEW_TASKS_BYTES and 0 < (total := memory.space()[1]) < count:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {counted(count, 'byte')}; the device has {total}", ee="EE1003",
            params=(call, count, "count", f"(0, {total}]"), hint="pass the size of what is there, in bytes",
        )


# -- in a stream ---------------------------------------------------------------------------------------------------


def copy_in_stream(stream: Stream, dst: Any, src: Any, size: int | None = None) -> None:
    """Queue a copy in a stream; both ends are kept alive until it is done.

    A pageable end makes the call wait for the stream, then copy at once.

    Raises:
        InvalidArgument 107000: an end is no memory, freed, read-only, or too small.
        NotSupported 207000: both ends are host memory.
        PermissionDenied, NotSupported: the ends lie on two devices that do not reach each other.
    """
    kinds = type(dst), type(src)
    send = stream.sends.get(kinds)
    if send is not None and dst.alive and src.alive and dst.device is src.device is stream.device:
        at, to = src.address, dst.address
        count = src.size if size is None else size if type(size) is int else whole("copy", "size", size)
        fits = 0 < count <= _SHORT and count <= src.size and count <= dst.size
        if fits and at != to and send(at, to, count, (dst, src)):
            return
    stream.check_open()
    target, source, count = ends(dst, src, size)
    if count == 0 or target.address == source.address:
        return
    for end in (target, source):
        _check_reach(stream, end)
    locations = [MemoryLocation(end.location, end.device.device_id if end.device else 0) for end in (source, target)]
    direction = inferred(source.location, target.location)
    _queue(stream, direction, target, source, count, locations, "Stream.copy")
    if send is None and (plain := _PLAIN.get(kinds)) is not None and dst.device is src.device is stream.device:
        if plain.kind is not CopyKind.SDMA and transfer.prepares_chains(stream):
            transfer.prepare_chain(stream, kinds, plain.kind)
            return
        task = MemcpyAsync(src=source.address, dst=target.address, size=1, kind=plain.kind)
        prepare(stream, kinds, task, plain.name, "src", "dst", "size", carries=KEPT)


def plain_kind(stream: Stream, dst: Any, src: Any) -> _Plain | None:
    """Return the kind of copies between such ends that are one SQE with two addresses; None where there is none."""
    plain = _PLAIN.get((type(dst), type(src)))
    return None if plain and plain.kind is not CopyKind.SDMA and transfer.prepares_chains(stream) else plain


def plain_bytes(device: Device, dst: Any, src: Any, size: int | None) -> int:
    """Return the bytes of a copy between such ends that may be one of these; 0 for any other, or a wrong one."""
    if dst.alive and src.alive and dst.device is src.device is device:
        count: int = src.size if size is None else size if type(size) is int else whole("copy", "size", size)
        if 0 < count <= _SHORT and count <= src.size and count <= dst.size and dst.address != src.address:
            return count
    return 0


def _check_reach(stream: Stream, end: End) -> None:
    """Refuse memory of another device that the stream's device may not touch."""
    if end.device is not None:
        check_same_runtime("Stream.copy", stream.device, end.device)
    if end.location is not Location.DEVICE or end.device is stream.device:
        return
    mine, other = stream.device, end.device
    peers = PeerDriver(mine.hal, mine.device_id)
    if not peers.enabled(other.driver.info.physical_id()):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"Stream.copy: device {mine.user_id} does not reach the memory of device {other.user_id} at "
            f"{end.address:#x}", hint=_reach(peers, mine.user_id, other),
        )


def _check_link(target: End, source: End) -> None:
    """Refuse a copy between two devices none of which may touch the other's memory: the driver chooses who copies.

    The C API leaves that to the driver, as the vendor's runtime does.
    """
    first, second = target.device, source.device
    pairs = ((first, second), (second, first))
    if any(PeerDriver(mine.hal, mine.device_id).enabled(other.driver.info.physical_id()) for mine, other in pairs):
        return
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID",
        f"copy: the ends lie on devices {first.user_id} and {second.user_id}, and none of them reaches the other's "
        "memory", hint=_reach(PeerDriver(first.hal, first.device_id), first.user_id, second),
    )


def _reach(peers: PeerDriver, mine: int, other: Device) -> str:
    """Say how a device comes to the memory of another one."""
    if peers.can_access(other.driver.info.physical_id()):
        return f"call runtime.device({mine}).enable_peer_access(runtime.device({other.user_id})) first"
    return f"devices {mine} and {other.user_id} are not linked so that they could: copy through pinned host memory"


def queue_copy(
    stream: Stream, dst: int, capacity: int, src: int, count: int, kind: Direction, call: str, *keep: object
) -> None:
    """Queue a copy between two addresses, by the vendor's rules for kinds and locations.

    Raises:
        InvalidArgument 107000: too many bytes, or a kind that the ends do not allow.
        NotSupported 207000: both ends are host memory.
        CaptureError 107041: plain host memory while a capture forbids waiting.
    """
    stream.check_open()
    check_capacity(call, capacity, count)
    memory = stream.device.memory
    check_extent(memory, call, count)
    locations = 2 * [MemoryLocation(Location.UNREGISTERED)]
    if memory.classifies:
        known = kind is not Direction.DEVICE_TO_DEVICE  # there a task fails, if the memory is gone
        locations = [locate(memory, src, exists=known), locate(memory, dst, exists=known)]
        kind = settle(kind, locations[0].location, locations[1].location, call)
    else:
        kind = Direction.DEVICE_TO_DEVICE if kind is Direction.DEFAULT else kind
        locations = 2 * [MemoryLocation(Location.HOST)]  # unknown, and nothing is refused for it
    target = End(dst, capacity, locations[1].location, keep)
    source = End(src, count, locations[0].location)
    _queue(stream, kind, target, source, count, locations, call)


def _queue(
    stream: Stream, kind: Direction, target: End, source: End, count: int, locations: list[MemoryLocation], call: str
) -> None:
    if Location.MANAGED in (locations[0].location, locations[1].location):
        _by_host(stream, target, source, count)
        return
    if kind is Direction.HOST_TO_HOST:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: a copy from host memory to host memory is no task for a "
            "stream", hint="copy it with NumPy, or with device.copy()",
        )
    if target.address == source.address or count == 0:
        return
    if kind is Direction.THROUGH_BUFFER:
        check_unbound(stream, call)
        _through_buffer(stream, target, source, count)
        return
    plain = Location.UNREGISTERED in (locations[0].location, locations[1].location)
    if plain and kind in (Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_HOST):
        check_pageable(stream, call)
        check_blocking(stream.context, call, asynchronous=True)
        stream.synchronize()
        stream.device.memory.copy(target.address, target.size, source.address, count)
        return
    keeper = Keeper(target.keep, source.keep)
    try:
        if kind is Direction.DEVICE_TO_DEVICE:
            _between(stream, target.address, source.address, count, locations, keeper)
        else:
            _across(stream, kind, target.address, source.address, count, keeper)
    finally:
        keeper.release()


def _across(stream: Stream, kind: Direction, dst: int, src: int, count: int, keeper: Keeper) -> None:
    to_device = kind is Direction.HOST_TO_DEVICE
    transfer.across_host(
        stream, CopyKind.HOST_TO_DEVICE if to_device else CopyKind.DEVICE_TO_HOST, dst, src, count, keeper
    )


def _between(stream: Stream, dst: int, src: int, count: int, locations: list[MemoryLocation], keeper: Keeper) -> None:
    """Queue a copy inside the device, or between two."""
    mine = stream.device
    ids = {location.device_id for location in locations if location.location is Location.DEVICE} or {mine.device_id}
    if len(ids) == 1 and mine.device_id in ids:
        transfer.inside(stream, dst, src, count, keeper)
        return
    other = next(iter(ids - {mine.device_id}))
    link = PeerDriver(mine.hal, mine.device_id).link(other)
    transfer.across_devices(stream, dst, src, count, keeper, link=link)


def _through_buffer(stream: Stream, target: End, source: End, count: int) -> None:
    """Copy the source now into memory of the task's own, and queue the copy from there."""
    env, memory = stream.env, stream.device.memory
    if env.chip.traits.copies_pageable and not env.flat_addresses:
        buffer = ctypes.create_string_buffer(count + 2 * _BUFFER_ALIGN)
        address = -(-ctypes.addressof(buffer) // _BUFFER_ALIGN) * _BUFFER_ALIGN
        keeper = Keeper(target.keep, buffer)
    else:
        address = memory.alloc(count, internal_flags(host=True))
        keeper = Keeper(target.keep, free=partial(memory.free, address))
    try:
        memory.copy(address, count, source.address, count)
        transfer.across_host(stream, CopyKind.HOST_TO_DEVICE, target.address, address, count, keeper)
    finally:
        keeper.release()


def _by_host(stream: Stream, target: End, source: End, count: int) -> None:
    """Let the host copy when the stream gets there: managed memory has no engine."""
    memory = stream.device.memory
    keep = [target.keep, source.keep]

    def copy(_data: int) -> int:
        memory.copy(target.address, target.size, source.address, count)
        del keep[:]
        return 0

    stream.device.runtime.callbacks.host_function(stream, copy, fails=True)
