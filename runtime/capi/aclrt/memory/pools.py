"""Stream-ordered pools by name (core_spec 13.13)."""

from __future__ import annotations

import struct
from functools import partial

from runtime import errors
from runtime.capi.aclrt.checks import context, live, null, null_rt, own, refuse
from runtime.capi.aclrt.entry import Out, entry, handle_of
from runtime.capi.aclrt.kinds import Address, Enum, Handle, Size
from runtime.capi.aclrt.memory.allocation import device_of
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.memory import caller
from runtime.memory.ordered import OrderedPool

_PROPERTIES = struct.Struct("<IIIIQ")
"""aclrtMemPoolProps: allocation type, handle type, location id and type, maximal size."""
_WORD = struct.Struct("<Q")
_SWITCH_BYTES = 4
_FIRST_COUNT = 4
"""Attributes below this are ints, the others 64-bit counts."""


@entry(
    null("memPool", "poolProps"), refuse("word_at(poolProps)", "poolProps.allocType", "0 (pinned)"),
    refuse("word_at(poolProps + 12) != 1", "poolProps.location.type", "1 (device)"),
    refuse("any_byte(poolProps + 24, 32)", "poolProps.reserved", "0", "EH0012", rule="a reserved byte is set"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemPoolCreate(acl: Acl, memPool: Out[Handle], poolProps: Address) -> None:
    """Make a pool on a device."""
    call = "aclrtMemPoolCreate"
    _, _, number, _, maximum = _PROPERTIES.unpack(caller.read(poolProps, _PROPERTIES.size))
    acl.runtime.slot(number, call)
    device = device_of(acl)
    if number != device.user_id:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: location.id is {number}, the thread works on device "
            f"{device.user_id}", ee="EE1011",
            params=(call, number, "location.id", "it is not the device that the thread works on"),
            hint="set that device first",
        )
    pool = OrderedPool(device.memory, device.device_id, maximum, call, device.ledger)
    device.ordered_pools.append(pool)
    memPool.value = acl.runtime.handles.add(pool)


@entry(null("memPool"), waits_for_snapshot=True)
def aclrtMemPoolDestroy(acl: Acl, memPool: Handle) -> None:
    """Give a pool back, with all that it has given out."""
    pool, device = _pool(acl, "aclrtMemPoolDestroy", memPool, silent=True), device_of(acl)
    pool.close()
    acl.runtime.handles.remove(memPool)
    if pool in device.ordered_pools:
        device.ordered_pools.remove(pool)


def _pool(acl: Acl, call: str, handle: int, *, silent: bool = False) -> OrderedPool:
    """Return a pool; 107000 with EE1017 where the handle stands for none, or 507000 without a message if `silent`."""
    try:
        found: OrderedPool = handle_of(acl, handle, OrderedPool)
    except errors.InvalidHandle:
        code = "ACL_ERROR_RT_INTERNAL_ERROR" if silent else "ACL_ERROR_RT_PARAM_INVALID"
        raise errors.fault(
            code, f"{call}: {handle:#x} is no pool, or it was destroyed", ee="" if silent else "EE1017",
            params=() if silent else (call, "memPool", "there is no such pool"),
            hint="pass what aclrtMemPoolCreate has given",
        ) from None
    return found


@entry(
    null("ptr", "memPool", "stream"), live("stream", Stream), own("stream"),
    refuse("size > 0xFFFF_FFFF_FFE0_0000", "size", "at most 2^64 - 2^21", "EE1001", rule="size is too large to round"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemPoolMallocAsync(acl: Acl, ptr: Out[Address], size: Size, memPool: Handle, stream: Stream) -> None:
    """Take memory out of a pool for the later work of a stream; 507000 without a message where it is full, or is none.
    """
    pool = _pool(acl, "aclrtMemPoolMallocAsync", memPool, silent=True)
    if not size:
        return
    try:
        ptr.value, _ = pool.alloc(size, stream.handle)
    except errors.OutOfMemory as full:
        raise errors.fault("ACL_ERROR_RT_INTERNAL_ERROR", str(full), hint=full.hint) from full


_OF_THREAD = context(code="ACL_ERROR_RT_STREAM_CONTEXT", message="EE1010")
"""A thread without a context has no streams of its own."""


@entry(
    null("ptr"), live("stream", Stream), null_rt("stream", code=507000), _OF_THREAD, own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemPoolFreeAsync(acl: Acl, ptr: Address, stream: Stream) -> None:
    """Give memory back after the earlier work of a stream; what is no pool's is freed by the host then."""
    device = device_of(acl)
    for pool in device.ordered_pools:
        if pool.address <= ptr < pool.address + pool.size:
            pool.free(ptr, stream.handle)
            return
    _free_later(stream, partial(device.allocator.free, ptr))


def _free_later(stream: Stream, free: partial[None]) -> None:
    def call(_data: int) -> int:
        free()
        return 0

    stream.device.runtime.callbacks.host_function(stream, call, fails=True)


@entry(null("memPool"), waits_for_snapshot=True)
def aclrtMemPoolTrimTo(acl: Acl, memPool: Handle, minBytesToKeep: Size) -> None:
    """Give memory back that nobody uses, down to a number of bytes."""
    _pool(acl, "aclrtMemPoolTrimTo", memPool, silent=True).trim(minBytesToKeep, "aclrtMemPoolTrimTo")


@entry(null("memPool"), null_rt("value"), waits_for_snapshot=True)
def aclrtMemPoolSetAttr(acl: Acl, memPool: Handle, attr: Enum, value: Address) -> None:
    """Set an attribute: 1 to 3 switches (int), 4 the release threshold, 6 and 8 to 0 (64 bits)."""
    call = "aclrtMemPoolSetAttr"
    size = _SWITCH_BYTES if attr < _FIRST_COUNT else _WORD.size
    _pool(acl, call, memPool).set(attr, int.from_bytes(caller.read(value, size), "little"), call)


@entry(null("memPool"), null_rt("value"), waits_for_snapshot=True)
def aclrtMemPoolGetAttr(acl: Acl, memPool: Handle, attr: Enum, value: Address) -> None:
    """Write an attribute to `value`: 1 to 3 an int, 4 to 8 a 64-bit count."""
    call = "aclrtMemPoolGetAttr"
    found = _pool(acl, call, memPool).get(attr, call)
    data = found.to_bytes(_SWITCH_BYTES if attr < _FIRST_COUNT else _WORD.size, "little")
    caller.write(value, data, len(data))
