"""Damaged input: a result or a BinaryError, soon, and in little memory."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chips import find_chip
from chips.binary.aicpu import read_aicpu_program
from chips.binary.errors import BinaryError
from chips.binary.fat import find_device_binaries
from chips.binary.registration import register
from tests.tools.elf_writer import OBJECT, ElfWriter, dfx, dfx_item, entry, ratio, tlv, u32
from tests.tools.examples import examples

CHIPS = tuple(map(find_chip, ("Ascend910B1", "Ascend950PR_9599", "Ascend310P3", "Ascend910A")))
KERNELS = Path(__file__).parents[3] / "data/kernels"
INPUT = dfx_item(0x10002, 2**64 - 1)
MEMORY_PER_BYTE = 10
FIXED_MEMORY = 64 * 1024
"""Interpreter objects that any file costs: the exception, its traceback, the tables."""


def rich_file() -> bytes:
    writer = ElfWriter().stack(32768)
    for key in range(6):
        for half, kind in (("aic", 4), ("aiv", 4)):
            record = u32(1, kind) + ratio(1, 2) + dfx(INPUT, INPUT) + u32(12, 2) + u32(7, 64) + u32(8, 128)
            writer.kernel(f"Op_0123_{key}_mix_{half}", record + entry(0, key) + tlv(16, bytes(12)))
    writer.section(".ascend.meta", (u32(0, 1) + u32(4, 4)) * 6).section(".data", b"d" * 16, flags=2)
    return writer.symbol("g", type=OBJECT, section=15, size=8).build()


def host_file() -> bytes:
    one = ElfWriter().kernel("k_1", u32(1, 3)).build()
    section = struct.pack("<5I", 1, 1, 1, len(one), len(one)) + one
    host = ElfWriter(machine=62).symbol("main").section(".ascend.kernel.ascend910b1.x", section)
    host.section(".aicore_binary", one).section(".aicoreBinRec", struct.pack("<IIQQ", 1, 2, 0, len(one)))
    host.section(".data", one).symbol("_binary_ascend910b_a_o_start", section=5)
    return host.symbol("_binary_ascend910b_a_o_end", section=5, value=len(one)).build()


SEEDS = (*(path.read_bytes() for path in sorted(KERNELS.glob("*/*.o"))), rich_file(), host_file())


def survives(data: bytes) -> None:
    """Read ``data`` in every way; anything but a result or a BinaryError fails, as does a lot of memory."""
    for chip in CHIPS:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = register(data, chip)
        peak = tracemalloc.get_traced_memory()[1] - before
        assert peak <= MEMORY_PER_BYTE * len(data) + FIXED_MEMORY, peak
        assert result.error is not None or result.failed is None
        del result
    try:
        found = find_device_binaries(data)
    except BinaryError:
        return
    assert all(each.offset + len(each.data) <= len(data) for each in found)


def flips(count: int, seed: int) -> Iterator[bytes]:
    generator = random.Random(seed)
    for _ in range(count):
        data = bytearray(generator.choice(SEEDS))
        for _ in range(generator.choice((1, 1, 2, 8))):
            place = generator.randrange(len(data))
            match generator.randrange(4):
                case 0:
                    data[place] ^= 1 << generator.randrange(8)
                case 1:
                    data[place] = generator.choice((0, 1, 0x7F, 0x80, 0xFF))
                case 2:
                    data[place : place + 8] = struct.pack("<Q", generator.choice((0, 2**31, 2**63, 2**64 - 1)))
                case _:
                    del data[place + generator.randrange(64) :]
            if not data:
                break
        yield bytes(data)


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


traced = pytest.mark.usefixtures("_traced")
"""For tests that look at memory: following each allocation costs several times the reading."""


def test_the_seeds_themselves_are_fine() -> None:
    assert [register(seed, CHIPS[0]).error for seed in SEEDS[:-1]] == [None] * (len(SEEDS) - 1)
    assert len(find_device_binaries(SEEDS[-1])) == 3


@traced
def test_flipped_bits() -> None:
    for data in flips(300, seed=7):
        survives(data)


@traced
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_flipped_bits_at_length() -> None:
    for data in flips(15_000, seed=20):
        survives(data)


def damage(data: bytes, changes: list[tuple[float, bytes]]) -> bytes:
    copy = bytearray(data)
    for where, new in changes:
        place = int(where * len(copy))
        copy[place : place + len(new)] = new
    return bytes(copy)


changes = st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=9)), min_size=1, max_size=6)
quiet = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@traced
@settings(quiet, max_examples=examples(120))
@given(st.sampled_from(SEEDS), changes)
def test_overwritten_bytes(data: bytes, where: list[tuple[float, bytes]]) -> None:
    survives(damage(data, where))


@traced
@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(quiet, max_examples=4_000)
@given(st.sampled_from(SEEDS), changes)
def test_overwritten_bytes_at_length(data: bytes, where: list[tuple[float, bytes]]) -> None:
    survives(damage(data, where))


@traced
@settings(quiet, max_examples=examples(50))
@given(st.binary(max_size=400))
def test_any_meta_data(record: bytes) -> None:
    survives(ElfWriter().kernel("k_1", record).section(".ascend.meta", record).build())


@traced
@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(quiet, max_examples=1_000)
@given(st.binary(max_size=400))
def test_any_meta_data_at_length(record: bytes) -> None:
    survives(ElfWriter().kernel("k_1", record).section(".ascend.meta", record).build())


CHARACTERS = "a9_ \"\\/\0\n\u00e9\u2028\ud800\U0001d11e"
"""A few of each kind: hypothesis needs half a minute to sort all that Unicode has."""

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(CHARACTERS, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("opInfo", "kernelSo")), inner),
    max_leaves=8,
)


@settings(quiet, max_examples=examples(30))
@given(json_values)
def test_any_op_list(value: object) -> None:
    import json

    text = json.dumps({"Op": value})
    try:
        read_aicpu_program(text)
    except BinaryError:
        assert "NaN" in text or "Infinity" in text
    assert register(SEEDS[0], CHIPS[0], side_json=text).failed is None


def dense(names: bytes, offsets: range) -> bytes:
    """A file that is little more than a symbol table: kernels whose names start at ``offsets`` of ``names``."""
    writer = ElfWriter()
    for offset in offsets:
        writer.symbol("", name_offset=offset)
    data = bytearray(writer.build())
    strings = struct.unpack_from("<Q", data, 40)[0] + 3 * 64
    struct.pack_into("<QQ", data, strings + 24, len(data), len(names))
    return bytes(data) + names


@traced
@pytest.mark.parametrize("digits", [5, 60])
def test_a_file_of_nothing_but_kernels_costs_little(digits: int) -> None:
    names = b"\0" + b"".join(b"n%0*d\0" % (digits, i) for i in range(3000))
    data = dense(names, range(1, len(names), digits + 2))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    result = register(data, CHIPS[0])
    peak = tracemalloc.get_traced_memory()[1] - before
    assert len(result.kernels) == 3000
    assert peak <= MEMORY_PER_BYTE * len(data) + (1 << 20)


def test_names_made_of_the_same_bytes_are_refused() -> None:
    result = register(dense(b"\0" + b"a" * 4000 + b"\0", range(1, 3900)), CHIPS[0])
    assert "times the memory of the file" in str(result.error)


def test_sections_over_the_same_bytes_are_refused() -> None:
    record = u32(4, 1) * 2000
    writer = ElfWriter().kernel("k").section(".ascend.meta", record)
    for _ in range(20):
        writer.section(".ascend.meta")
    data = bytearray(writer.build())
    table = struct.unpack_from("<Q", data, 40)[0]
    place = data[table + 2 * 64 + 24 : table + 2 * 64 + 40]
    for index in range(3, 23):
        data[table + index * 64 + 24 : table + index * 64 + 40] = place
    assert "larger than the file" in str(register(data, CHIPS[0]).error)


def test_remarks_are_bounded() -> None:
    writer = ElfWriter()
    for index in range(300):
        writer.kernel(f"k{index}")
    notes = register(writer.build(), CHIPS[0]).notes.texts()
    assert (len(notes), notes[-1]) == (101, "and 199 more")
