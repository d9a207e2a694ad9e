"""Meta data of kernels and binaries: every unit, its limits, and what a chip makes of it."""

from __future__ import annotations

import struct

import pytest

from chips import Chip, find_chip
from chips.binary.arguments import Argument, ArgumentKind, PointerKind
from chips.binary.errors import MalformedMeta
from chips.binary.meta import EntryType, KernelMeta, no_meta, read_kernel_meta
from chips.binary.notes import Notes
from chips.binary.tlv import binary_tlvs, meta_flags, stack_record
from tests.tools.elf_writer import dfx, dfx_item, entry, ratio, tlv, u32

A2, DAVID, OLD = (find_chip(soc) for soc in ("Ascend910B1", "Ascend950PR_9599", "Ascend310P3"))


def read(record: bytes, chip: Chip = A2, order: str = "<", limit: int = 32768) -> tuple[KernelMeta, tuple[str, ...]]:
    notes = Notes()
    return read_kernel_meta(memoryview(record), order, chip, "k", notes, limit), notes.texts()


@pytest.mark.parametrize(
    ("record", "attribute", "value"),
    [
        (u32(1, 3), "func_type", 3),
        (u32(1, 3) + u32(1, 2), "func_type", 2),
        (u32(99, 7) + u32(1, 2), "func_type", 2),
        (u32(2, 1), "cross_core_sync", True),
        (u32(2, 2), "cross_core_sync", False),
        (u32(7, 8192) + u32(12, 3), "share_memory", 8192),
        (u32(7, 8192), "share_memory", 0),
        (u32(7, 8192) + u32(12, 0), "share_memory", 0),
        (u32(12, 4), "vector_function", 4),
        (u32(11, 1), "early_start", True),
        (u32(11, 2), "early_start", False),
        (u32(18, 1), "sched_mode", 1),
        (tlv(8, (64).to_bytes(8, "little")), "min_stack", 64),
        (tlv(8, b"\x10\x20"), "min_stack", 0x2010),
        (tlv(8), "min_stack", 0),
        (u32(8, 32768), "min_stack", 32768),
        (entry(0, 2**40), "entry", 2**40),
        (entry(0, 2**40), "entry_type", EntryType.FROM_META),
        (entry(0x80, 5), "entry_type", EntryType.NONE),
        (b"", "size", 0),
        (u32(1, 1), "size", 8),
        (b"\1\0\4\0", "func_type", 0),  # four bytes are no unit
    ],
)
def test_a_unit_becomes_its_value(record: bytes, attribute: str, value: object) -> None:
    assert getattr(read(record)[0], attribute) == value


@pytest.mark.parametrize(
    ("cube", "vector", "value"), [(1, 2, 2), (2, 1, 2), (1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 2)]
)
def test_mix_ratio(cube: int, vector: int, value: int) -> None:
    assert read(ratio(cube, vector))[0].ratio == value


@pytest.mark.parametrize(("cube", "vector"), [(3, 1), (0, 2), (2, 2), (65535, 1)])
def test_another_mix_ratio_is_refused_where_the_chip_has_ratios(cube: int, vector: int) -> None:
    with pytest.raises(MalformedMeta, match=f"'{cube}:{vector}'"):
        read(ratio(cube, vector))
    assert read(ratio(cube, vector), OLD)[0].ratio == 2


