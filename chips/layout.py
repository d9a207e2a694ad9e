"""Bit-field layouts as data: read the tables, encode, decode, identify, and cut into templates.

A layout file (``chips/<generation>/sqe.yaml``) holds one entry per C struct, fields in order, lowest bit first::

    notify:
      struct: RtStarsNotifySqe
      base: header                     # its fields come first
      fields: notify_id:13 -:19 res:16 kernel_credit:8 -:8 timeout:32 -:352
      when: {type: 6}                  # the constants that identify it
      fill: {kernel_credit: 254}       # what it carries unless the builder gives another value
      task: NOTIFY_RECORD              # the task type it stands for when nothing else is known
      vary: {task_id: task_id}

``name:bits`` is a field, ``-:bits`` reserved bits that stay zero, ``name:bits*count`` an array whose elements are named
``name[0]`` and so on.  ``vary`` names the words of a template: the variable and the field its first bit falls on, with
``/64`` when the word is wider than that field, or ``/48of64`` when its value has 48 bits and the word that is written
64.  Multi-byte fields are little endian, bit n is bit n%8 of byte n//8.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from chips import yaml_file
from chips.packing import Encode, compile_decoder, compile_encoder
from chips.template import (
    SQE_BYTES,
    WORD_CODES,
    Field,
    FieldOverflow,
    LayoutError,
    Template,
    UnknownField,
    Word,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "SQE_BYTES",
    "Field",
    "FieldOverflow",
    "Layout",
    "LayoutError",
    "LayoutSet",
    "Template",
    "UnknownField",
    "Word",
    "load_layouts",
    "make_layout",
    "parse_fields",
]

_MAX_ENCODERS = 64


class Layout:
    """One struct: named fields, reserved bits, and the constants that identify it.  Immutable to its users.

    Decoding, and encoding of each set of field names that occurs, are compiled on first use and kept
    (``chips.packing``).
    """

    __slots__ = (
        "_decoder", "_encoders", "_reserved", "_slots",
        "fill", "name", "size", "struct", "task", "vary", "when",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        fields: tuple[Field, ...],
        size: int,
        *,
        c_struct: str = "",
        when: Mapping[str, int] | None = None,
        fill: Mapping[str, int] | None = None,
        task: str = "",
        vary: tuple[Word, ...] = (),
    ) -> None:
        self.name = name
        self.task = task
        self.struct = c_struct
        self.size = size
        self.when: dict[str, int] = dict(when or {})
        self.fill: dict[str, int] = dict(fill or {})
        self.vary = vary
        self._slots = {field.name: (field.offset, field.width) for field in fields}
        self._reserved: int | None = None
        self._encoders: dict[tuple[str, ...], Encode] = {}
        self._decoder: Callable[[bytes], dict[str, int]] | None = None

    def __repr__(self) -> str:
        return f"Layout({self.name}, {self.struct or 'no struct'}, {self.size} bytes)"

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every field in bit order, arrays element by element, reserved bits left out."""
        return tuple(Field(name, offset, width) for name, (offset, width) in self._slots.items())

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def field(self, name: str) -> Field:
        """Return one field; raises UnknownField."""
        try:
            offset, width = self._slots[name]
        except KeyError:
            raise UnknownField(self.name, name) from None
        return Field(name, offset, width)

    def encode(self, **values: int) -> bytes:
        """Return the struct's bytes: the constants of ``when`` and ``fill``, the given fields, zero elsewhere.

        A given field replaces the constant of the same name.  Raises FieldOverflow or UnknownField.
        """
        return self.pack(values)

    def pack(self, values: Mapping[str, int]) -> bytes:
        """Encode as ``encode`` does, from a mapping."""
        encode = self._encoders.get(names := tuple(values))
        if encode is None:
            encode = self.encoder(*names)
        return encode(*values.values())

    def encoder(self, *names: str) -> Encode:
        """Return ``encode`` for one set of fields, as a function of exactly these, by position or by keyword.

        Builders of hot kinds keep one; it saves finding it by its names at every call.  Raises UnknownField.
        """
        encode = self._encoders.get(names)
        if encode is None:
            fields = [self.field(name) for name in names]
            constants = [
                (value, self._slots[name][0]) for name, value in {**self.fill, **self.when}.items() if name not in names
            ]

            def complain(values: tuple[int, ...]) -> NoReturn:
                wrong = next(pair for pair in zip(fields, values, strict=True) if pair[1] >> pair[0].width)
                raise FieldOverflow(self.name, wrong[0].name, wrong[1], wrong[0].width)

            encode = compile_encoder(
                [(field.name, field.offset, field.width) for field in fields], constants, self.size, complain
            )
            if len(self._encoders) < _MAX_ENCODERS:
                self._encoders[names] = encode
        return encode

    def decode(self, raw: bytes) -> dict[str, int]:
        """Return every field's value; ``raw`` must have exactly ``size`` bytes (ValueError)."""
        self._check_size(raw)
        if self._decoder is None:
            self._decoder = compile_decoder([(name, *slot) for name, slot in self._slots.items()], self.size)
        return self._decoder(raw)

    def reserved_bits(self, raw: bytes) -> int:
        """Return the bits of ``raw`` that lie in reserved fields, in place: 0 for a clean struct."""
        self._check_size(raw)
        if self._reserved is None:
            used = 0
            for offset, width in self._slots.values():
                used |= ((1 << width) - 1) << offset
            self._reserved = ((1 << (self.size * 8)) - 1) & ~used
        return int.from_bytes(raw, "little") & self._reserved

    def matches(self, raw: bytes) -> bool:
        """Tell whether the identifying constants are in ``raw``."""
        mask, value = self.signature
        return int.from_bytes(raw, "little") & mask == value

    @property
    def signature(self) -> tuple[int, int]:
        """The bits that identify the layout and what they hold, as (mask, value) of the struct as one number."""
        mask = value = 0
        for name, constant in self.when.items():
            offset, width = self._slots[name]
            mask |= ((1 << width) - 1) << offset
            value |= constant << offset
        return mask, value

    def template(self, row: bytes, values: Mapping[str, int]) -> Template:
        """Cut ``row``, encoded with these values, at those words of ``vary`` that ``values`` names."""
        self._check_size(row)
        return Template(row, {word: values[word.name] for word in self.vary if word.name in values})

    def _check_size(self, raw: bytes) -> None:
        if len(raw) != self.size:
            raise ValueError(f"{self.name} takes {self.size} bytes, got {len(raw)}")


