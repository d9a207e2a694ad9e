"""Writing device ELFs that load and have no code of their own: for launches where there is no compiler."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from chips.binary.fat import EM_HIIPU
from npuhal.tuples import NamedTuple

__all__ = ["KernelText", "write_elf"]

_HEADER: Final = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_EXECUTABLE: Final = 2
_NULL, _PROGBITS, _SYMTAB, _STRTAB, _NOTE = 0, 1, 2, 3, 7
_LOADED: Final = 0x6
"""ALLOC and EXECINSTR."""
_GLOBAL_FUNCTION: Final = 0x12


class KernelText(NamedTuple):
    """A kernel: its symbol, the bytes at its entry, and its meta data, if it has any."""

    symbol: str
    code: bytes
    meta: bytes = b""


def write_elf(kernels: Sequence[KernelText], *, flags: int = 0) -> bytes:
    """Return an ELF64 with the kernels in the order given.

    Args:
        flags: e_flags, whose high half names the core; see `chips.binary.cores`.
    """
    text, strings, table = b"", b"\0", bytes(_SYMBOL.size)
    for kernel in kernels:
        table += _SYMBOL.pack(len(strings), _GLOBAL_FUNCTION, 0, 1, len(text), len(kernel.code))
        strings += kernel.symbol.encode() + b"\0"
        text += kernel.code
    meta = [(f".ascend.meta.{each.symbol}", _NOTE, 0, 0, 0, each.meta) for each in kernels if each.meta]
    sections = [
        ("", _NULL, 0, 0, 0, b""), (".text", _PROGBITS, _LOADED, 0, 0, text),
        (".symtab", _SYMTAB, 0, 3, _SYMBOL.size, table), (".strtab", _STRTAB, 0, 0, 0, strings), *meta,
    ]  # fmt: skip
    names, starts = b"", []
    for title in (*(section[0] for section in sections), ".shstrtab"):
        starts.append(len(names))
        names += title.encode() + b"\0"
    sections.append((".shstrtab", _STRTAB, 0, 0, 0, names))
    body, heads = bytearray(_HEADER.size), b""
    for start, (_, kind, flag, link, entry, content) in zip(starts, sections, strict=True):
        body += bytes(-len(body) % 8)
        heads += _SECTION.pack(start, kind, flag, 0, len(body), len(content), link, 0, 8, entry)
        body += content
    body += bytes(-len(body) % 8)
    body[: _HEADER.size] = _HEADER.pack(
        b"\x7fELF", 2, 1, 1, _EXECUTABLE, EM_HIIPU, 1, 0, 0, len(body), flags, _HEADER.size, 0, 0, _SECTION.size,
        len(sections), len(sections) - 1,
    )  # fmt: skip
    return bytes(body) + heads
