"""A reader of 64-bit ELF files over a buffer, without copying it.

It reads what registration needs (header, section table, symbol table) and checks every offset against the size of the
file before following it; program headers and relocations play no part. Layouts: the System V ABI, Elf64_Ehdr,
Elf64_Shdr, Elf64_Sym, Elf64_Dyn.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from chips.binary.errors import MalformedElf, NotAnElf

__all__ = ["ELF_MAGIC", "ElfFile", "ElfHeader", "Section", "Symbol"]

ELF_MAGIC: Final = b"\x7fELF"
CLASS_64: Final = 2
DATA_LITTLE: Final = 1
DATA_BIG: Final = 2

SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_DYNAMIC: Final = 6
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_DYNSYM: Final = 11
SHF_ALLOC: Final = 0x2

STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STB_GLOBAL: Final = 1
STV_HIDDEN: Final = 2

DT_NULL: Final = 0
DT_SONAME: Final = 14

_IDENT_SIZE: Final = 16
_HEADER: Final = "HHIQQQIHHHHHH"
_HEADER_SIZE: Final = _IDENT_SIZE + struct.calcsize("<" + _HEADER)
_SECTION: Final = "IIQQQQIIQQ"
_SECTION_SIZE: Final = struct.calcsize("<" + _SECTION)
_SYMBOL: Final = "IBBHQQ"
_SYMBOL_SIZE: Final = struct.calcsize("<" + _SYMBOL)
_DYNAMIC: Final = "qQ"
_NUL: Final = re.compile(b"\0")

_CUT_SHORT: Final = "the file was cut short or damaged; get it again"


class ElfHeader(NamedTuple):
    """Elf64_Ehdr behind its 16 identification bytes."""

    type: int
    machine: int
    version: int
    entry: int
    program_offset: int
    section_offset: int
    flags: int
    header_size: int
    program_entry_size: int
    program_count: int
    section_entry_size: int
    section_count: int
    names_index: int


class Section(NamedTuple):
    """Elf64_Shdr: one section; ``name`` is the offset of its name in the section name table."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    """Elf64_Sym: one symbol; ``name`` is the offset of its name in the string table the symbol table links to."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def type(self) -> int:
        """STT_NOTYPE, STT_OBJECT, STT_FUNC..."""
        return self.info & 0xF

    @property
    def binding(self) -> int:
        """STB_LOCAL, STB_GLOBAL, STB_WEAK..."""
        return self.info >> 4

    @property
    def visibility(self) -> int:
        """STV_DEFAULT, STV_INTERNAL, STV_HIDDEN, STV_PROTECTED."""
        return self.other & 3


