"""How many bytes of arguments a compiler says that a kernel takes: a hint beside our own count.

A weak object `<kernel>__` in the section `__CCE_KernelArgSize`; registration does not look at it. It counts hidden
pointers, arguments and grid, rounded up to 8, and no print buffer. Whether it counts the address of the synchronisation
registers is not known, so a difference is told and not refused. Source: reports on real files.
"""

from __future__ import annotations

import struct
from typing import Final

from chips.binary.elf import STT_OBJECT, ElfFile
from chips.binary.errors import BinaryError

__all__ = ["stated_argument_bytes"]

_SECTION: Final = "__CCE_KernelArgSize"
_SUFFIX: Final = "__"
_WORD: Final = struct.Struct("<I")


def stated_argument_bytes(data: bytes | memoryview, kernel: str) -> int | None:
    """Return the bytes that an ELF states for a kernel; None where it states none, or is damaged."""
    try:
        file = ElfFile(data)
        names, table = file.section_names(), file.symbol_table()
        if names is None or table is None:
            return None
        strings = file.names(file.sections[table].link, "the symbol table")
        for symbol in file.symbols(table):
            if symbol.type != STT_OBJECT or symbol.section >= len(file.sections):
                continue
            if strings.text(symbol.name, "a symbol") != kernel + _SUFFIX:
                continue
            section = file.sections[symbol.section]
            if names.text(section.name, "a section") != _SECTION:
                continue
            content = file.content(symbol.section)
            offset = symbol.value - section.address
            if 0 <= offset <= len(content) - _WORD.size:
                return int(_WORD.unpack_from(content, offset)[0])
    except BinaryError:
        return None
    return None
