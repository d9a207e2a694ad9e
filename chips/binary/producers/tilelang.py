"""TileLang's host libraries (`kernel_lib.so`): the kernel's prototype, out of the C++ text beside them.

The text (`kernel.cu`, `wrapped_kernel.cu`) has the kernel with tensors, scalars, lengths and tiling numbers as 64-bit
integers, and the address of the synchronisation registers last. Source: tile-ai/tilelang-ascend, `src/target`.
"""

from __future__ import annotations

import re
from typing import Final

from chips.binary.producers.ascendc import ByValue
from chips.binary.producers.errors import BadSignature
from chips.binary.producers.packing import POINTER
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

__all__ = ["TEXTS", "CParameter", "Prototype", "read_prototypes"]

TEXTS: Final = ("wrapped_kernel.cu", "kernel.cu")
"""Files that have the prototype, the better one first."""
_SYNC_NAMES: Final = ("fftsAddr", "ffts_addr")
_KERNEL: Final = re.compile(
    r"__global__\s+(?:\[aicore\]|__aicore__)?\s*(?:__attribute__\s*\(\([^)]*\)\)\s*)?void\s+(?P<name>\w+)\s*\((?P<list>[^)]*)\)"
)
_PARAMETER: Final = re.compile(r"(?P<type>.*?[\s*&])(?P<name>[A-Za-z_]\w*)", re.DOTALL)
_TYPES: Final = {
    "int8_t": ByValue("b", 1), "uint8_t": ByValue("B", 1), "bool": ByValue("?", 1), "int16_t": ByValue("h", 2),
    "uint16_t": ByValue("H", 2), "half": ByValue("e", 2), "int32_t": ByValue("i", 4), "int": ByValue("i", 4),
    "uint32_t": ByValue("I", 4), "float": ByValue("f", 4), "int64_t": ByValue("q", 8), "uint64_t": ByValue("Q", 8),
    "size_t": ByValue("Q", 8), "double": ByValue("d", 8), "long": ByValue("q", 8),
}  # fmt: skip
_ADDRESS: Final = "GM_ADDR"
_QUALIFIERS: Final = ("const", "__gm__", "volatile")


class CParameter(NamedTuple):
    """A parameter: `pointer` is whether it is an address, `packing` how a number lies in the block."""

    name: str
    type: str
    pointer: bool
    packing: ByValue

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a caller passes, and whether the address of the synchronisation registers comes behind it."""

    parameters: tuple[CParameter, ...]
    sync_last: bool


def read_prototypes(text: str) -> dict[str, Prototype]:
    """Return the kernels that C++ text declares or defines, by name.

    Raises:
        BadSignature: a parameter of a type that is not known.
    """
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return {found["name"]: _prototype(found["name"], found["list"]) for found in _KERNEL.finditer(plain)}


def _prototype(kernel: str, listed: str) -> Prototype:
    parameters = [_parameter(kernel, each) for each in listed.split(",") if each.strip() not in ("", "void")]
    last = bool(parameters) and parameters[-1].name in _SYNC_NAMES
    return Prototype(tuple(parameters[: len(parameters) - last]), last)


def _parameter(kernel: str, text: str) -> CParameter:
    match = _PARAMETER.fullmatch(text.strip())
    if match is None:
        raise BadSignature(f"a parameter of {kernel}", text.strip(), "it is written as a type and a name")
    kind = " ".join(word for word in match["type"].split() if word not in _QUALIFIERS)
    if "*" in kind or kind == _ADDRESS:
        return CParameter(match["name"], kind, True, ByValue(POINTER, 8))
    if kind not in _TYPES:
        raise BadSignature(f"the type of {match['name']} of {kernel}", kind, f"known are {', '.join(_TYPES)}")
    return CParameter(match["name"], kind, False, _TYPES[kind])
