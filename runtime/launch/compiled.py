"""Launches by the optional compiled part: arguments, their block, the send, and `kernel[blocks]`.

The callables here hold the Python functions that they stand for; see `runtime.core.submission.compiled`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from runtime.core.stream.stream import Stream
from runtime.core.submission import compiled as sends
from runtime.core.submission.compiled import function_address, member
from runtime.launch.args import SLOT_BYTES, SYNC, copy_of, dma_of
from runtime.memory.arguments import ArgumentBlock
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from runtime.launch.unrolled import Frame
    from runtime.memory.arguments import ArgumentPool

_MOST_WORDS = 64
_SHORT_FLOATS: Final = ("e", "f")
"""Codes whose NaN does not always survive `struct`."""

if sends.extension is not None:
    sends.extension.buffers(member(DeviceBuffer, "word"))


def launch(
    slow: Callable[..., None], make_send: Callable[[], Callable[..., None] | None], stream: Stream, pool: ArgumentPool,
    frame: Frame, count: int, unit: int, size: int,
) -> Callable[..., None] | None:
    """Return the compiled launch of so many arguments, or None where there is none.

    Args:
        slow: the Python function.
        make_send: returns what sends a block that is filled.
        unit: bytes that are stored at a time.
        size: what the block takes.
    """
    words = len(frame.before) + count + len(frame.behind)
    padded = -(-words * SLOT_BYTES // unit) * unit
    if sends.extension is None or frame.lead or stream.tracer is not None:
        return None
    if padded > _MOST_WORDS * SLOT_BYTES or pool.way not in ("dma", "bar", "copy"):
        return None
    send = make_send()
    if not isinstance(send, sends.extension.Send):
        return None
    mover, move = _movers(stream, pool, size)
    _, refused = dma_of(stream, size) if pool.way == "dma" else copy_of(stream, size)

    def refuse(rc: int) -> None:
        raise refused(rc)

    image = struct.pack(f"<{words}Q", *frame.before, *(count * (0,)), *frame.behind)
    made: Callable[..., None] = sends.extension.Launch(
        slow=slow, held=(send, pool.free, move, refuse, frame.owner_tag or None),
        members=(member(ArgumentBlock, "ends"), member(ArgumentBlock, "address")), mover=mover, flag=SYNC,
        copied=size if pool.way == "copy" else 0, count=count, before=len(frame.before),
        image=image.ljust(padded, b"\0"), unit=unit,
    )  # fmt: skip
    return made


def _movers(stream: Stream, pool: ArgumentPool, size: int) -> tuple[int, Callable[[ArgumentBlock], int] | None]:
    """Return what brings a block over: the address of a C function, or a Python function; neither where we store."""
    if pool.way == "bar":
        return 0, None
    if pool.way == "dma":
        submit, _ = dma_of(stream, size)
        mover = function_address(submit)
        return mover, None if mover else lambda block: submit(block.reference, SYNC)
    copy, _ = copy_of(stream, size)
    mover, count = function_address(copy), ctypes.c_size_t(size)
    return mover, None if mover else lambda block: copy(block.target, count, block.source, count)


def grid(slow: Callable[..., None], kernel: object, blocks: int) -> Callable[..., None]:
    """Return what `kernel[blocks]` gives, compiled where it can be."""
    if sends.extension is None:
        return slow
    made: Callable[..., None] = sends.extension.Grid(slow, kernel, blocks, member(Stream, "launchers"))
    return made


def compile_subscript(kernel: Any) -> None:
    """Let a class of kernels find what its subscripts have returned without a Python call."""
    if sends.extension is not None:
        kernel.__getitem__ = sends.extension.subscript(kernel.__getitem__, kernel._grids)


def learn(kind: type, code: str, size: int) -> None:
    """Let compiled launches read scalars of a NumPy type; `code` is that of `struct`.

    The value stands behind the head of the object: a type that keeps it elsewhere is left to Python.
    """
    if sends.extension is None or kind in sends.extension.scalars:
        return
    probe: Any = kind(1)
    offset = object.__basicsize__
    if ctypes.string_at(id(probe) + offset, size) == probe.tobytes():
        sends.extension.scalars[kind] = bytes((offset, size, code in _SHORT_FLOATS))
