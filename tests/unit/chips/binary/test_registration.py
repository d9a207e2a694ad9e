"""From a file to a program: what is loaded, which symbols count, and how far a refused file came."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from chips import Chip, find_chip
from chips.binary import BinaryError, KernelAttribute, Magic, read_program
from chips.binary.errors import BadLoadOption, UnknownEntry, UnknownGlobal, UnknownKernel
from chips.binary.registration import Stage, register
from chips.binary.tlv import BinaryTlv, FunctionTlv
from tests.tools.elf_writer import (
    HIDDEN,
    LOCAL,
    NOBITS,
    NOTE,
    OBJECT,
    WEAK,
    ElfWriter,
    Symbol,
    dfx,
    dfx_item,
    entry,
    patched,
    u32,
)

A2, DAVID, OLD, FIRST, MC62 = (
    find_chip(soc) for soc in ("Ascend910B1", "Ascend950PR_9599", "Ascend310P3", "Ascend910A", "MC62CM12A")
)
KERNELS = Path(__file__).parents[3] / "data/kernels"
DENSE = KERNELS / "ascend910b/DenseToJagged_26fffc50fb8bdec16664aed9b9571742.o"
INVERT = KERNELS / "ascend950/InvertPermute_e1213a34da9f82d37a43dd341739df75.o"


def test_a_910b_kernel_as_recorded() -> None:
    program = read_program(DENSE.read_bytes(), A2, side_json=DENSE.with_suffix(".json").read_bytes())
    assert (program.text_offset, program.load_size, program.read_only) == (232, 4104, False)
    assert (program.stack_size, program.default, program.intercore_sync) == (32768, KernelAttribute.VECTOR, False)
    assert program.globals == {"g_opSystemRunCfg": (4096, 256)}
    assert "past the load range" in program.warnings[0]
    (kernel,) = program
    assert (kernel.offset1, kernel.length1, kernel.user_args, kernel.system_args) == (0, 2208, 5, 1)
    assert [argument.kind.name for argument in kernel.described_by.arguments] == [
        *("INPUT", "INPUT", "OUTPUT", "WORKSPACE", "TILING")
    ]


def test_a_950_kernel_as_recorded() -> None:
    program = read_program(INVERT.read_bytes(), DAVID, side_json=INVERT.with_suffix(".json").read_bytes())
    assert (program.text_offset, program.load_size, program.read_only, program.stack_size) == (176, 1544, True, 0)
    assert program.keys == (0, 1)
    for kernel in program:
        assert (kernel.vector_function, kernel.share_memory, kernel.min_stack, kernel.user_args) == (3, 8192, 248, 4)
    assert not program.warnings


@pytest.mark.parametrize("path", [DENSE, INVERT], ids=["910b", "950"])
def test_vendored_kernels_are_the_ones_their_notice_names(path: Path) -> None:
    side = json.loads(path.with_suffix(".json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == side["sha256"]
    assert digest in (KERNELS / "NOTICE").read_text()
    assert {each["kernelName"] for each in side["kernelList"]} == set(read_program(path.read_bytes(), A2).kernels)


def test_the_image_is_a_view_of_the_file() -> None:
    data = bytearray(ElfWriter().kernel("k", size=32).build())
    program = read_program(data, A2)
    data[program.text_offset] = 0x42
    assert program.image[0] == 0x42
    assert program.image.readonly


class TestLoadRange:
    def test_goes_from_the_first_loaded_section_to_the_end_of_the_last(self) -> None:
        writer = ElfWriter(text_flags=0).kernel("k", size=16)
        writer.section(".a", b"a" * 8, flags=2).section(".skip", b"s" * 8).section(".b", b"b" * 4, flags=2)
        program = read_program(writer.build(), A2)
        assert program.image == b"a" * 8 + b"s" * 8 + b"b" * 4

    def test_passes_over_empty_sections(self) -> None:
        program = read_program(ElfWriter().kernel("k", size=16).section(".e", flags=2).build(), A2)
        assert program.load_size == 16

    def test_may_be_nothing(self) -> None:
        program = read_program(ElfWriter(text_flags=0).kernel("k").build(), A2)
        assert program.load_size == 0
        assert "cannot be launched" in program.warnings[0]

    def test_must_not_leave_the_file(self) -> None:
        data = ElfWriter().kernel("k").section(".d", b"x", flags=2, size=1 << 40).build()
        result = register(data, A2)
        assert result.failed is Stage.PARSE
        assert "last loaded section" in str(result.error)

    def test_may_end_in_zeros_that_the_file_does_not_hold(self) -> None:
        program = read_program(ElfWriter().kernel("k").section(".bss", type=NOBITS, flags=2, size=1 << 20).build(), A2)
        assert program.load_size > 1 << 20 > len(program.image)
        assert "zero on the device" in program.warnings[0]

    def test_a_section_in_the_middle_may_claim_too_much(self) -> None:
        program = read_program(
            ElfWriter().kernel("k").section(".x", b"x" * 8, flags=2, size=1 << 31).section(".y", b"y", flags=2).build(),
            A2,
        )
        assert program.image[-1:] == b"y"
        assert any("past the load range" in each for each in program.warnings)

    def test_must_not_run_backwards(self) -> None:
        data = ElfWriter().kernel("k", size=16).section(".d", b"d", flags=2).build()
        table = struct.unpack_from("<Q", data, 40)[0]
        with pytest.raises(BinaryError, match="last loaded section"):
            read_program(patched(data, table + 2 * 64 + 24, "<Q", 8), A2)

    def test_a_section_at_another_distance_than_linked_is_reported(self) -> None:
        writer = ElfWriter().kernel("k", size=16).section(".rodata", b"r" * 8, flags=2, address=0x1010)
        assert any("0x1000 below its address" in each for each in read_program(writer.build(), A2).warnings)

    @pytest.mark.parametrize(
        ("name", "kind", "chip", "read_only"),
        [
            (".data", 1, A2, False),
            (".data", NOTE, A2, False),
            (".data", NOBITS, A2, True),
            (".data.rel", 1, A2, True),
            (".rodata", 1, A2, True),
            (".rodata", 1, MC62, False),
        ],
    )
    def test_writable_data(self, name: str, kind: int, chip: Chip, read_only: bool) -> None:
        assert read_program(ElfWriter().kernel("k").section(name, b"d", kind).build(), chip).read_only is read_only


class TestSymbols:
    @pytest.mark.parametrize(
        ("symbol", "kernels"),
        [
            (Symbol("k"), 1),
            (Symbol("k", size=0), 1),
            (Symbol("k", section=0), 1),
            (Symbol("k", other=1), 1),
            (Symbol("k", other=3), 1),
            (Symbol("k", other=HIDDEN), 0),
            (Symbol("k", binding=LOCAL), 0),
            (Symbol("k", binding=WEAK), 0),
            (Symbol("", binding=1), 0),
            (Symbol("k" * 4095), 1),
            (Symbol("k" * 4096), 0),
        ],
        ids=lambda value: "",
    )
    def test_kernels_are_global_visible_named_functions(self, symbol: Symbol, kernels: int) -> None:
        result = register(ElfWriter(symbols=[symbol], code=16).build(), A2)
        assert result.error is None
        assert (len(result.kernels), result.symbol_count, result.function_count) == (kernels, kernels, 1)

    def test_offsets_are_cut_to_32_bits(self) -> None:
        program = read_program(ElfWriter(code=64).symbol("k", value=0x1_0000_0010).build(), A2)
        assert program.kernel("k").offset1 == 16
        assert any("past the load range" in each for each in program.warnings)

    def test_no_function_at_all_is_refused(self) -> None:
        with pytest.raises(BinaryError, match="number of functions is 0"):
            read_program(ElfWriter().symbol("g", type=OBJECT).build(), A2)

    def test_no_symbol_table_is_refused(self) -> None:
        with pytest.raises(BinaryError, match="symbol table is missing"):
            read_program(ElfWriter(symtab_type=0).kernel("k").build(), A2)

    def test_a_name_outside_its_table_is_refused(self) -> None:
        result = register(ElfWriter().symbol("k", name_offset=0x7FFFFFFF).build(), A2)
        assert "2147483647" in str(result.error)
        assert (result.function_count, result.symbol_count) == (1, 0)

    def test_a_string_table_link_behind_the_last_section_is_refused(self) -> None:
        data = ElfWriter().kernel("k").build()
        table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        result = register(patched(data, table + 2 * 64 + 40, "<I", count), A2)
        assert "string table of the symbol table" in str(result.error)


class TestGlobals:
    def test_offset_counts_from_the_load_image(self) -> None:
        writer = ElfWriter().kernel("k", size=16).section(".data", b"d" * 16, flags=2, address=0x500)
        writer.symbol("g", value=0x508, size=8, type=OBJECT, section=2)
        assert read_program(writer.build(), A2).global_variable("g") == (24, 8)

    @pytest.mark.parametrize(
        ("more", "found"),
        [
            ({"binding": LOCAL}, False),
            ({"binding": WEAK}, False),
            ({"section": 0}, False),
            ({"section": 0xFFF1}, False),
            ({}, True),
        ],
    )
    def test_are_global_objects_in_a_section(self, more: dict, found: bool) -> None:
        writer = ElfWriter().kernel("k").symbol("g", **{"type": OBJECT, "size": 8, **more})
        assert ("g" in read_program(writer.build(), A2).globals) is found

    def test_one_without_a_section_hides_the_rest(self) -> None:
        writer = ElfWriter().kernel("k").symbol("a", type=OBJECT).symbol("b", type=OBJECT, section=0xFFF1)
        program = read_program(writer.symbol("c", type=OBJECT).build(), A2)
        assert list(program.globals) == ["a"]
        assert any("ignores it and the rest" in each for each in program.warnings)

    def test_one_outside_the_image_has_no_address(self) -> None:
        writer = ElfWriter().kernel("k").section(".uninit", b"u" * 8).symbol("g", type=OBJECT, section=2, size=8)
        program = read_program(writer.build(), A2)
        assert program.globals["g"].offset >= program.load_size
        with pytest.raises(UnknownGlobal, match="no part of the load image"):
            program.global_variable("g")


class TestStack:
    @pytest.mark.parametrize(("chip", "stack"), [(A2, 16384), (DAVID, 0), (OLD, 0)])
    def test_only_some_chips_take_it_from_the_record(self, chip: Chip, stack: int) -> None:
        result = register(ElfWriter().kernel("k").stack(16384, 16384).build(), chip)
        assert (result.elf_stack, result.program_stack) == (16384, stack)

    @pytest.mark.parametrize(
        ("version", "chip", "stack"),
        [(0x5A5A0101, A2, 16384), (0x5A5A0201, A2, 32768), (0x5A5A0301, A2, 0), (0x5A5A0101, DAVID, 0), (1, A2, 0)],
    )
    def test_the_mark_in_the_header(self, version: int, chip: Chip, stack: int) -> None:
        assert read_program(ElfWriter(version=version).kernel("k").build(), chip).stack_size == stack

    def test_the_record_wins_over_the_mark(self) -> None:
        data = ElfWriter(version=0x5A5A0101).kernel("k").stack(32768).build()
        assert read_program(data, A2).stack_size == 32768

    @pytest.mark.parametrize(("limit", "fine"), [(999, False), (1000, True)])
    def test_a_kernel_must_fit_the_stack_of_the_process(self, limit: int, fine: bool) -> None:
        result = register(ElfWriter().kernel("k", u32(8, 1000)).build(), A2, stack_limit=limit)
        assert (result.error is None) is fine


class TestMachineAndMagic:
    @pytest.mark.parametrize(
        ("machine", "chip", "attribute"),
        [
            (183, FIRST, KernelAttribute.AICPU),
            (0x1029, FIRST, KernelAttribute.AICORE),
            (183, A2, KernelAttribute.CUBE),
            (0, OLD, KernelAttribute.AICORE),
        ],
    )
    def test_machine(self, machine: int, chip: Chip, attribute: KernelAttribute) -> None:
        program = read_program(ElfWriter(machine=machine).kernel("k").build(), chip)
        assert (program.machine, program.default, program.kernel("k").attribute) == (machine, attribute, attribute)

    def test_the_side_file_has_the_last_word(self) -> None:
        data = ElfWriter().kernel("k").build()
        side = b'{"magic": "RT_DEV_BINARY_MAGIC_ELF_AICUBE"}'
        assert read_program(data, A2, magic=Magic.ELF_AIVEC).default is KernelAttribute.VECTOR
        assert read_program(data, A2, magic=Magic.ELF_AIVEC, side_json=side).default is KernelAttribute.CUBE

    @pytest.mark.parametrize("magic", [0, 0xABCEED50, -1])
    def test_another_magic_is_refused(self, magic: int) -> None:
        with pytest.raises(BadLoadOption, match="ELF_AIVEC 0x41415246"):
            read_program(ElfWriter().kernel("k").build(), A2, magic=magic)


class TestMetaSections:
    def test_each_half_of_a_pair_has_its_own(self) -> None:
        writer = ElfWriter().kernel("k_1_mix_aic", u32(1, 4) + u32(8, 100)).kernel("k_1_mix_aiv", u32(8, 200))
        kernel = read_program(writer.build(), DAVID).kernel("k_1")
        assert (kernel.func_type, kernel.min_stack, kernel.min_stack2) == (4, 200, 200)

    def test_other_section_types_are_not_read(self) -> None:
        writer = ElfWriter().kernel("k").section(".ascend.meta.k", u32(1, 3), NOBITS)
        assert read_program(writer.build(), A2).kernel("k").user_args == 128

    def test_without_section_names_nothing_is_known(self) -> None:
        data = ElfWriter().kernel("k", u32(1, 3)).section(".data", b"d").stack(32768).build()
        program = read_program(patched(data, 62, "<H", 0), A2)
        assert (program.kernel("k").func_type, program.read_only, program.stack_size) == (0, True, 0)

    def test_a_bad_unit_refuses_the_file_after_its_symbols(self) -> None:
        result = register(ElfWriter().kernel("k", u32(18, 9)).build(), A2)
        assert (result.failed, result.symbol_count, result.machine) == (Stage.PARSE, 1, 0)

    def test_queries(self) -> None:
        writer = ElfWriter().kernel("k_1_mix_aic", u32(1, 4)).kernel("k_1_mix_aiv", u32(1, 5))
        writer.section(".ascend.meta", u32(0, 1) + u32(4, 2) + u32(0, 1) + u32(4, 2))
        program = read_program(writer.build(), A2)
        assert program.function_meta("k_1", FunctionTlv.KERNEL_TYPE) == (struct.pack("<I", 5),)
        assert program.function_meta("k_1_mix_aic", FunctionTlv.KERNEL_TYPE) == (struct.pack("<I", 4),)
        assert len(program.binary_meta(BinaryTlv.RUNTIME_IMPLICIT_INFO)) == 2
        assert program.meta_flags == 0b10
        assert not program.kernel("k_1").ffts_arg
        with pytest.raises(UnknownKernel):
            program.function_meta("nope", FunctionTlv.KERNEL_TYPE)


class TestLookUp:
    def program(self):
        names = ("Add_0123_1", "Add_0123_2", "Mul_77_40_mix_aic", "Mul_77_40_mix_aiv")
        writer = ElfWriter()
        for name in names:
            writer.kernel(name)
        return read_program(writer.kernel("Hidden_3", entry(0x80, 0)).build(), A2)

    def test_by_name_and_by_key(self) -> None:
        program = self.program()
        assert len(program) == 4
        assert program.keys == (1, 2, 40)
        for key in program.keys:
            assert program.kernel_by_key(key).key == key
        assert program.kernel("Hidden_3").in_table is False

    @pytest.mark.parametrize(
        ("name", "cure"),
        [
            ("Add_0123_3", "did you mean 'Add_0123_"),
            ("add_0123_1", "Add_0123_1"),
            ("Mul_77_40_mix_aic", "ask for the pair, 'Mul_77_40'"),
            ("zzz", "the program has"),
        ],
    )
    def test_an_unknown_name_gets_near_ones(self, name: str, cure: str) -> None:
        with pytest.raises(UnknownKernel) as caught:
            self.program().kernel(name)
        assert cure in str(caught.value)
        assert caught.value.message_id == "EE1001"

    @pytest.mark.parametrize("key", [0, 3, 41, 2**64])
    def test_an_unknown_key_gets_the_known_ones(self, key: int) -> None:
        with pytest.raises(UnknownEntry, match="use one of 1, 2, 40"):
            self.program().kernel_by_key(key)

    def test_an_unknown_global(self) -> None:
        with pytest.raises(UnknownGlobal) as caught:
            self.program().global_variable("g")
        assert (caught.value.code, "has none" in str(caught.value)) == ("RT_ERROR_SYMBOL_NOT_FOUND", True)


def test_errors_survive_pickling() -> None:
    import pickle

    result = register(b"", A2)
    copy = pickle.loads(pickle.dumps(result.error))
    assert (type(copy), str(copy), copy.hint) == (type(result.error), str(result.error), result.error.hint)


def test_big_endian_files() -> None:
    record = u32(1, 3, order=">") + dfx(dfx_item(0x10002, 8))[:0]
    program = read_program(ElfWriter(order=">").kernel("k_5", record).stack(16384).build(), A2)
    assert (program.kernel_by_key(5).func_type, program.stack_size) == (3, 16384)


@pytest.mark.parametrize(
    ("flags", "chip", "noted"),
    [
        (0x930000, A2, False),
        (0x940000, A2, False),
        (0x930000, DAVID, True),
        (0x9A0000, DAVID, False),
        (0x990000, A2, True),
        (0x8B0000, OLD, False),
        (0x860000, FIRST, False),
        (0x810000, A2, False),
        (0, DAVID, False),
    ],
)
def test_a_file_for_another_core_loads_with_a_warning(flags: int, chip: Chip, noted: bool) -> None:
    program = read_program(ElfWriter(flags=flags).kernel("k").build(), chip)
    assert any("compiled for" in each for each in program.warnings) is noted