class LayoutSet(Mapping[str, Layout]):
    """The layouts of one generation by name; can tell which of them a row of bytes is."""

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self._layouts = dict(layouts)
        by_type: dict[int, list[Layout]] = {}
        for layout in self._layouts.values():
            if "type" in layout.when and layout.size == SQE_BYTES:  # not the frames that others build on
                by_type.setdefault(layout.when["type"], []).append(layout)
        self._by_type: dict[int, tuple[tuple[int, int, Layout], ...]] = {
            number: tuple((*layout.signature, layout) for layout in sorted(group, key=lambda each: -len(each.when)))
            for number, group in by_type.items()
        }
        typed = (layout.field("type").width for layout in self._layouts.values() if "type" in layout)
        self._type_mask = (1 << next(typed, 6)) - 1

    def __getitem__(self, name: str) -> Layout:
        return self._layouts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layouts)

    def __len__(self) -> int:
        return len(self._layouts)

    def type_of(self, word: int) -> int:
        """Return the type number that a row, read as one number, carries."""
        return word & self._type_mask

    def identify(self, raw: bytes) -> Layout | None:
        """Return the layout whose constants all agree with ``raw``, most constants first; None if there is none."""
        word = int.from_bytes(raw, "little")
        for mask, value, layout in self._by_type.get(self.type_of(word), ()):
            if word & mask == value:
                return layout
        return None


