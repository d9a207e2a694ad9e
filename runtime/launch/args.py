"""Kernel arguments: what Python values become 8-byte slots, and how the slots reach the device.

Every argument of an AI-core kernel takes one slot of 8 bytes (core_spec 8.4); `bytes` may span several.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from npuhal import constants as c
from npuhal.words import a
from runtime import errors
from runtime.core.submission.reclaim import reclaim
from runtime.errors.arguments import check_same_runtime
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import HostBuffer, ManagedBuffer, RegisteredBuffer

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.memory.arguments import ArgumentBlock, ArgumentPool

SLOT_BYTES = 8
STORE_BYTES = 64
"""Device memory that is mapped takes stores of whole aligned units of so many bytes only."""
SYNC: Final[int] = c.MEMCPY_SUMBIT_SYNC
"""halMemcpySumbit waits for the copy itself: one call where submitting and waiting are two."""
_U64 = (1 << 64) - 1
_SCALAR_KINDS = tuple("biufcmM")
"""NumPy's letters for scalars that are plain numbers: no text, no records, no Python objects."""


def slots(argument: Any) -> list[int]:
    """Return the 64-bit words of one argument.

    Buffers that devices reach give their address there, ints count modulo 2**64 (so negative ones work), NumPy scalars
    their own bytes, objects with a `__cuda_array_interface__`-like address attribute are not guessed at.

    Raises:
        InvalidArgument: a type that has no size on the device (float, str, arrays, None), or a freed buffer.
    """
    if isinstance(argument, (DeviceBuffer, ManagedBuffer, RegisteredBuffer)):
        argument.check_open()
        assert argument.word is not None
        return [argument.word & _U64]
    if isinstance(argument, bool):
        return [int(argument)]
    if isinstance(argument, int):
        if not -(1 << 63) <= argument <= _U64:
            raise _unfit(argument, "it does not fit 64 bits", "pass it as bytes")
        return [argument & _U64]
    if isinstance(argument, (bytes, bytearray, memoryview)):
        data = bytes(argument)
        data += bytes(-len(data) % SLOT_BYTES)
        return list(struct.unpack(f"<{len(data) // SLOT_BYTES}Q", data))
    if getattr(getattr(argument, "dtype", None), "kind", "") in _SCALAR_KINDS and argument.ndim == 0:
        return slots(argument.tobytes())
    if isinstance(argument, float):
        raise _unfit(argument, "a Python float has no fixed size on the device", "wrap it: numpy.float32(x)")
    if getattr(argument, "ndim", 0):
        raise _unfit(
            f"an array of shape {argument.shape}", "the array is in host memory",
            "copy it to the device first: device.upload(array)",
        )
    if isinstance(argument, HostBuffer):
        raise _unfit(argument, "a kernel cannot reach it", "copy it to the device: stream.copy(buffer, pinned)")
    raise _unfit(argument, f"{a(type(argument).__name__)} cannot be a kernel argument",
                 "pass buffers, ints, NumPy scalars or bytes")


def single_slot(argument: Any, owner_tag: int = 0) -> int | None:
    """Return the word of an argument that plainly takes one slot; nothing is checked that the packing checks.

    Args:
        owner_tag: that of the device; a buffer of another Runtime gives a number that fits no slot.

    Raises:
        ValueError: `slots` must decide.
    """
    if type(argument) is int:
        return argument
    if isinstance(argument, (DeviceBuffer, ManagedBuffer, RegisteredBuffer)):
        return argument.word if not owner_tag or argument.word is None else argument.word - owner_tag
    kind = getattr(argument, "dtype", None)
    if kind is not None and kind.kind in _SCALAR_KINDS and kind.itemsize <= SLOT_BYTES and argument.ndim == 0:
        return int.from_bytes(argument.tobytes(), "little")
    raise ValueError(argument)


def _unfit(argument: Any, rule: str, cure: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"kernel argument {argument!r}: {rule}", hint=cure)


def all_slots(arguments: Sequence[Any], device: Any = None) -> list[int]:
    """Return the words of all arguments in order; what belongs to another Runtime than a device's is refused."""
    words: list[int] = []
    if device is not None:
        check_same_runtime("launch", device, *arguments)
    for argument in arguments:
        words += slots(argument)
    return words


def mover(stream: Stream, pool: ArgumentPool | None, size: int) -> Callable[[ArgumentBlock], None]:
    """Return the function that brings `size` bytes of a filled block of a pool to the device, as the pool does it.

    It raises when the driver refuses. Stores over the BAR were done when the block was filled, whole 64-byte units at a
    time; a DMA descriptor always carries its whole block.
    """
    device = stream.device
    hal, memory, way = device.hal, device.memory, "copy" if pool is None else pool.way
    if way == "ub" and stream.sink.immediate:
        queue_copy, device_id, sq_id = hal.raw("halSqTaskArgsAsyncCopy"), device.device_id, stream.queues.sq_id

        def over_ub(block: ArgumentBlock) -> None:
            block.descriptor.sqId, block.descriptor.size = sq_id, size
            if rc := queue_copy(device_id, block.reference):
                stream.check_open()
                raise memory.fault(rc, "halSqTaskArgsAsyncCopy", f"arguments of {size} bytes")

        return over_ub
    if way == "dma":
        submit, refused = dma_of(stream, size)

        def by_dma(block: ArgumentBlock) -> None:
            if rc := submit(block.reference, SYNC):
                raise refused(rc)

        return by_dma
    if way == "bar":
        return lambda block: None
    copy, refused_copy = copy_of(stream, size)
    count = ctypes.c_size_t(size)

    def by_copy(block: ArgumentBlock) -> None:
        if rc := copy(block.target, count, block.source, count):
            raise refused_copy(rc)

    return by_copy


_Refused = Callable[[int], errors.RuntimeFault]


def dma_of(stream: Stream, size: int) -> tuple[Callable[..., int], _Refused]:
    """Return the call that runs a block's DMA chain, `submit(reference, SYNC)`, and the fault where it is refused."""
    return stream.device.hal.raw("halMemcpySumbit"), _refused(stream, "halMemcpySumbit", size)


def copy_of(stream: Stream, size: int) -> tuple[Callable[..., int], _Refused]:
    """Return the driver's copy, `copy(target, count, source, count)`, and the fault where it is refused."""
    return stream.device.hal.raw("drvMemcpy"), _refused(stream, "drvMemcpy", size)


def _refused(stream: Stream, call: str, size: int) -> _Refused:
    memory = stream.device.memory
    return lambda rc: memory.fault(rc, call, f"arguments of {size} bytes")


def block_bytes(slots: int, unit: int = STORE_BYTES) -> int:
    """Return the bytes that a launch's arguments take in a block which it shares with others: whole units."""
    return max(-(-slots * SLOT_BYTES // unit), 1) * unit


def take_block(stream: Stream, pool: ArgumentPool | None, size: int) -> ArgumentBlock:
    """Take a block from a pool; from an empty one after reclaiming this stream, then the others; else a new one.

    Behind an empty pool of the BAR window come the others; the block says which one it is of.
    """
    pools = stream.device.arguments
    while pool is not None:
        if block := pool.take():
            return block
        for candidate in (stream, stream.device.context.default_stream, *stream.device.context.streams):
            reclaim(candidate)
            if block := pool.take():
                return block
        pool = pools.behind(pool, size)
    return pools.one_off(size)
