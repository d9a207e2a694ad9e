"""What is done when something of a device runs out: what nobody needs now goes back to the driver (core_spec 5.3a).

Streams that were dropped are closed, spare queues of graphs are given up, and graphs that are not being executed give
theirs up, which they are lent again when they are executed.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from runtime import errors
from runtime.core.device import teardown
from runtime.driver import resources as id_kinds

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.ports import DevicePort, StreamPort
    from runtime.core.process.context import Context

Made = TypeVar("Made")

FEW = 256
"""So many streams nobody looks for dropped ones among."""
_PAUSE_S = 1e-3
_TRIES = 1024
"""Other threads, and other processes, may take what was given back; so often it is given back again."""


def free_unused(device: Device, kind: str) -> bool:
    """Give something of a kind (`runtime.driver.resources`) back to the driver; False where all of it is needed."""
    if getattr(device, "sq_pool", None) is None:
        return False  # it is still being opened
    before = device.ids.resource_table.count(kind)
    close_dropped(device)
    if device.ids.resource_table.count(kind) < before:
        return True
    if kind == id_kinds.SQ:
        return device.sq_pool.release_one() or (recycle(device, 1) and device.sq_pool.release_one())
    return kind == id_kinds.NOTIFY and _lend_back(device)


def close_dropped(device: Device) -> None:
    """Close streams and graphs that were dropped; they are parts of cycles, which are collected.

    Where some of their work is still to be done it is waited for, for a while: nobody else can be waiting for it.
    """
    gc.collect()
    device.give_back_dropped()
    end = time.monotonic() + teardown.LIMIT_S
    while left := [stream for context in device.contexts() for stream in list(context.dropped)]:
        idle = [stream for stream in left if _is_through(stream)]
        for stream in idle:
            with contextlib.suppress(errors.RuntimeFault):  # the driver will be asked again
                teardown.close_dropped(stream)
        if idle or time.monotonic() > end:
            break
        time.sleep(_PAUSE_S)
    device.give_back_dropped()


def _is_through(stream: StreamPort) -> bool:
    """Return whether a dropped stream has nothing left to do."""
    if not stream.closed and stream.ring.pending:
        with contextlib.suppress(errors.RuntimeFault):
            stream.drain()
    return not stream.ring.pending


def collect_many(context: Context) -> None:
    """Collect cycles when twice as many streams are alive as after the last time.

    A stream that has sent something is part of a cycle, and programs that switch the collector off drop streams too.
    """
    if len(context.streams) >= context.collect_at:
        gc.collect()
        context.device.give_back_dropped()
        context.collect_at = max(FEW, 2 * len(context.streams))


def recycle(device: Device, count: int) -> bool:
    """Let graphs that are not being executed give up queues until so many are spare; False where none could."""
    pool, freed = device.sq_pool, False
    _drain(device)
    for context in device.contexts():
        for model in context.all_models():
            if pool.spare >= count:
                return freed
            freed |= bool(model.lend_back())
    return freed


def _lend_back(device: Device) -> bool:
    """Let one graph that is not being executed give up its queues, and with them the notify of its end."""
    _drain(device)
    return any(model.lend_back() for context in device.contexts() for model in context.all_models())


def _drain(device: Device) -> None:
    for context in device.contexts():
        for stream in context.all_streams():
            if stream.ring.pending and not stream.closed:
                stream.drain()


def take_or_recycle(device: DevicePort, kind: str, make: Callable[[], Made]) -> Made:
    """Return what `make` makes; what nobody needs is given back as long as it finds none of a kind left.

    Raises:
        ResourceExhausted: all of it is needed.
    """
    for _ in range(_TRIES):
        try:
            return make()
        except errors.ResourceExhausted:
            if not device.free_unused(kind):
                raise
    return make()
