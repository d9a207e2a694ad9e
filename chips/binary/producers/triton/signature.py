"""The signature of a compiled kernel: from `.ttir`, from `.ttadapter`, or as somebody states it.

The text of `.ttir` has what the block holds: parameters that are constants, equal to 1, or None are gone from it. It
does not tell unsigned integers from signed ones, nor half scalars from single ones; both are packed alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from chips.binary.producers.errors import BadSignature
from chips.binary.producers.packing import POINTER
from npuhal.tuples import NamedTuple

__all__ = ["SCALARS", "Parameter", "Packing", "parameters_of", "read_signature"]


class Packing(NamedTuple):
    """How a type lies in the block: `struct` letter, and alignment in bytes."""

    code: str
    alignment: int


SCALARS: Final = {
    "i1": Packing("i", 4), "u1": Packing("I", 4), "i8": Packing("b", 4), "u8": Packing("B", 4),
    "i16": Packing("h", 4), "u16": Packing("H", 4), "i32": Packing("i", 4), "u32": Packing("I", 4),
    "i64": Packing("q", 8), "u64": Packing("Q", 8),
    "fp16": Packing("f", 4), "bf16": Packing("f", 4), "fp32": Packing("f", 4), "fp64": Packing("d", 8),
}  # fmt: skip
"""Scalar types; halves are passed as single floats, bytes and halfwords start at a multiple of 4."""

_MLIR: Final = {
    "f16": "fp16", "f32": "fp32", "f64": "fp64", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5", "f8E4M3FNUZ": "fp8e4b8",
    "f8E5M2FNUZ": "fp8e5b16", "f8E4M3B11FNUZ": "fp8e4b15", "index": "i64",
}  # fmt: skip
"""MLIR's names of element types, where Triton's are others."""
_ALIASES: Final = {**_MLIR, "bool": "i1", "float": "fp32", "int": "i32"}
_CONSTANT: Final = "constexpr"
_ENTRY: Final = r"\b(?:tt\.)?func(?:\.func)?\s+(?:public\s+)?@(?:\"{name}\"|{name})\s*\("
_ANY_ENTRY: Final = re.compile(r"\bfunc(?:\.func)?\s+(?:(?P<public>public)\s+)?@\"?(?P<name>[\w.$-]+)\"?\s*\(")
_ARGUMENT: Final = re.compile(r"%(?P<name>[\w.$-]+)\s*:\s*(?P<rest>.*)", re.DOTALL)
_LOCATION_NAME: Final = re.compile(r"\bloc\(\"(?P<name>[A-Za-z_]\w*)\"\s*\(")
_DESCRIPTOR: Final = re.compile(r"tensordesc<\s*(?:tensor<)?(?P<body>[^<>]*)>?\s*>?")
_HIDDEN_AHEAD, _HIDDEN_BEHIND = 2, 6
"""What `.ttadapter` adds: locks and workspace in front; numbers of programs and program ids behind."""


class Parameter(NamedTuple):
    """One argument of a launch: `type` is Triton's name, ``*fp32`` for a pointer."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        """Whether it is an address."""
        return self.type.startswith("*")

    @property
    def element(self) -> str:
        """The type that a pointer points to."""
        return self.type[1:]

    @property
    def packing(self) -> Packing:
        """How it lies in the block."""
        return Packing(POINTER, 8) if self.is_pointer else SCALARS[self.type]

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


def parameters_of(signature: Mapping[Any, Any] | Iterable[Any], names: Iterable[str] = ()) -> tuple[Parameter, ...]:
    """Return the parameters of a stated signature: types, or types by name; constants are left out.

    A tuple of types counts one by one. A tensor descriptor (``tensordesc<fp16[64, 64]>``) is its base pointer, shape
    and strides as 64-bit numbers, whether padding is NaN, the shape with 32 bits, and the strides again.

    Raises:
        BadSignature: a type that is not known.
    """
    if isinstance(signature, (str, bytes)):
        rule, cure = "it is a list of types, or types by name", "pass signature=['*fp32', 'i32']"
        raise BadSignature("the signature", signature, rule, cure)
    if isinstance(signature, Mapping):
        rows = [(str(name), kind) for name, kind in signature.items()]
    else:
        kinds = list(signature)
        known = list(names)
        rows = [(known[n] if len(known) == len(kinds) else f"arg{n}", kind) for n, kind in enumerate(kinds)]
    return tuple(Parameter(name, kind) for name, stated in rows for name, kind in _expanded(name, stated))


def _expanded(name: str, stated: Any) -> Iterator[tuple[str, str]]:
    if isinstance(stated, (tuple, list)):
        for number, each in enumerate(stated):
            yield from _expanded(f"{name}.{number}", each)
        return
    if not isinstance(stated, str):
        raise BadSignature(f"the type of {name}", stated, "a type is text", "write it as Triton does: '*fp32'")
    text = stated.strip()
    if text == _CONSTANT:
        return
    if text.startswith("tensordesc"):
        yield from _descriptor(name, text)
        return
    yield name, _type(name, text)