@pytest.mark.parametrize(
    ("record", "part"),
    [
        (u32(8, 32769), "minimum stack"),
        (tlv(8, b"\1" * 9), "length of the stack size"),
        (entry(1, 0), "function entry flag"),
        (u32(18, 2), "schedule mode"),
        (u32(18, 3), "schedule mode"),
        (tlv(16, struct.pack("<IQ", 3, 24)), "parameter count"),
        (tlv(16, struct.pack("<IQ", 0, 0)) + tlv(17, bytes(40)), "parameter count"),
        (tlv(16, struct.pack("<IQ", 1, 8)) + tlv(17, struct.pack("<II", 0, 5) + bytes(32)), "ordinal"),
        (tlv(1, b"\1"), "unit type 1"),
        (tlv(14, bytes(8)), "unit type 14"),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused(record: bytes, part: str) -> None:
    with pytest.raises(MalformedMeta, match=part) as caught:
        read(record)
    assert (caught.value.code, caught.value.message_id) == ("RT_ERROR_INVALID_VALUE", "EE1014")


def test_the_stack_limit_is_that_of_the_process_and_only_where_the_chip_reads_it() -> None:
    assert read(u32(8, 40000), limit=65536)[0].min_stack == 40000
    assert read(u32(8, 40000), DAVID, limit=65536)[0].min_stack == 40000
    assert read(u32(8, 40000), OLD)[0].min_stack == 0


def test_a_short_value_is_read_at_full_width_and_noted() -> None:
    meta, notes = read(tlv(1, b"\3") + b"\0\0\0" + u32(2, 1))
    assert meta.func_type == 3
    assert "1 bytes instead of 4" in notes[0]


def test_a_length_past_the_end_ends_the_record_with_a_note() -> None:
    meta, notes = read(u32(1, 3) + tlv(2, b"\1\0\0\0", length=400))
    assert (meta.func_type, meta.cross_core_sync) == (3, False)
    assert "400 bytes" in notes[0]


def test_parameters_are_placed_by_ordinal() -> None:
    units = [tlv(17, struct.pack("<IIIIHHIIII", i, 1 - i, 8 * i, 8, 8, 0, 0, 0, 0, 0)) for i in range(2)]
    meta, _ = read(tlv(16, struct.pack("<IQ", 2, 16)) + b"".join(units))
    assert [(p.number, p.ordinal, p.offset) for p in meta.parameters] == [(1, 0, 8), (0, 1, 0)]


@pytest.mark.parametrize("unit", [tlv(17, bytes(40)), tlv(17, bytes(4)), tlv(17, struct.pack("<II", 0, 5) + bytes(32))])
def test_parameters_without_a_summary_are_passed_over_with_a_note(unit: bytes) -> None:
    meta, notes = read(unit + u32(1, 3))
    assert (meta.parameters, meta.func_type) == ((), 3)
    assert "1 parameters without a summary" in notes[0]


@pytest.mark.parametrize("kind", [*range(1, 8), 9, 10, 11, 12, 13, 15, 18])
@pytest.mark.parametrize("chip", [None, DAVID])
def test_every_number_may_stand_alone(kind: int, chip: object) -> None:
    value = struct.pack("<HH", 1, 2) if kind == 3 else struct.pack("<I", 1)
    alone = tlv(kind, value)
    assert (read(alone) if chip is None else read(alone, chip))[0].parameters == ()


def test_big_endian_records() -> None:
    meta, _ = read(u32(1, 3, order=">") + u32(8, 300, order=">"), order=">")
    assert (meta.func_type, meta.min_stack) == (3, 300)


INPUT = dfx_item(0x10002, 2**64 - 1)


@pytest.mark.parametrize(
    ("record", "count", "noted"),
    [
        (None, 128, False),
        (u32(1, 1), 0, False),
        (dfx(), 0, False),
        (dfx(INPUT), 1, False),
        (dfx(INPUT, INPUT, INPUT), 3, False),
        (dfx(INPUT, INPUT, dfx_item(1, 2, kind=6)), 3, True),
        (dfx(INPUT, dfx_item(1, kind=6), INPUT), 2, False),
        (dfx(INPUT, INPUT, INPUT, tail=b"\0\5\0\1"), 4, True),
        (dfx(struct.pack(">HH", 5, 2)), 1, True),
        (dfx(b"\0"), 1, True),
    ],
)
def test_arguments_are_counted_as_registration_counts_them(record: bytes | None, count: int, noted: bool) -> None:
    meta, notes = (no_meta(A2), ()) if record is None else read(record)
    assert meta.user_args == count
    assert bool(notes) == noted


def test_arguments_in_words() -> None:
    items = [INPUT, dfx_item(0x30003, 64, 7), dfx_item(0x1000B), dfx_item(0x7F0063, 1), dfx_item()]
    assert read(dfx(*items))[0].arguments == (
        Argument(ArgumentKind.INPUT, PointerKind.ONE_LEVEL, None, None),
        Argument(ArgumentKind.OUTPUT, PointerKind.TWO_LEVEL_WITH_SHAPE, 64, 7),
        Argument(ArgumentKind.FFTS_ADDRESS, PointerKind.ONE_LEVEL, None, None),
        Argument(0x63, 0x7F, 1, None),
    )


def binary_unit(flag: int, padded: bool) -> bytes:
    dynamic = tlv(2, b"\0\0" if padded else bytes(4))
    return u32(0, 1) + tlv(1, bytes(8)) + dynamic + tlv(3, bytes(4)) + u32(4, flag) + (b"\0\0" if padded else b"")


def test_flags_of_every_kernel_are_collected() -> None:
    notes = Notes()
    record = memoryview(binary_unit(4, False) + binary_unit(1, False) + binary_unit(0, False))
    assert meta_flags(record, "<", notes) == 0b1001
    assert not notes.texts()


@pytest.mark.parametrize("value", [33, 2**32 - 1])
def test_an_unknown_flag_is_noted(value: int) -> None:
    notes = Notes()
    assert meta_flags(memoryview(u32(4, value)), "<", notes) == 0
    assert str(value) in notes.texts()[0]


def test_padding_of_older_compilers_misleads_registration_but_not_us() -> None:
    notes = Notes()
    record = memoryview(binary_unit(1, True) + binary_unit(4, True))
    assert len(record) == 2 * 44
    assert meta_flags(record, "<", notes) == 0b1
    (note,) = notes.texts()
    assert "1 of 2 kernels" in note
    assert "0x1 instead of 0x9" in note
    assert [bytes(value)[:1] for kind, value in binary_tlvs(record, "<") if kind == 4] == [b"\1", b"\4"]


@pytest.mark.parametrize(
    ("record", "size"),
    [
        (struct.pack("<Q", 16384), 16384),
        (struct.pack("<3Q", *[32768] * 3), 32768),
        (struct.pack("<2Q", 16384, 32768), 0),
        (struct.pack("<Q", 8192), 0),
        (struct.pack("<Q", 65536), 0),
        (struct.pack("<Q", 0), 0),
        (b"", 0),
        (b"\0\x40\0\0", 0),
        (struct.pack("<Q", 16384) + b"\0", 0),
    ],
)
def test_stack_record(record: bytes, size: int) -> None:
    notes = Notes()
    assert stack_record(memoryview(record), "<", notes) == size
    assert bool(notes.texts()) == (size == 0)