class ElfFile:
    """An ELF64 file in memory.

    A wrong magic or byte order mark is only noted (``oddities``), as device loaders do not look at the one and take
    the other for little endian; anything that leads out of the file raises MalformedElf.
    """

    __slots__ = ("header", "oddities", "order", "sections", "view")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B") if not isinstance(data, memoryview) else data.cast("B")
        self.view = view.toreadonly()
        self.oddities: list[str] = []
        magic_is_right = bytes(self.view[:4]) == ELF_MAGIC
        try:
            self.order = self._byte_order()
            self.header = self._header()
            self.sections = self._section_table()
        except MalformedElf as problem:
            if magic_is_right:
                raise
            start = bytes(self.view[:4]).hex(" ") or "empty"
            rule = "an ELF file starts with 7f 45 4c 46"
            raise NotAnElf("the start of the data", start, rule, "give a compiled device binary (.o)") from problem
        if not magic_is_right:
            self.oddities.append(f"the magic is {bytes(self.view[:4]).hex(' ')}, not 7f 45 4c 46")

    def content(self, index: int) -> memoryview:
        """Return the bytes of section ``index``; a range that leaves the file raises MalformedElf."""
        section = self.sections[index]
        return self._range(section.offset, section.size, f"section {index}")

    def names(self, index: int, part: str) -> memoryview:
        """Return the string table in section ``index``; ``part`` says in messages who needs it."""
        if index >= len(self.sections):
            rule = f"it must be below the number of sections, {len(self.sections)}"
            raise MalformedElf(f"the string table of {part}", index, rule, _CUT_SHORT)
        return self.content(index)

    def section_names(self) -> memoryview | None:
        """Return the section name table, or None when the header names none that exists (then no name is known)."""
        if not 0 < self.header.names_index < len(self.sections):
            return None
        return self.names(self.header.names_index, "section names")

    def text(self, table: memoryview, offset: int, part: str) -> str:
        """Return the zero-terminated name at ``offset`` of a string table; bytes outside UTF-8 become surrogates."""
        if offset >= len(table):
            rule = f"it must lie in a table of {len(table)} bytes"
            raise MalformedElf(f"the name of {part}", offset, rule, _CUT_SHORT)
        end = _NUL.search(table, offset)
        if end is None:
            raise MalformedElf(f"the name of {part}", offset, "it runs past the end of its string table", _CUT_SHORT)
        return str(table[offset : end.start()], "utf-8", "surrogateescape")

    def symbol_table(self) -> int | None:
        """Return the index of the first section of type SYMTAB with a non-zero entry size, or None."""
        return next((i for i, s in enumerate(self.sections) if s.type == SHT_SYMTAB and s.entry_size), None)

    def symbols(self, index: int) -> Iterator[Symbol]:
        """Iterate over the symbols of the table in section ``index``, whose entries must have 24 bytes."""
        entry_size = self.sections[index].entry_size
        if entry_size != _SYMBOL_SIZE:
            raise MalformedElf("the entry size of the symbol table", entry_size, f"a symbol has {_SYMBOL_SIZE} bytes")
        content = self.content(index)
        whole = len(content) - len(content) % _SYMBOL_SIZE
        return map(Symbol._make, struct.iter_unpack(self.order + _SYMBOL, content[:whole]))

    def so_name(self) -> str | None:
        """Return the DT_SONAME of a shared object, or None when it has none."""
        for index, section in enumerate(self.sections):
            if section.type != SHT_DYNAMIC:
                continue
            content = self.content(index)
            entry = struct.Struct(self.order + _DYNAMIC)
            for tag, value in entry.iter_unpack(content[: len(content) - len(content) % entry.size]):
                if tag == DT_NULL:
                    break
                if tag == DT_SONAME:
                    return self.text(self.names(section.link, ".dynamic"), value, "the shared object")
        return None

    @property
    def extent(self) -> int:
        """Bytes the file takes up: the end of its section table or of its last section with content."""
        header = self.header
        ends = [section.offset + section.size for section in self.sections if section.type != SHT_NOBITS]
        return max(*ends, header.section_offset + header.section_count * _SECTION_SIZE)

    def _byte_order(self) -> str:
        if len(self.view) < _HEADER_SIZE:
            rule = f"an ELF header has {_HEADER_SIZE} bytes"
            raise MalformedElf("the size of the file", len(self.view), rule, _CUT_SHORT)
        if self.view[4] != CLASS_64:
            raise MalformedElf("the ELF class", self.view[4], f"device binaries are 64-bit, class {CLASS_64}")
        data = self.view[5]
        if data > DATA_BIG:
            self.oddities.append(f"the byte order mark is {data}, neither 1 nor 2; it is taken for little endian")
        return ">" if data == DATA_BIG else "<"

    def _header(self) -> ElfHeader:
        header = ElfHeader._make(struct.unpack_from(self.order + _HEADER, self.view, _IDENT_SIZE))
        if header.section_entry_size != _SECTION_SIZE:
            rule = f"a section header has {_SECTION_SIZE} bytes"
            raise MalformedElf("e_shentsize", header.section_entry_size, rule, _CUT_SHORT)
        if not header.section_count:
            raise MalformedElf("e_shnum", 0, "kernels are found through sections", "do not strip the section table")
        return header

    def _section_table(self) -> tuple[Section, ...]:
        header = self.header
        table = self._range(header.section_offset, header.section_count * _SECTION_SIZE, "the section table")
        sections = tuple(map(Section._make, struct.iter_unpack(self.order + _SECTION, table)))
        for index, section in enumerate(sections):
            if section.link > len(sections):
                rule = f"it must be below the number of sections, {len(sections)}"
                raise MalformedElf(f"sh_link of section {index}", section.link, rule, _CUT_SHORT)
        return sections

    def _range(self, offset: int, size: int, part: str) -> memoryview:
        if offset + size > len(self.view):
            rule = f"the file has {len(self.view)} bytes"
            raise MalformedElf(f"the end of {part}", offset + size, rule, _CUT_SHORT)
        return self.view[offset : offset + size]
