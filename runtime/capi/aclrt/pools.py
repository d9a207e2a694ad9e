"""Stream-ordered pools by name (core_spec 13.13)."""

from __future__ import annotations

import ctypes
import struct
from functools import partial

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need
from runtime.capi.aclrt.memory import device_of
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.stream import own_stream_of
from runtime.core.stream.stream import Stream
from runtime.memory.ordered import OrderedPool

_PROPERTIES = struct.Struct("<IIIIQ")
"""aclrtMemPoolProps: allocation type, handle type, location id and type, maximal size."""
_WORD = struct.Struct("<Q")
_SWITCH_BYTES = 4
_FIRST_COUNT = 4
"""Attributes below this are ints, the others 64-bit counts."""


@entry(waits_for_snapshot=True)
def aclrtMemPoolCreate(acl: Acl, memPool: Out | None, poolProps: int) -> None:
    """Make a pool on a device."""
    call = "aclrtMemPoolCreate"
    if memPool is not None:
        memPool.value = None
    need(call, memPool=memPool, poolProps=poolProps)
    assert memPool is not None
    _, _, number, _, maximum = _PROPERTIES.unpack(ctypes.string_at(poolProps, _PROPERTIES.size))
    device = device_of(acl)
    if number != device.user_id:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: location.id is {number}, the thread works on device "
            f"{device.user_id}", ee="EE1011",
            params=(call, number, "location.id", "it is not the device that the thread works on"),
            hint="set that device first",
        )
    pool = OrderedPool(device.memory, device.device_id, maximum, call)
    device.ordered_pools.append(pool)
    memPool.value = acl.runtime.handles.add(pool)


@entry(waits_for_snapshot=True)
def aclrtMemPoolDestroy(acl: Acl, memPool: int) -> None:
    """Give a pool back, with all that it has given out."""
    need("aclrtMemPoolDestroy", memPool=memPool)
    pool, device = _pool(acl, memPool), device_of(acl)
    pool.close()
    acl.runtime.handles.remove(memPool)
    if pool in device.ordered_pools:
        device.ordered_pools.remove(pool)


def _pool(acl: Acl, handle: int) -> OrderedPool:
    found: OrderedPool = handle_of(acl, handle, OrderedPool)
    return found


@entry(waits_for_snapshot=True)
def aclrtMemPoolMallocAsync(acl: Acl, ptr: Out | None, size: int, memPool: int, stream: int) -> None:
    """Take memory out of a pool for the later work of a stream."""
    call = "aclrtMemPoolMallocAsync"
    if ptr is not None:
        ptr.value = None
    need(call, ptr=ptr, memPool=memPool)
    assert ptr is not None
    pool = _pool(acl, memPool)
    where = own_stream_of(acl, call, stream)
    if size:
        ptr.value, _ = pool.alloc(size, where.handle)


@entry(waits_for_snapshot=True)
def aclrtMemPoolFreeAsync(acl: Acl, ptr: int, stream: int) -> None:
    """Give memory back after the earlier work of a stream; what is no pool's is freed by the host then."""
    call = "aclrtMemPoolFreeAsync"
    need(call, ptr=ptr)
    where = own_stream_of(acl, call, stream)
    device = device_of(acl)
    for pool in device.ordered_pools:
        if pool.holds(ptr):
            pool.free(ptr, where.handle)
            return
    _free_later(where, partial(device.allocator.free, ptr))


def _free_later(stream: Stream, free: partial[None]) -> None:
    def call(_data: int) -> int:
        free()
        return 0

    stream.device.runtime.callbacks.host_function(stream, call, fails=True)


@entry(waits_for_snapshot=True)
def aclrtMemPoolTrimTo(acl: Acl, memPool: int, minBytesToKeep: int) -> None:
    """Give memory back that nobody uses, down to a number of bytes."""
    need("aclrtMemPoolTrimTo", memPool=memPool)
    _pool(acl, memPool).trim(minBytesToKeep or 0, "aclrtMemPoolTrimTo")


@entry
def aclrtMemPoolSetAttr(acl: Acl, memPool: int, attr: int, value: int) -> None:
    """Set an attribute: 1 to 3 switches (int), 4 the release threshold, 6 and 8 to 0 (64 bits)."""
    call = "aclrtMemPoolSetAttr"
    need(call, memPool=memPool, value=value)
    size = _SWITCH_BYTES if (attr or 0) < _FIRST_COUNT else _WORD.size
    _pool(acl, memPool).set(attr or 0, int.from_bytes(ctypes.string_at(value, size), "little"), call)


@entry
def aclrtMemPoolGetAttr(acl: Acl, memPool: int, attr: int, value: int) -> None:
    """Write an attribute to `value`: 1 to 3 an int, 4 to 8 a 64-bit count."""
    call = "aclrtMemPoolGetAttr"
    need(call, memPool=memPool, value=value)
    found = _pool(acl, memPool).get(attr or 0, call)
    data = found.to_bytes(_SWITCH_BYTES if (attr or 0) < _FIRST_COUNT else _WORD.size, "little")
    ctypes.memmove(value, data, len(data))
