"""The arguments of a kernel as its compiler listed them (the DFX_TYPE unit of a kernel's meta data).

The list is big endian whatever the byte order of the file: ``u16 type, u16 count, count u64 words`` for each item, an
argument being an item of type DFX_ARG_INFO.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Final

from chips.binary.notes import Notes
from chips.binary.tlv import FunctionTlv
from npuhal.tuples import NamedTuple

__all__ = ["Argument", "ArgumentKind", "PointerKind", "count_arguments", "list_arguments"]

_UNKNOWN_SIZE: Final = 2**64 - 1


class ArgumentKind(IntEnum):
    """What one argument of a kernel is for."""

    GENERAL = 1
    INPUT = 2
    OUTPUT = 3
    WORKSPACE = 4
    LOG = 5
    MC2_CONTEXT = 6
    TILING = 7
    L1 = 8
    L2 = 9
    OVERFLOW = 10
    FFTS_ADDRESS = 11
    SHAPE = 12


class PointerKind(IntEnum):
    """How an argument points to its data."""

    ONE_LEVEL = 1
    TWO_LEVEL = 2
    TWO_LEVEL_WITH_SHAPE = 3
    PLACEHOLDER = 4


class Argument(NamedTuple):
    """One argument as the compiler described it; ``size`` in bytes is None when unknown. Unknown kinds stay numbers."""

    kind: ArgumentKind | int
    pointer: PointerKind | int
    size: int | None
    shape: int | None


@lru_cache(maxsize=256)  # each launcher asks several times, and kernels of a library have few lists between them
def list_arguments(dfx: bytes) -> tuple[Argument, ...]:
    """Return the arguments in a list, in order; items cut short and items without words are left out."""
    return tuple(_argument(words) for kind, words in _items(dfx) if kind == FunctionTlv.DFX_ARG_INFO and words)


def _items(dfx: bytes | memoryview) -> Iterator[tuple[int, tuple[int, ...]]]:
    position = 0
    while position + 4 <= len(dfx):
        kind, count = struct.unpack_from(">HH", dfx, position)
        position += 4
        if position + 8 * count > len(dfx):
            return
        yield kind, struct.unpack_from(f">{count}Q", dfx, position)
        position += 8 * count


def count_arguments(dfx: memoryview, part: str, notes: Notes) -> int:
    """Return the number of arguments as registration counts it; a number that differs from the list's is noted."""
    # The vendor's runtime starts at 1 and takes 4 bytes off the length, so the last item is never reached and the 1
    # stands for it: right for a well-formed list, and launches must agree with it for the others too.
    if not len(dfx):
        return 0
    count, remaining, stated = 1, len(dfx) - 4, 0
    for kind, words in _items(dfx):
        stated += kind == FunctionTlv.DFX_ARG_INFO
        remaining -= 4 + 8 * len(words)
        count += kind == FunctionTlv.DFX_ARG_INFO and remaining >= 0
    if count != stated:
        notes.add(f"{part}: {stated} arguments are listed, registration counts {count}")
    return count


def _argument(words: tuple[int, ...]) -> Argument:
    kind, pointer = words[0] & 0xFFFF, words[0] >> 16 & 0xFFFF
    size = words[1] if len(words) > 1 and words[1] != _UNKNOWN_SIZE else None
    shape = words[2] if len(words) > 2 else None
    return Argument(
        ArgumentKind(kind) if kind in _ARGUMENT_KINDS else kind,
        PointerKind(pointer) if pointer in _POINTER_KINDS else pointer,
        size,
        shape,
    )


_ARGUMENT_KINDS: Final = frozenset(ArgumentKind)
_POINTER_KINDS: Final = frozenset(PointerKind)
