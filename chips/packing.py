"""Compiles the encoding of one set of fields into a function.

A loop over bit fields costs several times what the arithmetic does, so the arithmetic for one set of field names is
written out once and kept: fields that fill whole bytes go to ``struct`` as they are, which checks their range too; the
others are put together in words between them.
"""

from __future__ import annotations

import keyword
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

Encode = Callable[..., bytes]

_CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}


class _Bits(NamedTuple):
    """A field by the name of its parameter: offset and width in bits."""

    name: str
    offset: int
    width: int


class _Piece(NamedTuple):
    """A run of whole bytes: its struct code and the expression of its value ('' for zeros)."""

    code: str
    value: str


def compile_encoder(
    fields: Sequence[tuple[str, int, int]],
    constants: Iterable[tuple[int, int]],
    size: int,
    complain: Callable[[tuple[int, ...]], NoReturn],
) -> Encode:
    """Return a function of the fields' values, by position or by name, that packs ``size`` bytes.

    ``fields`` are (name, offset, width) in bits, ``constants`` (value, offset).  Values that do not fit go to
    ``complain``.  Names that are no identifiers (array elements) can be given by position only.
    """
    placed = [
        _Bits(name if name.isidentifier() and not keyword.iskeyword(name) else f"_{index}", offset, width)
        for index, (name, offset, width) in enumerate(fields)
    ]
    whole = {field.offset: field for field in placed if field.offset % 8 == 0 and field.width in _CODES}
    bits = [field for field in placed if field.offset not in whole]
    pieces = list(_pieces(whole, bits, sum(value << offset for value, offset in constants), size * 8))
    checks = " or ".join(f"{field.name} >> {field.width}" for field in bits) or "0"
    parameters = ", ".join(field.name for field in placed)
    text = f"""
def encode({parameters}):
    try:
        if not ({checks}):
            return pack({", ".join(piece.value for piece in pieces if piece.value)})
    except error:
        pass
    complain(({parameters}{"," if placed else ""}))
"""
    packer = struct.Struct("<" + "".join(piece.code for piece in pieces))
    scope: dict[str, object] = {"pack": packer.pack, "error": struct.error, "complain": complain}
    exec(text, scope)  # the text holds nothing but field names of our tables and numbers
    encode: Encode = scope["encode"]  # type: ignore[assignment]
    return encode


def _pieces(whole: Mapping[int, _Bits], bits: list[_Bits], fixed: int, end: int) -> Iterator[_Piece]:
    """Cut the struct into whole fields and, between them, words of bit fields and constants."""
    at = 0
    for start in (*sorted(whole), end):
        while at < start:
            width = next(width for width in (64, 32, 16, 8) if at % width == 0 and at + width <= start)
            yield _word(bits, fixed, at, width)
            at += width
        if start < end:
            field = whole[start]
            yield _Piece(_CODES[field.width], field.name)
            at = start + field.width


def _word(bits: list[_Bits], fixed: int, at: int, width: int) -> _Piece:
    """One word of bit fields and constants; what reaches beyond it is cut off, for the next word."""
    constant = fixed >> at & (1 << width) - 1
    terms = [str(constant)] if constant else []
    for field in bits:
        if field.offset >= at + width or field.offset + field.width <= at:
            continue
        term = f"{field.name} >> {at - field.offset}" if field.offset < at else field.name
        if field.offset + field.width > at + width:
            term = f"({term}) & {(1 << at + width - max(field.offset, at)) - 1}"
        terms.append(f"({term}) << {field.offset - at}" if field.offset > at else f"({term})")
    return _Piece(_CODES[width], " | ".join(terms)) if terms else _Piece(f"{width // 8}x", "")
