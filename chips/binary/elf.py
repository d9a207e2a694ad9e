"""A reader of 64-bit ELF files over a buffer, without copying it.

It reads what registration needs (header, section table, symbol table) and checks every offset against the size of the
file before following it; program headers and relocations play no part. Layouts: the System V ABI, Elf64_Ehdr,
Elf64_Shdr, Elf64_Sym, Elf64_Dyn.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, overload

from chips.binary.errors import MalformedElf, NotAnElf
from npuhal.tuples import NamedTuple

__all__ = ["ELF_MAGIC", "NAME_LIMIT", "Budget", "ElfFile", "ElfHeader", "Section", "StringTable", "Symbol"]

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

DT_ZEROL: Final = 0
DT_SONAME: Final = 14

NAME_LIMIT: Final = 4096
"""Names of this many bytes or more are not read: no symbol or section that matters here has one."""

_IDENT_SIZE: Final = 16
_HEADER: Final = "HHIQQQIHHHHHH"
_HEADER_SIZE: Final = _IDENT_SIZE + struct.calcsize("<" + _HEADER)
_SECTION: Final = "IIQQQQIIQQ"
_SECTION_SIZE: Final = struct.calcsize("<" + _SECTION)
_SYMBOL: Final = "IBBHQQ"
_SYMBOL_SIZE: Final = struct.calcsize("<" + _SYMBOL)
_DYNAMIC: Final = "qQ"
_ZERO: Final = re.compile(b"\0")

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


class Budget:
    """What reading a file may cost in proportion to its size.

    Sections and names may overlap, so that a small damaged file could describe a great deal; ``part`` and ``rule``
    become the MalformedElf that is raised when ``amount`` is spent.
    """

    __slots__ = ("left", "part", "rule")

    def __init__(self, amount: int, part: str, rule: str) -> None:
        self.left = amount
        self.part = part
        self.rule = rule

    def spend(self, amount: int) -> None:
        """Take ``amount`` off."""
        self.left -= amount
        if self.left < 0:
            raise MalformedElf(self.part, "overlapping", self.rule, "get the file again")


class StringTable:
    """Zero-terminated names in a section."""

    __slots__ = ("_end", "view")

    def __init__(self, view: memoryview) -> None:
        self.view = view
        self._end = _after_last_zero(view)

    def text(self, offset: int, part: str) -> str | None:
        """Return the name at ``offset``, None if it reaches NAME_LIMIT; bytes outside UTF-8 become surrogates.

        ``part`` says in messages whose name it is. Raises MalformedElf for a name that leaves the table.
        """
        if offset >= len(self.view):
            rule = f"it must lie in a table of {len(self.view)} bytes"
            raise MalformedElf(f"the name of {part}", offset, rule, _CUT_SHORT)
        if offset >= self._end:
            raise MalformedElf(f"the name of {part}", offset, "it runs past the end of its string table", _CUT_SHORT)
        zero = _ZERO.search(self.view, offset, offset + NAME_LIMIT)
        return str(self.view[offset : zero.start()], "utf-8", "surrogateescape") if zero else None


class _SectionTable(Sequence[Section]):
    """Sections, decoded as they are asked for: a file with many would otherwise cost several times its size."""

    __slots__ = ("_layout", "_table")

    def __init__(self, table: memoryview, order: str) -> None:
        self._table = table
        self._layout = struct.Struct(order + _SECTION)

    def __len__(self) -> int:
        return len(self._table) // _SECTION_SIZE

    @overload
    def __getitem__(self, index: int) -> Section: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Section]: ...
    def __getitem__(self, index: int | slice) -> Section | Sequence[Section]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return Section._make(self._layout.unpack_from(self._table, index * _SECTION_SIZE))

    def __iter__(self) -> Iterator[Section]:
        return map(Section._make, self._layout.iter_unpack(self._table))


class ElfFile:
    """An ELF64 file in memory.

    A wrong magic or byte order mark is only noted (``oddities``), as device loaders do not look at the one and take
    the other for little endian; anything that leads out of the file raises MalformedElf.
    """

    __slots__ = ("header", "oddities", "order", "sections", "view")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.view = memoryview(data).cast("B").toreadonly()
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

    def names(self, index: int, part: str) -> StringTable:
        """Return the string table in section ``index``; ``part`` says in messages who needs it."""
        if index >= len(self.sections):
            rule = f"it must be below the number of sections, {len(self.sections)}"
            raise MalformedElf(f"the string table of {part}", index, rule, _CUT_SHORT)
        return StringTable(self.content(index))

    def section_names(self) -> StringTable | None:
        """Return the section name table, or None when the header names none that exists (then no name is known)."""
        if not 0 < self.header.names_index < len(self.sections):
            return None
        return self.names(self.header.names_index, "section names")

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

    def dynamic(self) -> Iterator[tuple[int, Iterator[tuple[int, int]]]]:
        """Iterate over dynamic sections: the section with their names, and their tags and values up to the end mark."""
        entry = struct.Struct(self.order + _DYNAMIC)
        for index, section in enumerate(self.sections):
            if section.type == SHT_DYNAMIC:
                content = self.content(index)
                entries = entry.iter_unpack(content[: len(content) - len(content) % entry.size])
                yield section.link, takewhile(lambda each: each[0] != DT_ZEROL, entries)

    def so_name(self) -> str | None:
        """Return the DT_SONAME of a shared object, or None when it has none."""
        for link, entries in self.dynamic():
            for tag, value in entries:
                if tag == DT_SONAME:
                    return self.names(link, ".dynamic").text(value, "the shared object")
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

    def _section_table(self) -> _SectionTable:
        header = self.header
        table = self._range(header.section_offset, header.section_count * _SECTION_SIZE, "the section table")
        sections = _SectionTable(table, self.order)
        for index, section in enumerate(sections):
            if section.link > header.section_count:
                rule = f"it must be below the number of sections, {header.section_count}"
                raise MalformedElf(f"sh_link of section {index}", section.link, rule, _CUT_SHORT)
        return sections

    def _range(self, offset: int, size: int, part: str) -> memoryview:
        if offset + size > len(self.view):
            rule = f"the file has {len(self.view)} bytes"
            raise MalformedElf(f"the end of {part}", offset + size, rule, _CUT_SHORT)
        return self.view[offset : offset + size]


def _after_last_zero(view: memoryview) -> int:
    step = 4096
    for start in range((len(view) - 1) // step * step, -1, -step):
        last = bytes(view[start : start + step]).rfind(b"\0")
        if last >= 0:
            return start + last + 1
    return 0