def _descriptor(name: str, text: str) -> Iterator[tuple[str, str]]:
    match = re.match(r"tensordesc<(?P<element>[^\[>]*)\[(?P<shape>[^\]]*)\]", text)
    if match is None:
        raise BadSignature(f"the type of {name}", text, "a descriptor is tensordesc<element[shape]>")
    yield from _descriptor_parts(name, _type(name, "*" + match["element"].strip()), match["shape"].count(",") + 1)


def _descriptor_parts(name: str, pointer: str, rank: int) -> Iterator[tuple[str, str]]:
    yield f"{name}.base", pointer
    for part, kind in (("shape", "i64"), ("stride", "i64")):
        yield from ((f"{name}.{part}{axis}", kind) for axis in range(rank))
    yield f"{name}.padding_is_nan", "i1"
    for part, kind in (("shape", "i32"), ("stride", "i64")):
        yield from ((f"{name}.{part}{axis}_{kind}", kind) for axis in range(rank))


def _type(name: str, text: str) -> str:
    """Return Triton's name of a type."""
    if text.startswith("*"):
        element = text[1:].removeprefix("k")  # *k: a pointer to constant memory
        return "*" + _ALIASES.get(element, element)
    kind = _ALIASES.get(text, text)
    if kind not in SCALARS:
        rule = f"scalars are {', '.join(SCALARS)}; pointers start with *"
        raise BadSignature(f"the type of parameter {name}", text, rule, "compile the kernel with another type")
    return kind


def read_signature(text: str, kernel: str, *, adapter: bool = False) -> tuple[Parameter, ...]:
    """Return the parameters of a kernel out of the text of its `.ttir`, or `.ttadapter`.

    Raises:
        BadSignature: there is no such function in it, or it has a type that a block cannot hold.
    """
    found = re.search(_ENTRY.format(name=re.escape(kernel)), text)
    if found is None:
        public = [each for each in _ANY_ENTRY.finditer(text) if each["public"]]
        if len(public) != 1:
            have = ", ".join(each["name"] for each in _ANY_ENTRY.finditer(text)) or "no function at all"
            raise BadSignature("the kernel's function", kernel, f"the IR has {have}", "pass signature=[...]")
        found = public[0]
    rows = [_row(each, position) for position, each in enumerate(_arguments(text, found.end()))]
    if adapter:
        rows = rows[_HIDDEN_AHEAD : len(rows) - _HIDDEN_BEHIND]
    return tuple(Parameter(name, kind) for name, stated in rows for name, kind in _from_mlir(name, stated))


def _arguments(text: str, start: int) -> Iterator[str]:
    """Iterate over a list of arguments up to the bracket that closes it."""
    depth, first, quoted = 0, start, False
    for position in range(start, len(text)):
        letter = text[position]
        if quoted or letter == '"':
            quoted = quoted != (letter == '"')
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>" and depth:
            depth -= text[position - 1] != "-"  # -> is no bracket
        elif letter in ",)" and not depth:
            if argument := text[first:position].strip():
                yield argument
            if letter == ")":
                return
            first = position + 1
    raise BadSignature("the list of arguments", text[start : start + 40], "it is never closed", "get the file again")


def _row(argument: str, position: int) -> tuple[str, str]:
    """Return an argument's name and MLIR type."""
    match = _ARGUMENT.fullmatch(argument)
    if match is None:
        raise BadSignature(f"argument {position} of the kernel's function", argument, "it is written %name: type")
    rest, location = match["rest"], _LOCATION_NAME.search(match["rest"])
    kind = re.split(r"\s+(?:loc\(|\{)", rest, maxsplit=1)[0].strip()
    return location["name"] if location else match["name"], kind


def _from_mlir(name: str, text: str) -> Iterator[tuple[str, str]]:
    if text.startswith("!tt.ptr<") and text.endswith(">"):
        element = text[len("!tt.ptr<") : -1].partition(",")[0].strip()
        yield name, "*" + (_from_pointer(element) if element.startswith("!") else _MLIR.get(element, element))
    elif text.startswith("memref<") and text.endswith(">"):
        element = text[len("memref<") : -1].partition(",")[0].rpartition("x")[2].strip()
        yield name, "*" + _MLIR.get(element, element)
    elif text.startswith("!tt.tensordesc<"):
        match = _DESCRIPTOR.match(text.removeprefix("!tt."))
        *shape, element = match["body"].partition(",")[0].split("x") if match else [""]
        yield from _descriptor_parts(name, "*" + _MLIR.get(element, element), len(shape))
    else:
        yield name, _type(name, _MLIR.get(text, text))


def _from_pointer(text: str) -> str:
    return next(_from_mlir("", text))[1]
