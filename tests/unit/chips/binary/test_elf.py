"""The ELF reader: agrees with an independent one, and follows no offset out of the file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from chips.binary.elf import ElfFile, StringTable
from chips.binary.errors import MalformedElf, NotAnElf
from tests.tools.elf_writer import DYNSYM, ElfWriter, Section, patched

KERNELS = sorted((Path(__file__).parents[3] / "data/kernels").glob("*/*.o"))


def written() -> bytes:
    return ElfWriter().kernel("k_1").kernel("k_2").section(".data", b"\1" * 8, flags=2).build()


def agree(data: bytes) -> None:
    ours, theirs = ElfFile(data), ELFFile(io.BytesIO(data))
    names = ours.section_names()
    assert names is not None
    assert len(ours.sections) == theirs.num_sections()
    for index, section in enumerate(theirs.iter_sections()):
        mine = ours.sections[index]
        assert names.text(mine.name, "x") == section.name
        assert (mine.offset, mine.size, mine.address) == (
            section["sh_offset"],
            section["sh_size"],
            section["sh_addr"],
        )
        if section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL"):
            assert bytes(ours.content(index)) == section.data()
        if isinstance(section, SymbolTableSection) and section["sh_type"] == "SHT_SYMTAB":
            assert ours.symbol_table() == index
            strings = ours.names(mine.link, "x")
            found = [(strings.text(s.name, "x"), s.value, s.size, s.section) for s in ours.symbols(index)]
            others = {"SHN_UNDEF": 0, "SHN_ABS": 0xFFF1}
            assert found == [
                (s.name or "", s["st_value"], s["st_size"], others.get(s["st_shndx"], s["st_shndx"]))
                for s in section.iter_symbols()
            ]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.parent.name)
def test_agrees_with_pyelftools_on_real_kernels(path: Path) -> None:
    agree(path.read_bytes())


@pytest.mark.parametrize("order", ["<", ">"])
def test_agrees_with_pyelftools_in_both_byte_orders(order: str) -> None:
    agree(ElfWriter(order=order).kernel("k_1").section(".data", b"abc", flags=2).build())


def test_reads_without_copying() -> None:
    data = bytearray(written())
    file = ElfFile(data)
    place = file.sections[1].offset
    data[place] = 0x77
    assert file.content(1)[0] == 0x77


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda d: patched(d, 4, "B", 1), "ELF class"),
        (lambda d: patched(d, 58, "<H", 40), "e_shentsize"),
        (lambda d: patched(d, 60, "<H", 0), "e_shnum"),
        (lambda d: patched(d, 40, "<Q", len(d)), "section table"),
        (lambda d: patched(d, 40, "<Q", 2**64 - 1), "section table"),
        (lambda d: d[:-1], "section table"),
        (lambda d: d[: len(d) // 2], "section table"),
        (lambda d: d[:63], "size of the file"),
        (lambda d: d[:4], "size of the file"),
    ],
)
def test_a_broken_container_is_refused_with_its_part(damage, part: str) -> None:
    with pytest.raises(MalformedElf, match=part) as caught:
        ElfFile(damage(written()))
    assert not isinstance(caught.value, NotAnElf)


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"#!/bin/sh\n" * 20, b"\0" * 200])
def test_what_is_no_elf_is_called_that(data: bytes) -> None:
    with pytest.raises(NotAnElf, match="7f 45 4c 46"):
        ElfFile(data)


def test_a_wrong_magic_alone_is_only_noted() -> None:
    file = ElfFile(patched(written(), 0, "4B", 1, 2, 3, 4))
    assert "01 02 03 04" in file.oddities[0]


@pytest.mark.parametrize("mark", [0, 1, 7])
def test_any_other_byte_order_mark_is_little_endian(mark: int) -> None:
    file = ElfFile(patched(written(), 5, "B", mark))
    assert file.header.machine == 0x1029
    assert bool(file.oddities) == (mark == 7)


@pytest.mark.parametrize(("extra", "refused"), [(0, False), (1, True)])
def test_a_section_link_may_equal_the_section_count_but_not_pass_it(extra: int, refused: bool) -> None:
    data = written()
    count = len(ElfFile(data).sections)
    table = ElfFile(data).header.section_offset
    damaged = patched(data, table + 64 + 40, "<I", count + extra)
    if refused:
        with pytest.raises(MalformedElf, match="sh_link"):
            ElfFile(damaged)
    else:
        # Nobody may follow it, though.
        with pytest.raises(MalformedElf, match="string table of x"):
            ElfFile(damaged).names(count, "x")


def test_a_section_that_leaves_the_file_is_refused_when_read() -> None:
    file = ElfFile(ElfWriter().kernel("k").section(".big", b"x", size=10**6).build())
    assert file.content(1)
    with pytest.raises(MalformedElf, match="end of section 2"):
        file.content(2)


@pytest.mark.parametrize("offset", [5, 6, 2**31])
def test_names_stay_in_their_table(offset: int) -> None:
    with pytest.raises(MalformedElf, match="name of x"):
        StringTable(memoryview(b"\0abc\0d")).text(offset, "x")


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 9000])
def test_a_name_may_have_4095_bytes(size: int) -> None:
    table = StringTable(memoryview(b"\0" + b"n" * size + b"\0" + b"tail" * 2000))
    assert table.text(1, "x") == ("n" * size if size < 4096 else None)
    with pytest.raises(MalformedElf, match="past the end"):
        table.text(size + 2, "x")


def test_bytes_outside_utf8_survive_in_names() -> None:
    name = StringTable(memoryview(b"\xff\xfe\0")).text(0, "x")
    assert name is not None
    assert name.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_without_a_name_table_no_section_has_a_name() -> None:
    data = written()
    assert ElfFile(patched(data, 62, "<H", 0)).section_names() is None
    assert ElfFile(patched(data, 62, "<H", 200)).section_names() is None


def test_the_first_table_with_an_entry_size_is_the_symbol_table() -> None:
    writer = ElfWriter().kernel("k")
    writer.sections.append(Section("", type=DYNSYM, entry_size=24))
    file = ElfFile(writer.build())
    assert file.symbol_table() == 3


def test_symbols_of_another_size_are_refused() -> None:
    writer = ElfWriter()
    writer.sections.append(Section(".symtab", b"\0" * 48, type=2, entry_size=16))
    file = ElfFile(writer.build())
    with pytest.raises(MalformedElf, match="24 bytes"):
        file.symbols(2)


def test_so_name() -> None:
    writer = ElfWriter()
    writer.sections.append(Section(".dynstr", b"\0libx.so\0", type=3))
    writer.sections.append(Section(".dynamic", b"".join((14).to_bytes(8, "little") for _ in range(1)), type=6, link=2))
    writer.sections[-1].content += (1).to_bytes(8, "little") + bytes(16)
    assert ElfFile(writer.build()).so_name() == "libx.so"
    assert ElfFile(written()).so_name() is None


def test_extent_is_the_whole_file() -> None:
    data = written()
    assert ElfFile(data + b"tail").extent == len(data)
