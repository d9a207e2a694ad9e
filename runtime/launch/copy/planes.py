"""Copies of rows: between host and device, now or in a stream; inside a device in a stream only (core_spec 13.9)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import CopyKind
from npuhal import constants as c
from runtime import errors
from runtime.driver.dma import CopyDriver, Plane
from runtime.launch.capture_check import check_blocking, check_pageable
from runtime.launch.copy import transfer
from runtime.launch.copy.direction import Direction, inferred, settle
from runtime.launch.copy.transfer import Keeper
from runtime.memory.location import Location, locate

if TYPE_CHECKING:
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.driver.memory import MemoryDriver

MAX_HEIGHT = 5 << 20
"""Most rows of a copy, here and in the driver."""
MAX_WIDTH = 5_000_000
"""Longest row in bytes."""

_DRIVER = {
    Direction.HOST_TO_DEVICE: c.DRV_MEMCPY_HOST_TO_DEVICE, Direction.DEVICE_TO_HOST: c.DRV_MEMCPY_DEVICE_TO_HOST,
}  # fmt: skip


def check_plane(call: str, plane: Plane) -> None:
    """Refuse what is no plane, or too large a one: 107000 with EE1003, or EE1017 for pitches below the width."""
    for name, value, most in (("width", plane.width, MAX_WIDTH), ("height", plane.height, MAX_HEIGHT)):
        if not 0 < value <= most:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; it must be in (0, {most}]", ee="EE1003",
                params=(call, value, name, f"(0, {most}]"), hint="split the copy",
            )
    if plane.width > min(plane.dst_pitch, plane.src_pitch):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"{call}: rows of {plane.width} bytes overlap with pitches of {plane.dst_pitch} and {plane.src_pitch}",
            ee="EE1017", params=(call, "width", "it is larger than a pitch"),
            hint="a pitch must be at least as large as the width",
        )


def copy_plane(context: Context, plane: Plane, kind: Direction, call: str) -> None:
    """Copy rows between host and device and wait.

    Raises:
        InvalidArgument 107000: see `check_plane`; or the direction is not that of the addresses (EE1017).
        NotSupported 207000: it is no copy between host and device.
        CaptureError 107030: a capture forbids it.
    """
    check_plane(call, plane)
    context.device.check_open()
    check_blocking(context, call)
    memory = context.device.memory
    kind = _checked(memory, plane, kind, call) if memory.classifies else kind
    if kind not in _DRIVER:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {kind.name} is not done in rows; HOST_TO_DEVICE and "
            "DEVICE_TO_HOST are", ee="EE1001", params=(f"{call}: kind {kind.name} is not supported",),
            hint="copy it in a stream",
        )
    CopyDriver(context.device.hal, context.device.device_id).rows(plane, _DRIVER[kind])


def _checked(memory: MemoryDriver, plane: Plane, kind: Direction, call: str) -> Direction:
    """Return the direction of the ends; one that was asked for and is another is not corrected here."""
    found = inferred(locate(memory, plane.src).location, locate(memory, plane.dst).location)
    if kind is Direction.DEFAULT and found in _DRIVER:
        return found
    if kind is Direction.DEFAULT or (kind in _DRIVER and kind is not found):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: kind {kind.name} is asked for, the addresses are {found.name}",
            ee="EE1017", params=(call, "kind", f"the addresses are {found.name}"), hint="pass DEFAULT",
        )
    return kind


def queue_plane(stream: Stream, plane: Plane, kind: Direction, call: str, *keep: object) -> None:
    """Queue a copy of rows, its direction corrected by where the ends lie.

    Raises:
        InvalidArgument 107000: see `check_plane`, `direction.settle`.
        InvalidArgument 107000: both ends are host memory (EE1017).
        CaptureError 107041: plain host memory while a capture forbids waiting.
    """
    check_plane(call, plane)
    stream.check_open()
    memory = stream.device.memory
    plain = False
    if memory.classifies:
        source, target = locate(memory, plane.src).location, locate(memory, plane.dst).location
        kind = settle(kind, source, target, call)
        plain = Location.UNREGISTERED in (source, target)
    if kind is Direction.HOST_TO_HOST:
        reason = "a copy from host memory to host memory is no task for a stream"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {reason}", ee="EE1017", params=(call, "src and dst", reason),
            hint="copy it with NumPy",
        )
    if kind not in _DRIVER:
        _inside(stream, plane, Keeper(*keep))
    elif plain:
        check_pageable(stream, call)
        check_blocking(stream.context, call, asynchronous=True)
        stream.synchronize()
        CopyDriver(stream.device.hal, stream.device.device_id).rows(plane, _DRIVER[kind])
    else:
        _across(stream, plane, kind, Keeper(*keep))


def _inside(stream: Stream, plane: Plane, keeper: Keeper) -> None:
    """Queue one SDMA copy per row, or one for all where the rows touch."""
    try:
        if plane.width == plane.dst_pitch == plane.src_pitch:
            transfer.inside(stream, plane.dst, plane.src, plane.width * plane.height, keeper)
            return
        for row in range(plane.height):
            dst, src = plane.dst + row * plane.dst_pitch, plane.src + row * plane.src_pitch
            transfer.inside(stream, dst, src, plane.width, keeper)
    finally:
        keeper.release()


def _across(stream: Stream, plane: Plane, kind: Direction, keeper: Keeper) -> None:
    """Queue one task for all rows, by a DMA chain or, over UB, by work that the driver prepares."""
    copy = CopyKind.HOST_TO_DEVICE if kind is Direction.HOST_TO_DEVICE else CopyKind.DEVICE_TO_HOST
    driver, size, sq_id = transfer.copy_driver(stream), plane.width * plane.height, stream.queues.sq_id
    try:
        if stream.env.ub_connected:
            prepared = driver.prepare_rows(sq_id, transfer.ub_direction(copy), plane)
            done = keeper.piece(partial(driver.free_rows_ub, sq_id, prepared))
            transfer.send_prepared(stream, copy, prepared, done, size=size, doorbell=True)
        else:
            dma = driver.chain_rows(plane, _DRIVER[kind])
            transfer.send_chain(stream, copy, dma, keeper.piece(partial(driver.free_rows, dma)), size=size)
    finally:
        keeper.release()
