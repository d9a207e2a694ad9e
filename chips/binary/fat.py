"""Device binaries inside host files: shared objects, relocatable objects and archives of them.

Four layouts are met (in the wheels of the projects that ship kernels):

* AscendC library: sections ``.ascend.kernel.<soc>.<name>``, a version and a count, then the parts one after the other;
* ``<<<>>>`` build: a section with the linked and one with the relocatable ELF, each with a record (rtDevBinary_t);
* packed files: symbols ``_binary_<soc>_<path>_o_start`` and ``_end``, as ``ld -b binary`` makes them;
* anything else: ELF files of the device's machine somewhere in ``.rodata`` or ``.data``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from enum import Enum
from typing import Final

from chips.binary import elf
from chips.binary.elf import Budget, ElfFile
from chips.binary.errors import BinaryError, MalformedElf
from chips.binary.kernels import Magic
from npuhal.records import dataclass
from npuhal.words import natural

__all__ = ["EM_HIIPU", "DeviceBinary", "Layout", "find_device_binaries", "is_device_elf"]

EM_HIIPU: Final = 0x1029
"""e_machine of AI core binaries."""

_ARCHIVE_MAGIC: Final = b"!<arch>\n"
_MEMBER: Final = struct.Struct("16s12s6s6s8s10s2s")  # ar(5): name, date, user, group, mode, size, end mark
_MEMBER_END: Final = b"`\n"

_LIBRARY_SECTION: Final = ".ascend.kernel."
_LIBRARY_VERSION: Final = 1
_LIBRARY_PARTS: Final = {0: ("mix", Magic.ELF), 1: ("aiv", Magic.ELF_AIVEC), 2: ("aic", Magic.ELF_AICUBE)}
_LAUNCH_SECTIONS: Final = {
    ".aicore_binary": (".aicoreBinRec", "linked"),
    "__aicore_rel_binary": ("__aicore_rel_rec", "relocatable"),
}
_LAUNCH_RECORD: Final = "IIQQ"  # rtDevBinary_t: magic, version, data (filled by the dynamic linker), length
_PACKED_PREFIX: Final = b"_binary_ascend"
_PACKED: Final = re.compile(r"_binary_(?P<name>ascend[0-9a-z]+_.+_o)_(?P<edge>start|end)")
_SOC_SECOND_HALF: Final = "93_"  # ascend910_93 is the one SoC folder with an underscore
_DEVICE_ELF: Final = re.compile(re.escape(elf.ELF_MAGIC) + rb"\x02\x01.{12}\x29\x10", re.DOTALL)
_SCANNED: Final = frozenset({".rodata", ".data"})
_SINGLE: Final = _SCANNED.union(*((name, record) for name, (record, _) in _LAUNCH_SECTIONS.items()))
# Bytes that only look like an ELF are rare in a sound file, and each costs a look at a whole section table.
_MISTAKES: Final = 100


class Layout(Enum):
    """How a host file holds a device binary."""

    PLAIN = "plain"
    LIBRARY = "library"
    LAUNCH = "launch"
    PACKED = "packed"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class DeviceBinary:
    """A device ELF inside a host file: ``data`` is a view of its bytes, ``offset`` where they start in the file.

    ``soc`` is the SoC folder name it was built for and ``part`` what it is among its siblings (mix, aiv, aic, linked,
    relocatable), both empty where the layout does not tell; ``magic`` is what the host code would register it with.
    """

    layout: Layout
    offset: int
    data: memoryview
    name: str = ""
    soc: str = ""
    part: str = ""
    magic: Magic | None = None


def is_device_elf(data: bytes | bytearray | memoryview) -> bool:
    """Return whether the data starts as an AI core ELF."""
    return _DEVICE_ELF.match(memoryview(data)[:20]) is not None


def find_device_binaries(data: bytes | bytearray | memoryview) -> tuple[DeviceBinary, ...]:
    """Return the device binaries in a host file in order of offset; a device ELF itself is the only one in it.

    Nothing is copied. A file that is neither ELF nor archive holds none. Raises MalformedElf when the file breaks off
    or a layout it clearly uses does not hold together.
    """
    view = memoryview(data).cast("B").toreadonly()
    if is_device_elf(view):
        return (DeviceBinary(Layout.PLAIN, 0, view),)
    if bytes(view[: len(_ARCHIVE_MAGIC)]) == _ARCHIVE_MAGIC:
        members = _archive_members(view)
        found = [each for start, size in members for each in _in_host_file(view[start : start + size], start)]
    else:
        found = list(_in_host_file(view, 0))
    return tuple(sorted(found, key=lambda each: each.offset))


def _archive_members(view: memoryview) -> Iterator[tuple[int, int]]:
    position = len(_ARCHIVE_MAGIC)
    while position + _MEMBER.size <= len(view):
        *_, size_text, end_mark = _MEMBER.unpack_from(view, position)
        start = position + _MEMBER.size
        size = natural(size_text.strip().decode("ascii", "replace"))
        if end_mark != _MEMBER_END or size is None or start + size > len(view):
            raise MalformedElf("the archive member", position, "its header or size does not hold", "get the file again")
        yield start, size
        position = start + size + size % 2


def _in_host_file(view: memoryview, base: int) -> Iterator[DeviceBinary]:
    if bytes(view[:4]) != elf.ELF_MAGIC:
        return
    host = ElfFile(view)
    names = host.section_names()
    # Damaged tables may describe the same bytes over and over; each is looked at once.
    reading = Budget(2 * len(view), "the sections", "together they are larger than the file")
    sections: dict[str, int] = {}
    known: list[DeviceBinary] = []
    for index, section in enumerate(host.sections):
        if section.type in (elf.SHT_SYMTAB, elf.SHT_DYNSYM) and section.entry_size:
            reading.spend(section.size)
            known += _packed_parts(host, index, base)
        if section.type != elf.SHT_PROGBITS or names is None:
            continue
        name = names.text(section.name, f"section {index}")
        if name in _SINGLE:
            sections.setdefault(name, index)
        elif name is not None and name.startswith(_LIBRARY_SECTION):
            reading.spend(section.size)
            known += _library_parts(host, name, index, base)
    known += _launch_parts(host, sections, base)
    yield from known
    taken = {each.offset for each in known}
    for name in sorted(_SCANNED & sections.keys()):
        yield from (each for each in _embedded_parts(host, sections[name], base) if each.offset not in taken)


def _library_parts(host: ElfFile, name: str, index: int, base: int) -> Iterator[DeviceBinary]:
    content = host.content(index)
    offset = base + host.sections[index].offset
    soc, _, library = name[len(_LIBRARY_SECTION) :].partition(".")
    version, count = _unpack(host, "II", content, 0, name)
    if version != _LIBRARY_VERSION:
        raise MalformedElf(f"the version of {name}", version, f"this layout has version {_LIBRARY_VERSION}")
    position = struct.calcsize("II")
    for _ in range(count):
        kind, length, capacity = _unpack(host, "III", content, position, name)
        position += struct.calcsize("III")
        if length > capacity or position + capacity > len(content):
            raise MalformedElf(
                f"a part of {name}", length, f"the section has {len(content)} bytes", "get the file again"
            )
        part, magic = _LIBRARY_PARTS.get(kind, (f"type {kind}", None))
        data = content[position : position + length]
        yield DeviceBinary(Layout.LIBRARY, offset + position, data, library, soc, part, magic)
        position += capacity


def _launch_parts(host: ElfFile, sections: dict[str, int], base: int) -> Iterator[DeviceBinary]:
    for name, (record_name, part) in _LAUNCH_SECTIONS.items():
        if name not in sections:
            continue
        content = host.content(sections[name])
        length, magic = len(content), None
        if record_name in sections:
            record = host.content(sections[record_name])
            number, _, _, length = _unpack(host, _LAUNCH_RECORD, record, 0, record_name)
            magic = Magic(number) if number in _MAGIC_NUMBERS else None
            if length > len(content):
                raise MalformedElf(f"the length in {record_name}", length, f"{name} has {len(content)} bytes")
        offset = base + host.sections[sections[name]].offset
        yield DeviceBinary(Layout.LAUNCH, offset, content[:length], part=part, magic=magic)


_MAGIC_NUMBERS: Final = frozenset(magic.value for magic in Magic)


def _packed_parts(host: ElfFile, table: int, base: int) -> Iterator[DeviceBinary]:
    names = host.names(host.sections[table].link, "a symbol table")
    sections = len(host.sections)
    edges: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for symbol in host.symbols(table):
        # Names are costly to decode and few are of this kind, so compare the start of the raw bytes first.
        start = bytes(names.view[symbol.name : symbol.name + len(_PACKED_PREFIX)])
        if start != _PACKED_PREFIX or symbol.section >= sections:
            continue
        match = _PACKED.fullmatch(names.text(symbol.name, "a symbol") or "")
        if match:
            home = host.sections[symbol.section]
            edges[match["edge"] == "end"][match["name"]] = symbol.value - home.address + home.offset
    starts, ends = edges
    for name in starts.keys() & ends.keys():
        first, end = starts[name], ends[name]
        if not 0 <= first <= end <= len(host.view):
            raise MalformedElf(f"the end of _binary_{name}", end, f"the file has {len(host.view)} bytes")
        soc, _, rest = name.removesuffix("_o").partition("_")
        if rest.startswith(_SOC_SECOND_HALF):
            soc, rest = soc + "_" + _SOC_SECOND_HALF[:-1], rest.removeprefix(_SOC_SECOND_HALF)
        yield DeviceBinary(Layout.PACKED, base + first, host.view[first:end], rest, soc)


def _embedded_parts(host: ElfFile, index: int, base: int) -> Iterator[DeviceBinary]:
    section = host.sections[index]
    content = host.content(index)
    position = mistaken = 0
    while match := _DEVICE_ELF.search(content, position):
        start = match.start()
        position = match.end()
        try:
            size = ElfFile(content[start:]).extent
        except BinaryError:
            size = len(content)
        if start + size <= len(content):
            yield DeviceBinary(Layout.EMBEDDED, base + section.offset + start, content[start : start + size])
            position = start + size
        elif (mistaken := mistaken + 1) > _MISTAKES:
            rule = f"more than {_MISTAKES} of them break off"
            raise MalformedElf(f"the ELF files in section {index}", "damaged", rule, "get the file again")


def _unpack(host: ElfFile, layout: str, content: memoryview, position: int, part: str) -> tuple[int, ...]:
    layout = host.order + layout
    if position + struct.calcsize(layout) > len(content):
        raise MalformedElf(f"the size of {part}", len(content), f"a header is expected at {position}")
    return struct.unpack_from(layout, content, position)
