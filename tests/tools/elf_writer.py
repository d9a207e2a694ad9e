"""A small writer of device ELFs, so that tests can say in a line what is odd about a file."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

NULL, PROGBITS, SYMTAB, STRTAB, NOTE, NOBITS, DYNSYM = 0, 1, 2, 3, 7, 8, 11
ALLOC = 0x2
FUNC, OBJECT = 2, 1
LOCAL, GLOBAL, WEAK = 0, 1, 2
HIDDEN = 2


def tlv(kind: int, value: bytes = b"", *, order: str = "<", length: int | None = None) -> bytes:
    """One unit of a meta record; ``length`` overrides the true length."""
    return struct.pack(order + "HH", kind, len(value) if length is None else length) + value


def u32(kind: int, value: int, *, order: str = "<") -> bytes:
    """A unit with one 32-bit value."""
    return tlv(kind, struct.pack(order + "I", value), order=order)


def ratio(cube: int, vector: int) -> bytes:
    """MIX_TASK_RATION."""
    return tlv(3, struct.pack("<HH", cube, vector))


def entry(flag: int, key: int) -> bytes:
    """FUNCTION_ENTRY_INFO."""
    return tlv(14, struct.pack("<BxxxQ", flag, key))


def dfx_item(*words: int, kind: int = 5) -> bytes:
    """One item of an argument list; always big endian."""
    return struct.pack(f">HH{len(words)}Q", kind, len(words), *words)


def dfx(*items: bytes, tail: bytes = b"") -> bytes:
    """DFX_TYPE with an argument list."""
    return tlv(4, b"".join(items) + tail)


@dataclass
class Section:
    name: str
    content: bytes = b""
    type: int = PROGBITS
    flags: int = 0
    address: int = 0
    link: int = 0
    entry_size: int = 0
    alignment: int = 8
    size: int | None = None
    """Stated size, when it is not that of the content."""


@dataclass
class Symbol:
    name: str
    value: int = 0
    size: int = 16
    type: int = FUNC
    binding: int = GLOBAL
    other: int = 0
    section: int = 1
    name_offset: int | None = None


@dataclass
class ElfWriter:
    """Sections and symbols; ``build`` lays them out behind the header, the section table last.

    Section 1 is ``.text``; the tables of symbols and names follow the given sections.
    """

    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    order: str = "<"
    machine: int = 0x1029
    flags: int = 0
    type: int = 2
    version: int = 1
    code: int = 0
    text_flags: int = ALLOC | 0x4
    symtab_type: int = SYMTAB

    def kernel(self, name: str, meta: bytes | None = None, size: int = 16, **more: int) -> ElfWriter:
        """Add a kernel of ``size`` code bytes and, when given, its meta record."""
        self.symbols.append(Symbol(name, value=self.code, size=size, **more))
        self.code += size
        if meta is not None:
            self.sections.append(Section(".ascend.meta." + name, meta, NOTE))
        return self

    def section(self, name: str, content: bytes = b"", type: int = PROGBITS, **more: int) -> ElfWriter:
        """Add a section."""
        self.sections.append(Section(name, content, type, **more))
        return self

    def symbol(self, name: str, **more: int) -> ElfWriter:
        """Add a symbol that is no kernel of its own code."""
        self.symbols.append(Symbol(name, **more))
        return self

    def stack(self, *sizes: int) -> ElfWriter:
        """Add the stack record."""
        return self.section(".ascend.stack.size.record", struct.pack(f"{self.order}{len(sizes)}Q", *sizes))

    def build(self) -> bytes:
        """Return the file."""
        text = Section(".text", b"\xd5" * self.code, flags=self.text_flags)
        strings, symbols = self._symbol_table()
        every = [Section("", type=NULL), text, *self.sections]
        symtab = Section(".symtab", symbols, self.symtab_type, link=len(every) + 1, entry_size=24)
        every += [symtab, Section(".strtab", strings, STRTAB), Section(".shstrtab", type=STRTAB)]
        names = b""
        offsets = []
        for section in every:
            offsets.append(len(names))
            names += section.name.encode() + b"\0"
        every[-1].content = names
        body = b""
        table = b""
        for section, name in zip(every, offsets, strict=True):
            body += b"\0" * (-(64 + len(body)) % section.alignment)
            size = len(section.content) if section.size is None else section.size
            place = 0 if section.type == NULL else 64 + len(body)
            table += struct.pack(
                self.order + "IIQQQQIIQQ",
                *(name, section.type, section.flags, section.address, place, size),
                *(section.link, 0, section.alignment, section.entry_size),
            )
            body += section.content
        body += b"\0" * (-len(body) % 8)
        ident = b"\x7fELF" + bytes([2, 2 if self.order == ">" else 1, 1]) + b"\0" * 9
        header = struct.pack(
            self.order + "HHIQQQIHHHHHH",
            *(self.type, self.machine, self.version, 0, 0, 64 + len(body), self.flags),
            *(64, 0, 0, 64, len(every), len(every) - 1),
        )
        return ident + header + body + table

    def _symbol_table(self) -> tuple[bytes, bytes]:
        strings = b"\0"
        table = b"\0" * 24
        for symbol in self.symbols:
            offset = len(strings) if symbol.name else 0
            if symbol.name:
                strings += symbol.name.encode() + b"\0"
            table += struct.pack(
                self.order + "IBBHQQ",
                offset if symbol.name_offset is None else symbol.name_offset,
                symbol.binding << 4 | symbol.type,
                symbol.other,
                symbol.section,
                symbol.value,
                symbol.size,
            )
        return strings, table


def patched(data: bytes, offset: int, layout: str, *values: int) -> bytes:
    """Return a copy of a file with some bytes overwritten."""
    copy = bytearray(data)
    struct.pack_into(layout, copy, offset, *values)
    return bytes(copy)
