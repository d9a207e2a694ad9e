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
Image = Callable[["tuple[Any, ...]"], bytes]
"""`image(arguments)` returns them in their frame."""


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
    row = _Row(kinds, frame)
    layout = struct.Struct(f"<{row.form}")
    target = f"offset + {frame.lead}" if frame.lead else "offset"
    if unit == 1:
        return row.function("view, offset, arguments", f"pack_into(view, {target}, {row.values})", layout)
    layout = struct.Struct(f"{layout.format}{-layout.size % unit}x")  # new bytes, because threads share a launcher
    store = f"view[{target} : offset + {frame.lead + layout.size}] = pack({row.values})"
    return row.function("view, offset, arguments", store, layout)


@lru_cache(maxsize=512)
def imager(kinds: tuple[type, ...], frame: Frame, blank: bytes) -> Image:
    """Return the function that returns arguments of these types in their frame, as `packer` would have written them.

    Args:
        blank: the image without arguments: its lead is taken from there, and its length.
    """
    row, lead = _Row(kinds, frame), blank[: frame.lead]
    layout = struct.Struct(f"<{f'{len(lead)}s' if lead else ''}{row.form}")
    layout = struct.Struct(f"{layout.format}{len(blank) - layout.size}x")
    values = ", ".join((*(["lead"] if lead else []), row.values))
    return row.function("arguments", f"return pack({values})", layout, lead=lead)


class _Row:
    """How a row of types is read and packed: the format, and the values as text of Python."""

    __slots__ = ("_kinds", "_names", "_unlike", "form", "values")

    def __init__(self, kinds: tuple[type, ...], frame: Frame) -> None:
        codes = [_code(kind) for kind in kinds]
        self._kinds = kinds
        self._names = names = [f"a{number}" for number in range(len(kinds))]
        word = f"word - {frame.owner_tag}" if frame.owner_tag else "word"
        values = [name if code else f"{name}.{word}" for name, code in zip(names, codes, strict=True)]
        self.values = ", ".join((*map(str, frame.before), *values, *map(str, frame.behind)))
        slots = (_SLOTS[code] for code in codes)
        self.form = "".join(("Q" * len(frame.before), *slots, "Q" * len(frame.behind)))
        self._unlike = [f"type({name}) is not kind{n}" for n, name in enumerate(names) if codes[n]]
        self._unlike += [
            f"({name} := float({name})) != {name}" for n, name in enumerate(names) if codes[n] in _THROUGH_DOUBLE
        ]

    def function(self, parameters: str, do: str, layout: struct.Struct, **bound: Any) -> Callable[..., Any]:
        """Return the function that does something with the values; `pack` and `pack_into` are those of a layout."""
        source = f"""
def packed({parameters}):
    try:
        [{', '.join(self._names)}] = arguments
        if {' or '.join(self._unlike) or False}:
            raise OtherTypes
        {do}
    except failures:
        raise OtherTypes from None
"""
        scope: dict[str, Any] = {
            "pack": layout.pack, "pack_into": layout.pack_into, "OtherTypes": OtherTypes,
            "failures": (AttributeError, TypeError, ValueError, struct.error),
            **{f"kind{n}": kind for n, kind in enumerate(self._kinds)}, **bound,
        }
        exec(compile(source, "<runtime/launch/unrolled.py>", "exec"), scope)
        made: Callable[..., Any] = scope["packed"]
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
