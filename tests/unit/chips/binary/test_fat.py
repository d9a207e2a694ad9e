"""Device binaries inside host files, in the four ways they are packed there."""

from __future__ import annotations

import struct

import pytest

from chips import find_chip
from chips.binary import load_embedded
from chips.binary.errors import MalformedElf
from chips.binary.fat import DeviceBinary, Layout, find_device_binaries, is_device_elf
from chips.binary.kernels import Magic
from tests.tools.corpus import corpus
from tests.tools.elf_writer import OBJECT, ElfWriter

A2 = find_chip("Ascend910B1")
ONE, TWO = ElfWriter().kernel("one_1").build(), ElfWriter(flags=0x940000).kernel("two_2").kernel("three_3").build()


def host() -> ElfWriter:
    return ElfWriter(machine=62, flags=0, type=3).symbol("main")


def library(*parts: tuple[int, bytes], version: int = 1, count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<III", kind, len(data), len(data)) + data for kind, data in parts)
    return struct.pack("<II", version, len(parts) if count is None else count) + body


def archive(*members: bytes) -> bytes:
    text = b"!<arch>\n"
    for member in members:
        text += f"{'m.o/':16}{0:<12}{0:<6}{0:<6}{644:<8}{len(member):<10}`\n".encode()
        text += member + b"\n" * (len(member) % 2)
    return text


def brief(found: tuple[DeviceBinary, ...]) -> list[tuple[bytes, str, str, Magic | None]]:
    return [(bytes(each.data), each.soc, each.part, each.magic) for each in found]


def test_a_device_elf_is_the_only_one_in_it() -> None:
    assert is_device_elf(ONE)
    (found,) = find_device_binaries(ONE)
    assert (found.layout, found.offset, bytes(found.data)) == (Layout.PLAIN, 0, ONE)


@pytest.mark.parametrize("data", [b"", b"text", host().build(), archive(), archive(b"text", host().build())])
def test_other_files_hold_none(data: bytes) -> None:
    assert find_device_binaries(data) == ()
    assert not is_device_elf(data)


def test_library_layout() -> None:
    section = library((0, ONE), (1, TWO), (2, ONE), (7, TWO))
    data = host().section(".ascend.kernel.ascend910b1.my_kernels", section).build()
    found = find_device_binaries(data)
    assert brief(found) == [
        (ONE, "ascend910b1", "mix", Magic.ELF),
        (TWO, "ascend910b1", "aiv", Magic.ELF_AIVEC),
        (ONE, "ascend910b1", "aic", Magic.ELF_AICUBE),
        (TWO, "ascend910b1", "type 7", None),
    ]
    for each in found:
        assert (each.layout, each.name) == (Layout.LIBRARY, "my_kernels")
        assert data[each.offset : each.offset + len(each.data)] == bytes(each.data)


@pytest.mark.parametrize(
    ("section", "part"),
    [
        (library((0, ONE), version=2), "version of"),
        (library((0, ONE), count=2), "size of"),
        (library((0, ONE))[:-8], "a part of"),
        (struct.pack("<5I", 1, 1, 0, 8, 4) + bytes(8), "a part of"),
        (b"\1", "size of"),
        (struct.pack("<II", 1, 2**32 - 1), "size of"),
    ],
)
def test_a_library_section_that_does_not_hold_together_is_refused(section: bytes, part: str) -> None:
    with pytest.raises(MalformedElf, match=part):
        find_device_binaries(host().section(".ascend.kernel.s.n", section).build())


def launch(linked: bytes, record: bytes) -> bytes:
    writer = host().section("__aicore_rel_binary", TWO).section(".aicore_binary", linked)
    return writer.section(".aicoreBinRec", record).build()


def test_launch_layout_with_and_without_a_record() -> None:
    record = struct.pack("<IIQQ", Magic.ELF_AIVEC.value, 2, 0, len(ONE))
    found = find_device_binaries(launch(ONE + b"\0" * 3, record))
    assert brief(found) == [(TWO, "", "relocatable", None), (ONE, "", "linked", Magic.ELF_AIVEC)]
    found = find_device_binaries(archive(b"odd", launch(ONE, struct.pack("<IIQQ", 1, 2, 0, len(ONE)))))
    assert brief(found) == [(TWO, "", "relocatable", None), (ONE, "", "linked", None)]


def test_a_launch_record_longer_than_its_section_is_refused() -> None:
    with pytest.raises(MalformedElf, match="aicoreBinRec"):
        find_device_binaries(launch(ONE, struct.pack("<IIQQ", 0, 2, 0, len(ONE) + 1)))


def test_packed_layout() -> None:
    name = "_binary_ascend910b_add_Add_0123abcd_o"
    writer = host().section(".data", b"\0" * 5 + ONE + TWO, flags=2, address=0x2000)
    writer.symbol(name + "_start", value=0x2005, type=OBJECT, section=2)
    writer.symbol(name + "_end", value=0x2005 + len(ONE), type=OBJECT, section=2)
    writer.symbol("_binary_ascend910b_add_Add_0123abcd_json_start", value=0x2000, type=OBJECT, section=2)
    writer.symbol("_binary_ascend910_93_mul_Mul_77_o_start", value=0x2005, type=OBJECT, section=2)
    packed, embedded = find_device_binaries(writer.build())
    assert (packed.layout, packed.soc, packed.name) == (Layout.PACKED, "ascend910b", "add_Add_0123abcd")
    assert bytes(packed.data) == ONE
    assert (embedded.layout, bytes(embedded.data)) == (Layout.EMBEDDED, TWO)


def test_packed_symbols_must_stay_in_the_file() -> None:
    writer = host().section(".data", ONE, address=0x2000)
    for edge, value in (("start", 0x2000), ("end", 0x900000)):
        writer.symbol(f"_binary_ascend910b_a_o_{edge}", value=value, type=OBJECT, section=2)
    with pytest.raises(MalformedElf, match="_binary_ascend910b_a_o"):
        find_device_binaries(writer.build())


def test_embedded_anywhere_in_read_only_data() -> None:
    data = host().section(".rodata", b"name" + ONE + b"\x7fELF" + ONE[:60] + b"{}" + TWO).build()
    assert [bytes(each.data) for each in find_device_binaries(data)] == [ONE, TWO]


def test_a_broken_archive_is_refused() -> None:
    good = archive(host().build())
    with pytest.raises(MalformedElf, match="archive member"):
        find_device_binaries(good[:-30])


def test_embedded_programs_are_views_with_their_magic() -> None:
    data = bytearray(host().section(".ascend.kernel.s.n", library((1, ONE), (0, TWO))).build())
    (first, one), (_, two) = load_embedded(data, A2)
    assert one.kernel("one_1").attribute.name == "VECTOR"
    assert two.kernel("two_2").attribute.name == "MIX"
    data[first.offset + one.text_offset] = 0x42
    assert one.image[0] == 0x42


@pytest.mark.parametrize(
    ("file", "places"),
    [
        ("bitsandbytes_npu_beta__libbitsandbytes_npu.so", [372788]),
        ("mindspore__libgelu_ascend310p.so", [3872, 10744]),
        ("mindspore__libgelu_ascend910b.so", [3872, 45592]),
        ("numpy_ascend__ascendc_elementwise_Ascend910B4.o", [0x588]),
        ("vllm_ascend__libvllm_ascend_kernels.so", [524316, 713928, 775828]),
    ],
)
def test_real_host_files(file: str, places: list[int]) -> None:
    data = corpus("elfs/fat/" + file).read_bytes()
    found = load_embedded(data, A2)
    assert [each.offset for each, _ in found] == places
    assert all(len(program) for _, program in found)
