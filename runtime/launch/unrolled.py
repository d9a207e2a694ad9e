"""Reading arguments and packing them, written out for one row of types: a loop over them costs three times as much.

A launcher meets the same types over and over. The function for a row of types reads the address of each buffer, looks
whether each scalar is of the type that it was made for, and packs all with one call, straight from the arguments.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from npuhal.tuples import NamedTuple
from runtime.launch.compiled import learn
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import ManagedBuffer, RegisteredBuffer

_BUFFERS = (DeviceBuffer, ManagedBuffer, RegisteredBuffer)
_NUMPY = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f2": "e",
    "f4": "f", "f8": "d",
}  # fmt: skip
"""How `struct` packs a NumPy scalar, by kind and size."""
_SLOTS = {"": "Q", **{code: f"{code}{8 - struct.calcsize(f'<{code}')}x" for code in (*_NUMPY.values(), "Q")}}
_THROUGH_DOUBLE = ("e", "f")
"""Codes that `struct` rounds from a double, which does not keep every NaN as it is."""

Pack = Callable[[Any, int, "tuple[Any, ...]"], None]
"""`pack(view, offset, arguments)` writes all arguments, 8 bytes each."""


class Frame(NamedTuple):
    """What stands around the arguments: bytes in front that somebody else writes, and words of the runtime's own.

    ``owner_tag`` is what the words of buffers have above the address (`DeviceBuffer.word`).
    """

    lead: int = 0
    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    owner_tag: int = 0


BARE = Frame()
"""Nothing but the arguments."""


class OtherTypes(Exception):
    """Arguments that a function was not written for, or values that it does not pack; nothing was written."""


def packer_for(arguments: tuple[Any, ...], count: int, unit: int, frame: Frame = BARE) -> Pack:
    """Return the function that packs arguments like these, of which there should be `count`; see `packer`."""
    if len(arguments) != count:
        raise OtherTypes
    return packer(tuple(map(type, arguments)), unit, frame)


@lru_cache(maxsize=512)
def packer(kinds: tuple[type, ...], unit: int = 1, frame: Frame = BARE) -> Pack:
    """Return the function that packs arguments of these types.

    It raises `OtherTypes` for all that is not plain: another number or other types of arguments, a negative or too
    large int, a NaN of less than 64 bits, a freed buffer, a buffer of another Runtime.

    Args:
        unit: store whole units of so many bytes, by one slice assignment.
        frame: its words are written with the arguments, all of them behind its lead.

    Raises:
        OtherTypes: a type that does not plainly take one slot.
    """
    codes = [_code(kind) for kind in kinds]
    lead, before, behind, owner_tag = frame
    layout = struct.Struct("".join(("<", "Q" * len(before), *(_SLOTS[code] for code in codes), "Q" * len(behind))))
    names = [f"a{number}" for number in range(len(kinds))]
    word = f"word - {owner_tag}" if owner_tag else "word"
    values = [name if code else f"{name}.{word}" for name, code in zip(names, codes, strict=True)]
    packed = ", ".join((*map(str, before), *values, *map(str, behind)))
    target = f"offset + {lead}" if lead else "offset"
    unlike = [f"type({name}) is not kind{n}" for n, name in enumerate(names) if codes[n]]
    unlike += [f"({name} := float({name})) != {name}" for n, name in enumerate(names) if codes[n] in _THROUGH_DOUBLE]
    rest = -layout.size % unit
    store = f"pack_into(view, {target}, {packed})"
    if unit > 1:  # the staging bytes are new each time, because threads share a launcher
        layout = struct.Struct(f"{layout.format}{rest}x")
        store = f"view[{target} : offset + {lead + layout.size}] = pack({packed})"
    source = f"""
def packed(view, offset, arguments):
    try:
        [{', '.join(names)}] = arguments
        if {' or '.join(unlike) or False}:
            raise OtherTypes
        {store}
    except failures:
        raise OtherTypes from None
"""
    scope: dict[str, Any] = {
        "pack": layout.pack, "pack_into": layout.pack_into, "OtherTypes": OtherTypes,
        "failures": (AttributeError, TypeError, ValueError, struct.error),
        **{f"kind{n}": kind for n, kind in enumerate(kinds)},
    }
    exec(compile(source, "<runtime/launch/unrolled.py>", "exec"), scope)
    made: Pack = scope["packed"]
    return made


def _code(kind: type) -> str:
    """Return how values of a type are packed; "" for buffers, whose address is."""
    if issubclass(kind, _BUFFERS):
        return ""
    if kind in (int, bool):
        return "Q"
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(kind, numpy.generic):
        raise OtherTypes
    dtype = numpy.dtype(kind)
    code = _NUMPY.get(f"{dtype.kind}{dtype.itemsize}")
    if code is None or dtype.type is not kind:  # a subclass may tell `struct` something else than its bytes
        raise OtherTypes
    learn(kind, code, dtype.itemsize)
    return code
