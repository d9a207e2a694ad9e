"""What a shared object asks of others: libraries, symbols and versions of them, and what it offers itself.

It reads the dynamic section, the dynamic symbols and the table of needed versions through the section table, as
`elf.ElfFile` does. Layouts: the System V ABI and the GNU extension of it (Elf64_Verneed, Elf64_Vernaux).
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chips.binary.elf import SHT_DYNSYM, ElfFile
from chips.binary.errors import MalformedElf
from npuhal.records import dataclass

__all__ = ["Dynamic", "read_dynamic"]

DT_NEEDED: Final = 1
SHN_UNDEF: Final = 0
STB_LOCAL: Final = 0
STB_WEAK: Final = 2
SHT_GNU_VERNEED: Final = 0x6FFFFFFE
SHT_GNU_VERSYM: Final = 0x6FFFFFFF

_NUMBER: Final = 0x7FFF
"""The highest bit of a version number says that the symbol is hidden."""
_NEED: Final = struct.Struct("<HHIII")
_VERSION: Final = struct.Struct("<IHHII")


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The outside of a shared object; names are in the order of the file."""

    soname: str | None
    libraries: tuple[str, ...]
    """Libraries it is linked with (DT_NEEDED)."""
    undefined: dict[str, str]
    """Symbols that it does not load without, and the library that it wants a version of each from ("": from any)."""
    weak: dict[str, str]
    """Symbols that it can do without: their addresses are 0 then."""
    defined: frozenset[str]
    """Symbols that it offers."""
    versions: dict[str, tuple[str, ...]]
    """Names of versions that it wants of a library."""


def read_dynamic(data: bytes | memoryview | Path) -> Dynamic:
    """Read a shared object.

    Raises:
        BinaryError: it is no ELF file of 64 bits, or is damaged.
        OSError: the file cannot be read.
    """
    if isinstance(data, Path):
        with data.open("rb") as file:
            return read_dynamic(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    elf = ElfFile(data)
    undefined: dict[str, str] = {}
    weak: dict[str, str] = {}
    defined = set()
    needs = list(_versions(elf))
    sources = {number: library for library, number, _ in needs}
    for name, binding, section, version in _symbols(elf):
        if section != SHN_UNDEF:
            defined.add(name)
        else:
            (weak if binding == STB_WEAK else undefined)[name] = sources.get(version, "")
    versions: dict[str, tuple[str, ...]] = {}
    for library, _, wanted in needs:
        versions[library] = (*versions.get(library, ()), wanted)
    return Dynamic(elf.so_name(), tuple(_libraries(elf)), undefined, weak, frozenset(defined), versions)


def _libraries(elf: ElfFile) -> Iterator[str]:
    for link, entries in elf.dynamic():
        names = elf.names(link, ".dynamic")
        for tag, value in entries:
            if tag == DT_NEEDED and (name := names.text(value, "a needed library")):
                yield name


def _symbols(elf: ElfFile) -> Iterator[tuple[str, int, int, int]]:
    """Iterate over dynamic symbols: name, binding, section, number of the version (0 and 1: none)."""
    marks = {s.link: elf.content(i) for i, s in enumerate(elf.sections) if s.type == SHT_GNU_VERSYM}
    for index, section in enumerate(elf.sections):
        if section.type != SHT_DYNSYM:
            continue
        names, numbers = elf.names(section.link, "dynamic symbols"), marks.get(index, memoryview(b""))
        for at, symbol in enumerate(elf.symbols(index)):
            if symbol.name and symbol.binding != STB_LOCAL and (name := names.text(symbol.name, "a symbol")):
                number = numbers[2 * at : 2 * at + 2]
                yield name, symbol.binding, symbol.section, int.from_bytes(number, "little") & _NUMBER


def _versions(elf: ElfFile) -> Iterator[tuple[str, int, str]]:
    """Iterate over wanted versions: library, number among this object's versions, name."""
    for index, section in enumerate(elf.sections):
        if section.type != SHT_GNU_VERNEED:
            continue
        content, names = elf.content(index), elf.names(section.link, "needed versions")
        at = 0
        for _ in range(section.info):
            _, count, file, first, step = _record(_NEED, content, at)
            library, where = names.text(file, "a library of versions") or "", at + first
            for _ in range(count):
                _, _, number, name, following = _record(_VERSION, content, where)
                yield library, number, names.text(name, "a needed version") or ""
                where += following
            at += step


def _record(layout: struct.Struct, content: memoryview, at: int) -> tuple[int, ...]:
    if at + layout.size > len(content):
        rule = f"the table of needed versions has {len(content)} bytes"
        raise MalformedElf("the end of a needed version", at + layout.size, rule, "get the file again")
    return layout.unpack_from(content, at)
