"""Shapes: what a C type amounts to in memory, read from C text, from the tables' text, and asked of ctypes types."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from typing import Any

from npuhal import declarations
from npuhal.layouts import OPAQUE

Shape = tuple[Any, ...]
"""("int", size, signed), ("enum",), ("bool",), ("char",), ("float", size), ("void",), ("to", shape), ("struct", name),
("array", count, shape), ("opaque", name) or ("callback",)."""

_C_SCALARS: Mapping[str, Shape] = {
    "char": ("char",), "_Bool": ("bool",), "bool": ("bool",), "float": ("float", 4), "void": ("void",),
    "unsigned char": ("int", 1, False), "uint8_t": ("int", 1, False), "signed char": ("int", 1, True),
    "unsigned short": ("int", 2, False), "short": ("int", 2, True), "uint16_t": ("int", 2, False),
    "unsigned int": ("int", 4, False), "int": ("int", 4, True), "uint32_t": ("int", 4, False),
    "unsigned long": ("int", 8, False), "unsigned long long": ("int", 8, False), "size_t": ("int", 8, False),
    "long": ("int", 8, True), "long long": ("int", 8, True), "uint64_t": ("int", 8, False),
    "int32_t": ("int", 4, True), "int64_t": ("int", 8, True), "pid_t": ("int", 4, True),
}  # fmt: skip
_SHORT_SCALARS: Mapping[str, Shape] = {
    "u8": ("int", 1, False), "u16": ("int", 2, False), "u32": ("int", 4, False), "u64": ("int", 8, False),
    "i8": ("int", 1, True), "i16": ("int", 2, True), "i32": ("int", 4, True), "i64": ("int", 8, True),
    "f32": ("float", 4), "bool": ("bool",), "char": ("char",), "void": ("void",),
}  # fmt: skip
_ARRAY = re.compile(r"(.*?)\s*\[(\d*)\]\Z")


class CNames:
    """Reads C type texts, typedefs resolved, into shapes."""

    def __init__(self, typedefs: Mapping[str, Any]) -> None:
        self._typedefs = typedefs

    def shape(self, text: str, argument: bool = True) -> Shape:
        """Return the shape of a C type; an array argument is a pointer, an open array field has no elements."""
        text = re.sub(r"\b(const|volatile)\b", "", text).strip()
        array = _ARRAY.match(text)
        if array:
            inner = self.shape(array[1], argument)
            return ("to", inner) if argument else ("array", int(array[2] or 0), inner)
        if text.endswith("*"):
            return ("to", self.shape(text[:-1].strip(), argument))
        if "(*)" in text:
            return ("callback",)
        if text in _C_SCALARS:
            return _C_SCALARS[text]
        if text in self._typedefs and self._typedefs[text]["to"] != text:
            return self.shape(self._typedefs[text]["to"], argument)
        return _named_shape(bare_name(text), opaque=text.startswith("struct "))


def shape_of_text(text: str, names: CNames, argument: bool = True) -> Shape:
    """Return the shape of a type as our tables spell it."""
    array = _ARRAY.match(text)
    if array:
        return ("array", int(array[2]), shape_of_text(array[1], names, argument))
    if text.endswith("*"):
        return ("to", shape_of_text(text[:-1], names, argument))
    return _SHORT_SCALARS.get(text) or _named_shape(text, opaque=text in OPAQUE)


def _named_shape(name: str, opaque: bool) -> Shape:
    row = declarations.find(name, ("struct", "union", "enum", "callback"))
    if row is None:
        return ("opaque" if opaque else "unknown", name)
    return {"enum": ("enum",), "callback": ("callback",)}.get(row.kind, ("struct", row.name))


_INTEGERS: Mapping[Shape, Any] = {
    (1, False): ctypes.c_uint8, (2, False): ctypes.c_uint16, (4, False): ctypes.c_uint32, (8, False): ctypes.c_uint64,
    (1, True): ctypes.c_int8, (2, True): ctypes.c_int16, (4, True): ctypes.c_int32, (8, True): ctypes.c_int64,
}  # fmt: skip
_PLAIN: Mapping[str, Any] = {
    "enum": ctypes.c_int, "bool": ctypes.c_bool, "char": ctypes.c_char, "float": ctypes.c_float,
}  # fmt: skip


def accepts(kind: Any, shape: Shape, field: bool = False) -> bool:
    """Return whether a ctypes type is the right one for a shape; inside structs every pointer is an address."""
    what = shape[0]
    if kind is None:
        return bool(what == "void")
    if what == "to":
        target = shape[1]
        if field or target[0] in ("void", "char", "opaque"):
            return kind is ctypes.c_void_p or kind is ctypes.c_char_p
        if not issubclass(kind, ctypes._Pointer):
            return False
        return kind._type_ is ctypes.c_void_p if target[0] == "to" else accepts(kind._type_, target)
    if what == "array":
        right_length = issubclass(kind, ctypes.Array) and bool(kind._length_ == shape[1])
        return right_length and accepts(kind._type_, shape[2], field)
    if what == "struct":
        return issubclass(kind, (ctypes.Structure, ctypes.Union)) and bool(kind.__name__ == shape[1])
    if what == "callback":
        return field or issubclass(kind, ctypes._CFuncPtr)  # type: ignore[attr-defined]
    if what == "int":
        return kind is _INTEGERS.get(shape[1:])
    return kind is _PLAIN.get(what)


def bare_name(tag: str) -> str:
    """Return a C type name without `struct`, `union` or `enum` before it."""
    return re.sub(r"^(struct|union|enum) ", "", tag)
