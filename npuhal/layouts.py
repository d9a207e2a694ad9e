"""Builds ctypes types from declarations: one struct, and what it contains, when somebody first asks for it.

Every struct class has no instance dictionary, so a misspelt field raises AttributeError instead of being lost.
Pointers inside structs are plain addresses (c_void_p: read as int or None), because that is what the hot path stores;
the pointee stays readable in the declaration. Bit-fields are a named storage unit plus accessors: their layout then
does not depend on the C compiler that ctypes imitates, and such a struct can be passed by value.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from npuhal import declarations
from npuhal.declarations import CHAPTERS, FIRST_VERSION, Item, Row
from npuhal.version import DRIFT_VERSION

SCALARS: Mapping[str, type[Any] | None] = {
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "f32": ctypes.c_float, "bool": ctypes.c_bool, "char": ctypes.c_char, "void": None,
}  # fmt: skip
"""Short scalar names of the tables and their ctypes types (LP64: C's `unsigned long` is u64)."""

OPAQUE = frozenset({"Mbuf", "drv_mem_handle", "mempool_t"})
"""Structs the headers only declare: a pointer to one is an address and nothing else."""

_ARRAY = re.compile(r"(.+)\[(\d+)\]\Z")
_TYPE_KINDS = ("struct", "union", "enum", "callback")


class BitField:
    """Accessor for some bits of a storage unit; the widths are those of the C bit-field."""

    __slots__ = ("mask", "name", "shift", "unit", "width")

    def __init__(self, name: str, unit: str, shift: int, width: int) -> None:
        self.name = name
        self.unit = unit
        self.shift = shift
        self.width = width
        self.mask = (1 << width) - 1

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        return getattr(obj, self.unit) >> self.shift & self.mask

    def __set__(self, obj: Any, value: int) -> None:
        if not 0 <= value <= self.mask:
            raise ValueError(f"{self.name} = {value}: {self.width} bits hold 0 to {self.mask}")
        kept = getattr(obj, self.unit) & ~(self.mask << self.shift)
        setattr(obj, self.unit, kept | value << self.shift)


class Layouts:
    """The types of one header version, or of other chapters; what is not theirs is exactly the `base`'s."""

    def __init__(
        self,
        version: int = FIRST_VERSION,
        chapters: tuple[str, ...] = CHAPTERS,
        base: Layouts | None = None,
    ) -> None:
        self.version = version
        self.chapters = chapters
        self.base = base
        self._structs: dict[str, type[Any]] = {}

    def struct(self, name: str) -> type[Any]:
        """Return the ctypes class of a struct or union, by tag or typedef name; KeyError if there is none."""
        built = self._structs.get(name)
        if built is None:
            row = declarations.find(name, ("struct", "union"), self.version, self.chapters)
            if row is not None and self._owns(row):
                built = self._structs.get(row.name) or self._build(row)
                self._structs[row.name] = built
            elif self.base is not None:
                built = self.base.struct(name)
            else:
                raise KeyError(name)
            self._structs[name] = built
        return built

    def _owns(self, row: Row) -> bool:
        base = self.base
        return base is None or row.chapter not in base.chapters or row.since > base.version

    def argument_type(self, text: str) -> Any:
        """Return the ctypes type of an argument or result; None for `void`, which only a result can be.

        void*, char* and pointers to opaque structs are c_void_p (an address, bytes or a ctypes instance may be passed);
        T** is a pointer to c_void_p; a pointer to a scalar or struct is POINTER of it.
        """
        if not text.endswith("*"):
            return self._value_type(text)
        target = text[:-1]
        if target.endswith("*"):
            return ctypes.POINTER(ctypes.c_void_p)
        if target in OPAQUE or target in ("void", "char"):
            return ctypes.c_void_p
        return ctypes.POINTER(self._value_type(target))

    def _value_type(self, text: str) -> Any:
        if text in SCALARS:
            return SCALARS[text]
        row = declarations.find(text, _TYPE_KINDS, self.version, self.chapters)
        if row is None:
            if self.base is None:
                raise KeyError(text)
            return self.base._value_type(text)
        if row.kind == "enum":
            return ctypes.c_int
        if row.kind == "callback":
            arguments = [self.argument_type(item.type) for item in declarations.parse_items(row.body)]
            return ctypes.CFUNCTYPE(self.argument_type(row.result), *arguments)
        return self.struct(text)

    def _field_type(self, text: str) -> Any:
        if text.endswith("*"):
            return ctypes.c_void_p
        array = _ARRAY.match(text)
        if array:
            return self._field_type(array[1]) * int(array[2])
        return self._value_type(text)

    def _build(self, row: Row) -> type[Any]:
        source = f"{row.header}, {row.kind} {row.alias or row.name}"
        return self._group(row.name, row.kind, declarations.parse_items(row.body), f"{source} (chapter {row.chapter}).")

    def _group(self, name: str, kind: str, items: tuple[Item, ...], doc: str) -> type[Any]:
        fields: list[tuple[str, Any]] = []
        anonymous: list[str] = []
        accessors: dict[str, BitField] = {}
        for number, item in enumerate(items):
            if not item.items:
                fields.append((item.name, self._field_type(item.type)))
            elif item.type in ("struct", "union"):
                field = item.name or f"_{item.type}{number}"
                if not item.name:
                    anonymous.append(field)
                inner = self._group(f"{name}.{field}", item.type, item.items, f"Part of {name}.")
                fields.append((field, inner * item.repeat if item.repeat > 1 else inner))
            else:
                unit = f"bits{number}"
                fields.append((unit, SCALARS[item.type]))
                shift = 0
                for part in item.items:
                    accessors[part.name] = BitField(part.name, unit, shift, int(part.type))
                    shift += int(part.type)
        base: Any = ctypes.Union if kind == "union" else ctypes.Structure
        members: dict[str, Any] = {"__slots__": (), "__doc__": doc, "__module__": "npuhal.structs", **accessors}
        if anonymous:
            members["_anonymous_"] = anonymous
        members["_fields_"] = fields
        built: type[Any] = type(base)(name, (base,), members)
        return built


def layouts(version: int = FIRST_VERSION) -> Layouts:
    """Return the types as the header of `version` lays them out (the number `halGetAPIVersion` answers)."""
    return _layouts(DRIFT_VERSION if version >= DRIFT_VERSION else FIRST_VERSION)


@cache
def _layouts(version: int) -> Layouts:
    return Layouts(version, base=_layouts(FIRST_VERSION) if version != FIRST_VERSION else None)
