"""Filling memory with a byte or a 32-bit word, now or in a stream (core_spec 13.8)."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import CopyKind, Memset
from runtime import errors
from runtime.errors.arguments import BUFFERS, check_instance, check_same_runtime, whole
from runtime.launch.capture_check import check_blocking
from runtime.launch.copy import transfer
from runtime.launch.copy.copy import check_capacity, check_extent
from runtime.launch.copy.transfer import Keeper
from runtime.memory import caller
from runtime.memory.buffer import Buffer
from runtime.memory.location import Location, locate

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.memory.device import DeviceBuffer

BYTE_TO_WORD = 0x01010101
"""What a byte is multiplied with to fill a 32-bit word."""
_BYTE = 0xFF
_PATTERN_BYTES = transfer.PCIE_BYTES
"""Largest piece that is copied from the host; the rest is copied on the device."""


def fill_now(context: Context, dst: int, capacity: int, value: int, count: int, call: str) -> None:
    """Set `count` bytes and wait; a capacity that is too small is refused by the driver."""
    context.device.check_open()
    check_blocking(context, call)
    context.device.memory.fill(dst, capacity, value & 0xFF, count)


def fill_words_now(context: Context, dst: int, word: int, count: int) -> None:
    """Set `count` 32-bit words and wait; no capture forbids it."""
    context.device.check_open()
    for start in range(0, count * 4, _PATTERN_BYTES):
        size = min(_PATTERN_BYTES, count * 4 - start)
        context.device.memory.write(dst + start, word.to_bytes(4, "little") * (size // 4))


def check_fill(
    call: str, device: Device, target: DeviceBuffer, value: int, size: int | None, name: str = "target"
) -> tuple[int, int]:
    """Return the byte that a buffer is to be set to, and for how many bytes: `size`, or all.

    Raises:
        InvalidArgument 107000: it is no buffer, was freed, is too small or of another runtime; the value is no byte.
    """
    check_instance(call, name, target, Buffer, BUFFERS)
    target.check_open()
    check_same_runtime(call, device, target)
    byte, count = whole(call, "value", value), target.size if size is None else whole(call, "size", size)
    if not 0 <= byte <= _BYTE or not 0 <= count <= target.size:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: size {count} of {target.size} bytes, value {byte}",
            hint="the value is one byte, the size at most the buffer's",
        )
    return byte, count


def queue_fill(stream: Stream, dst: int, capacity: int, word: int, count: int, call: str, *keep: object) -> None:
    """Queue the filling of `count` bytes with a 32-bit pattern; host memory is filled at once, whatever is queued.

    Raises:
        InvalidArgument 107000: more bytes than the target has space for.
    """
    stream.check_open()
    check_capacity(call, capacity, count)
    check_extent(stream.device.memory, call, count)
    if locate(stream.device.memory, dst, exists=True).location is not Location.DEVICE:
        if count > _PATTERN_BYTES:  # nothing is filled where the last piece would fail
            caller.check_writable(dst, count)
        pattern = word.to_bytes(4, "little") * (min(count + 3, _PATTERN_BYTES) // 4)
        for start in range(0, count, len(pattern)):
            stream.device.memory.write(dst + start, pattern[: count - start], capacity - start)
        return
    keeper = Keeper(*keep)
    try:
        if stream.device.chip.prop("memsetTaskSupport") == "MEMSET_TASK_SUPPORT":
            task = Memset(addr=dst, value=word, count=count)
            stream.submit(task, owner="fill", finished=keeper.piece())
        else:
            _by_copies(stream, dst, word, count, keeper)
    finally:
        keeper.release()


def _by_copies(stream: Stream, dst: int, word: int, count: int, keeper: Keeper) -> None:
    """Copy a pattern from the host, then that again and again on the device."""
    memory = stream.device.memory
    first = min(count, _PATTERN_BYTES)
    address = memory.alloc(first, internal_flags(host=True))
    free = Keeper(free=partial(memory.free, address))
    try:
        _write_pattern(address, word, first)
        transfer.across_host(stream, CopyKind.HOST_TO_DEVICE, dst, address, first, free)
    finally:
        free.release()
    for start in range(first, count, first):
        transfer.inside(stream, dst + start, dst, min(first, count - start), keeper)


def _write_pattern(address: int, word: int, size: int) -> None:
    """Fill host memory with a 32-bit word: the first one, and then again and again what is there already."""
    done = min(size, 4)
    ctypes.memmove(address, word.to_bytes(4, "little"), done)
    while done < size:
        more = min(done, size - done)
        ctypes.memmove(address + done, address, more)
        done += more
