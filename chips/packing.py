"""Compiles the encoding of one set of bit fields, and the decoding of all of them, into functions.

A loop over bit fields costs several times what the arithmetic does, so the arithmetic is written out once and kept:
fields that fill whole bytes go through ``struct`` as they are, which checks their range too; the others are put
together in words between them, or taken out of such words.
"""

from __future__ import annotations

import keyword
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from npuhal.tuples import NamedTuple

Encode = Callable[..., bytes]

_CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}


class _Bits(NamedTuple):
    """A field by the name of its parameter or key: offset and width in bits."""

    name: str
    offset: int
    width: int

    @property
    def end(self) -> int:
        """Bit behind the field."""
        return self.offset + self.width


class _Run(NamedTuple):
    """A run of whole bytes that struct reads or writes at once, in bits."""

    offset: int
    width: int

    @property
    def end(self) -> int:
        """Bit behind the run."""
        return self.offset + self.width

    def touches(self, field: _Bits) -> bool:
        """Whether a part of the field lies in the run."""
        return field.offset < self.end and self.offset < field.end


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
    fixed = sum(value << offset for value, offset in constants)
    runs = list(_cut(whole, size * 8))
    values = [whole[run.offset].name if run.offset in whole else _word(bits, fixed, run) for run in runs]
    checks = " or ".join(f"{field.name} >> {field.width}" for field in bits) or "0"
    parameters = ", ".join(field.name for field in placed)
    text = f"""
def encode({parameters}):
    try:
        if not ({checks}):
            return pack({", ".join(value for value in values if value)})
    except error:
        pass
    complain(({parameters}{"," if placed else ""}))
"""
    codes = (_CODES[run.width] if value else f"{run.width // 8}x" for run, value in zip(runs, values, strict=True))
    packer = struct.Struct("<" + "".join(codes))
    scope: dict[str, object] = {"pack": packer.pack, "error": struct.error, "complain": complain}
    _run(text, "encode", scope)
    encode: Encode = scope["encode"]  # type: ignore[assignment]
    return encode


def compile_decoder(fields: Sequence[tuple[str, int, int]], size: int) -> Callable[[bytes], dict[str, int]]:
    """Return a function of ``size`` bytes that gives every field's value by name; struct.error for another size."""
    placed = [_Bits(name, offset, width) for name, offset, width in fields]
    whole = {field.offset: field for field in placed if field.offset % 8 == 0 and field.width in _CODES}
    runs = list(_cut(whole, size * 8))
    needed = [run for run in runs if any(run.touches(field) for field in placed)]
    form = "<" + "".join(_CODES[run.width] if run in needed else f"{run.width // 8}x" for run in runs)
    words = ", ".join(f"w{run.offset}" for run in needed)
    values = ", ".join(f"{field.name!r}: {_value(field, needed)}" for field in placed)
    text = f"""
def decode(raw):
    {words}{"," if needed else "()"} = unpack(raw)
    return {{{values}}}
"""
    scope: dict[str, object] = {"unpack": struct.Struct(form).unpack}
    _run(text, "decode", scope)
    decode: Callable[[bytes], dict[str, int]] = scope["decode"]  # type: ignore[assignment]
    return decode


def _value(field: _Bits, runs: Sequence[_Run]) -> str:
    """Expression of a field's value from the words it lies in."""
    parts = []
    for run in runs:
        if run.touches(field):
            shift = run.offset - field.offset
            parts.append(f"w{run.offset} << {shift}" if shift > 0 else f"w{run.offset} >> {-shift}")
            if (run.offset, run.width) == (field.offset, field.width):
                return f"w{run.offset}"
    return f"({' | '.join(parts)}) & {(1 << field.width) - 1}"


def _cut(whole: Mapping[int, _Bits], end: int) -> Iterator[_Run]:
    """Cut a struct of ``end`` bits into whole fields and, between them, aligned words."""
    at = 0
    for start in (*sorted(whole), end):
        while at < start:
            width = next(width for width in (64, 32, 16, 8) if at % width == 0 and at + width <= start)
            yield _Run(at, width)
            at += width
        if start < end:
            yield _Run(start, whole[start].width)
            at = start + whole[start].width


def _word(bits: Sequence[_Bits], fixed: int, run: _Run) -> str:
    """Expression of a word of bit fields and constants ('' for zeros); what reaches beyond it is cut off."""
    constant = fixed >> run.offset & (1 << run.width) - 1
    terms = [str(constant)] if constant else []
    for field in bits:
        if not run.touches(field):
            continue
        shift = field.offset - run.offset
        term = f"{field.name} >> {-shift}" if shift < 0 else field.name
        if field.end > run.end:
            term = f"({term}) & {(1 << run.end - max(field.offset, run.offset)) - 1}"
        terms.append(f"({term}) << {shift}" if shift > 0 else f"({term})")
    return " | ".join(terms)


def _run(text: str, name: str, scope: dict[str, object]) -> None:
    """Define what a text says, which holds nothing but field names of our tables and numbers.

    It is compiled first: `exec` of a text makes the interpreter forget that Ctrl-C is what the process ends by, and
    entries are encoded up to the very end.
    """
    exec(compile(text, f"<chips/packing.py: {name}>", "exec"), scope)
