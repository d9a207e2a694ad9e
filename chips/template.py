"""Templates: the bytes of an entry, cut at the words that change; and the fields and words that layouts are made of."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from npuhal.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SQE_BYTES = 64
"""Size of one submission queue entry (core_spec 9.3)."""

WORD_CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}
"""How `struct` writes a word, by its bits."""


class LayoutError(ValueError):
    """A layout table that cannot be right; says file, entry and reason."""


class FieldOverflow(ValueError):
    """A value that does not fit its field; nothing was encoded."""

    def __init__(self, layout: str, field: str, value: int, width: int) -> None:
        super().__init__(
            f"{layout}.{field} = {value:#x} does not fit {width} bits (0..{(1 << width) - 1:#x}); pass a smaller value"
        )
        self.layout, self.field, self.value, self.width = layout, field, value, width

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.layout, self.field, self.value, self.width))


class UnknownField(KeyError):
    """A name that the layout does not have."""

    def __init__(self, layout: str, field: str) -> None:
        super().__init__(field)
        self.layout, self.field = layout, field

    def __str__(self) -> str:
        return f"{self.layout} has no field {self.field!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.layout, self.field))


@dataclass(frozen=True, slots=True)
class Field:
    """One named run of bits: ``offset`` and ``width`` in bits from the start of the struct."""

    name: str
    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Word:
    """A template variable: a value of ``bits`` bits at most in a word of ``width`` bits at byte ``offset``."""

    name: str
    offset: int
    bits: int
    width: int


class Template:
    """An encoded row with holes: constant runs and the words that change.

    ``struct.pack_into(buffer, 0, runs[0], v0, runs[1], v1, ..., runs[n])`` writes it, with the values in the order of
    ``names``.  ``bias[i]`` must be added to value i first; it is 0 unless the field around the word carries constant
    bits or an offset as well (a stack level above an argument address), so a launcher adds it once to the base it
    counts from.
    """

    __slots__ = ("bias", "names", "row", "runs", "struct", "words")

    def __init__(self, row: bytes, words: Mapping[Word, int]) -> None:
        """Cut ``row``, which holds the given values, at ``words``."""
        ordered = sorted(words, key=lambda word: word.offset)
        form, runs, bias, at = ["<"], [], [], 0
        for word in ordered:
            if word.offset < at:
                raise LayoutError(f"template words overlap at byte {word.offset} ({word.name})")
            end = word.offset + word.width // 8
            form.append(f"{word.offset - at}s{WORD_CODES[word.width]}")
            runs.append(row[at : word.offset])
            bias.append(int.from_bytes(row[word.offset : end], "little") - words[word])
            at = end
        form.append(f"{len(row) - at}s")
        runs.append(row[at:])
        self.row = row
        self.words: tuple[Word, ...] = tuple(ordered)
        self.names: tuple[str, ...] = tuple(word.name for word in ordered)
        self.struct = struct.Struct("".join(form))
        self.runs: tuple[bytes, ...] = tuple(runs)
        self.bias: tuple[int, ...] = tuple(bias)

    def __repr__(self) -> str:
        return f"Template({', '.join(self.names)}; {len(self.row)} bytes)"

    def varying(self, *names: str) -> Template:
        """Return the template with only these words left open; the others keep the values of the row."""
        return Template(
            self.row,
            {
                word: int.from_bytes(self.row[word.offset : word.offset + word.width // 8], "little") - bias
                for word, bias in zip(self.words, self.bias, strict=True)
                if word.name in names
            },
        )

    def render(self, **values: int) -> bytes:
        """Return the row with the words filled in; every name is required, FieldOverflow for a value too wide."""
        if values.keys() != set(self.names):
            raise TypeError(f"template takes {', '.join(self.names)}; got {', '.join(values) or 'nothing'}")
        parts: list[bytes | int] = [self.runs[0]]
        for word, bias, run in zip(self.words, self.bias, self.runs[1:], strict=True):
            value = values[word.name]
            if value >> word.bits:
                raise FieldOverflow("template", word.name, value, word.bits)
            parts += (value + bias, run)
        return self.struct.pack(*parts)

    def render_many(self, count: int, **columns: Any) -> NDArray[np.uint8]:
        """Return ``count`` rows as a (count, size) array; each word takes one int or a sequence of ``count`` ints.

        Values are taken modulo the word's width, as NumPy assignment does; check ranges where the columns are made.
        """
        import numpy as np

        if columns.keys() != set(self.names):
            raise TypeError(f"template takes {', '.join(self.names)}; got {', '.join(columns) or 'nothing'}")
        size = len(self.row)
        rows = np.empty((count, size), np.uint8)
        rows[:] = np.frombuffer(self.row, np.uint8)
        for word, bias in zip(self.words, self.bias, strict=True):
            column = self.column(rows, word.name)
            column[...] = columns[word.name]
            if bias:
                column += column.dtype.type(bias % (1 << word.width))
        return rows

    def column(self, rows: NDArray[np.uint8], name: str) -> NDArray[Any]:
        """Return one word of all rows as a view; values in it have the word's bias added."""
        import numpy as np

        word = next(word for word in self.words if word.name == name)
        view: NDArray[Any] = np.ndarray(
            (len(rows),), f"<u{word.width // 8}", buffer=rows.data, offset=word.offset, strides=(rows.shape[1],)
        )
        return view