def parse_fields(text: str, base: Layout | None = None) -> tuple[tuple[Field, ...], int]:
    """Parse ``name:bits`` items behind ``base``; returns the fields and the total size in bits."""
    slots, end = _placed(text, base)
    return tuple(Field(name, offset, width) for name, (offset, width) in slots.items()), end


def _placed(text: str, base: Layout | None) -> tuple[dict[str, tuple[int, int]], int]:
    """Parse as `parse_fields` does; gives offset and width of each field by its name."""
    slots = dict(base._slots) if base else {}
    at = base.size * 8 if base else 0
    for item in text.split():
        name, _, shape = item.partition(":")
        bits, _, count = shape.partition("*")
        if not bits.isdigit() or (count and not count.isdigit()) or (width := int(bits)) == 0:
            raise LayoutError(f"{item!r} is not name:bits or name:bits*count")
        for element in [f"{name}[{index}]" for index in range(int(count))] if count else (name,):
            if name != "-":
                if element in slots:
                    raise LayoutError(f"field {element!r} stands twice")
                slots[element] = at, width
            at += width
    return slots, at


def make_layout(name: str, entry: Mapping[str, Any], known: Mapping[str, Layout] | None = None) -> Layout:
    """Build one layout from its table entry; ``known`` resolves ``base``.  Raises LayoutError."""
    known = known or {}
    unknown = entry.keys() - {"struct", "base", "fields", "when", "fill", "task", "vary"}
    if unknown:
        raise LayoutError(f"{name}: unknown key {sorted(unknown)[0]!r}")
    base = None
    if "base" in entry:
        base = known.get(entry["base"])
        if base is None:
            raise LayoutError(f"{name}: base {entry['base']!r} must stand before it")
    try:
        slots, bits = _placed(str(entry.get("fields", "")), base)
    except LayoutError as wrong:
        raise LayoutError(f"{name}: {wrong}") from None
    if bits % 8:
        raise LayoutError(f"{name}: {bits} bits are not whole bytes")
    when = {**(base.when if base else {}), **entry.get("when", {})}
    fill = {**(base.fill if base else {}), **entry.get("fill", {})}
    for constant, value in (*when.items(), *fill.items()):
        if constant not in slots or value >> slots[constant][1]:
            raise LayoutError(f"{name}: constant {constant} = {value} has no field to stand in")
    words = {word.name: word for word in base.vary} if base else {}
    for variable, slot in entry.get("vary", {}).items():
        words[variable] = _word(name, variable, str(slot), slots)
    made = Layout(
        name,
        (),
        bits // 8,
        c_struct=entry.get("struct", base.struct if base else ""),
        when=when,
        fill=fill,
        task=entry.get("task", base.task if base else ""),
        vary=tuple(words.values()),
    )
    made._slots = slots
    return made


def _word(layout: str, variable: str, slot: str, slots: Mapping[str, tuple[int, int]]) -> Word:
    name, _, shape = slot.partition("/")
    if name not in slots:
        raise LayoutError(f"{layout}: word {variable!r} starts at unknown field {name!r}")
    offset, wide = slots[name]
    bits, _, width = (shape or str(wide)).partition("of")
    word = Word(variable, offset // 8, int(bits), int(width or bits))
    if word.width not in WORD_CODES or word.bits > word.width or offset % 8:
        raise LayoutError(f"{layout}: word {variable!r} ({slot}) is not 8, 16, 32 or 64 bits on a byte boundary")
    return word


@functools.cache
def load_layouts(path: str | Path, parent: str | Path | None = None) -> LayoutSet:
    """Read a layout file; with ``parent``, its entries replace or extend those of that file.

    Raises LayoutError naming file and entry.  Results are shared: layouts are immutable.
    """
    inherited = load_layouts(parent) if parent else {}
    layouts: dict[str, Layout] = {}
    tables: dict[str, Any] = yaml_file.load(path) or {}
    for name, entry in tables.items():
        try:
            layouts[name] = make_layout(name, entry, {**inherited, **layouts})
        except LayoutError as wrong:
            raise LayoutError(f"{path}: {wrong}") from None
    return LayoutSet({**inherited, **layouts})
