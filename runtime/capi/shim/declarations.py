"""The C API's functions, types and values, read from the tables of this folder."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

from chips import yaml_file
from npuhal.records import dataclass
from runtime.errors import tables

_ROW = re.compile(r"(\w+)\((.*)\)(?: -> (.+))?\Z")
_FIELD = re.compile(r"(?P<type>(?:const )?\w+\**) (?P<name>\w+)(?:\[(?P<count>\d*)\])?\Z")
_OPEN = ", ..."
_ALL_ONES = 0xFFFFFFFF
_SCALARS: dict[str, Any] = {
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "int16_t": ctypes.c_int16, "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32, "int": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_uint64, "float": ctypes.c_float, "char": ctypes.c_char,
    "void": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a struct; a field without a name is an anonymous union."""

    type: str
    name: str
    count: int = 0
    """Elements, where it is an array; -1 for the open array at a struct's end."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """One function: the header it stands in, its parameters in order, and its result."""

    name: str
    header: str
    parameters: tuple[Field, ...]
    result: str
    formats: bool = False
    """Whether the last parameter is a format, and what goes into it comes behind."""

    @property
    def waits(self) -> bool:
        """Whether it does nothing but wait."""
        return self.name.startswith("aclrtSynchronize")

    @property
    def failure(self) -> int:
        """What it answers when it fails without a code of its own: 500000, NULL, or a number of ones."""
        if self.result == "aclError":
            return tables.public_names()["ACL_ERROR_INTERNAL_ERROR"]
        return 0 if self.result.endswith("*") or self.result in (*handles(), "void") else _ALL_ONES


def _fields(text: str) -> tuple[Field, ...]:
    made = []
    for piece in filter(None, text.split(", ")):
        match = _FIELD.match(piece)
        if match is None:
            made.append(Field(piece, ""))
            continue
        count = match["count"]
        made.append(Field(match["type"], match["name"], -1 if count == "" else int(count or 0)))
    return tuple(made)


@cache
def _load(name: str) -> Any:
    return yaml_file.load(Path(__file__).with_name(f"{name}.yaml"))


@cache
def functions() -> tuple[CFunction, ...]:
    """Return all functions, header by header; the position of one is its number at the boundary."""
    return tuple(parse(row, header) for header, rows in _load("functions").items() for row in rows)


def parse(row: str, header: str = "") -> CFunction:
    """Return the function of a row: `name(type parameter, ...) -> result`; ValueError where it is none."""
    match = _ROW.match(row)
    if match is None:
        raise ValueError(f"{row!r} is no function")
    parameters = match[2].removesuffix(_OPEN)
    return CFunction(match[1], header, _fields(parameters), match[3] or "aclError", parameters != match[2])


def enumerations() -> dict[str, dict[str, int]]:
    """Return the enumerations: their constants with values."""
    found: dict[str, dict[str, int]] = _load("values")["enums"]
    return found


def macros() -> dict[str, int]:
    """Return the numbers that are macros."""
    found: dict[str, int] = _load("values")["macros"]
    return found


def handles() -> tuple[str, ...]:
    """Return the types that are void*."""
    return tuple(_load("types")["handles"].split())


def opaque() -> tuple[str, ...]:
    """Return the structs of which there are only pointers."""
    return tuple(_load("types")["opaque"].split())


def numbers() -> dict[str, str]:
    """Return other names of numbers."""
    found: dict[str, str] = _load("types")["numbers"]
    return found


@cache
def structs() -> dict[str, tuple[bool, tuple[Field, ...]]]:
    """Return the structs: whether one is a union, and its fields; each after those it contains."""
    return {
        name: (text.startswith("union "), _fields(text.removeprefix("union ")))
        for name, text in _load("types")["structs"].items()
    }


@cache
def callbacks() -> dict[str, tuple[tuple[Field, ...], str]]:
    """Return the types of functions that a program gives: parameters and result."""
    made = {}
    for name, text in _load("types")["callbacks"].items():
        arguments, _, result = text.partition(") -> ")
        made[name] = _fields(arguments.removeprefix("(")), result
    return made


@cache
def ctype(text: str) -> Any:
    """Return the ctypes type of a C type; pointers, handles and callbacks are addresses, None is void."""
    text = text.removeprefix("const ")
    if text.endswith("*") or text in handles() or text in callbacks():
        return ctypes.c_uint64
    if text in _SCALARS:
        return _SCALARS[text]
    if text in numbers():
        return _SCALARS[numbers()[text]]
    if text in enumerations():
        return ctypes.c_int32
    union, fields = structs()[text]
    members = [
        (field.name or "_anonymous", ctype(field.type) * max(field.count, 0) if field.count else ctype(field.type))
        for field in fields
    ]
    content: dict[str, Any] = {"_fields_": members}
    if any(not field.name for field in fields):
        content["_anonymous_"] = ["_anonymous"]
    base: Any = ctypes.Union if union else ctypes.Structure
    return type(base)(text, (base,), content)
