"""Assembler and disassembler of condition programs: encodings, errors, round trips."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.programs import CondError, Instruction, assemble, disassemble, parse
from chips.programs.isa import isa
from chips.programs.program import branch_targets, decode

GENERATIONS = ("v100", "v200", "v201", "arch9201")


@st.composite
def instructions(draw: st.DrawFn, generation: str) -> Instruction:
    opcode = draw(st.sampled_from(sorted(isa(generation).opcodes.values(), key=lambda each: each.name)))
    if opcode.format == "raw":
        return Instruction(".word", (draw(st.sampled_from([0, 0x7F, 0xFFFF_FFFF])),))
    widths = [sum(bits for _, bits in field.pieces) for field in opcode.fields]
    return Instruction(opcode.name, tuple(draw(st.integers(0, (1 << bits) - 1)) for bits in widths))


@pytest.mark.parametrize("generation", GENERATIONS)
@given(data=st.data())
def test_encode_then_decode_gives_the_same_instructions(generation: str, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(instructions(generation), min_size=1, max_size=30))
    table = isa(generation)
    code = b"".join(table.encode(each) for each in wanted)
    assert [each for _, each in decode(code, generation)] == wanted


@pytest.mark.parametrize("generation", GENERATIONS)
@given(data=st.data())
def test_a_listing_assembles_to_the_same_bytes(generation: str, data: st.DataObject) -> None:
    table = isa(generation)
    code = b"".join(table.encode(each) for each in data.draw(st.lists(instructions(generation), max_size=30)))
    noise = data.draw(st.binary(min_size=0, max_size=64))
    code += noise[: len(noise) // 4 * 4]
    text = "\n".join(line.text for line in disassemble(code, generation))
    assert assemble(text, generation) == code


@given(number=st.integers(0, 7), other=st.integers(0, 7), value=st.integers(0, (1 << 64) - 1))
def test_registers_below_eight_encode_alike_everywhere(number: int, other: int, value: int) -> None:
    text = f"li r{number}, $value\nadd r{other}, r{number}, r{other}\nsd r{number}, [r{other} + 8]\ngoto.r r1, r{other}"
    assert len({assemble(text, generation, value=value) for generation in GENERATIONS}) == 1


@given(value=st.integers(-(1 << 63), (1 << 64) - 1))
def test_li_splits_any_64_bit_value(value: int) -> None:
    (_, high), (_, low) = decode(assemble("li r3, $value", value=value))
    assert (high.operands[1] << 49 | low.operands[1]) == value & (1 << 64) - 1
    swapped = decode(assemble("li.low r3, $value", value=value))
    assert [each for _, each in swapped] == [low, high]


def test_known_words() -> None:
    # words of real blocks: lhwi r1, 0 / nop / beq r1, r0, 12 / csrrw r0, jump_pc, r4
    assert struct.unpack("<4I", assemble("lhwi r1, 0\nnop\nbeq r1, r0, 12\ncsrrw r0, jump_pc, r4")) == (
        0x000000DB,
        0x00000013,
        0x00008663,
        0x00321073,
    )


def test_branches_carry_low_bits_and_setpc_the_rest() -> None:
    code = assemble("setpc r2, far\nbeq r0, r0, far\n" + "nop\n" * 30 + "far: nop")
    decoded = decode(code)
    assert branch_targets(decoded) == {4: 35}
    names = dict(decoded)
    assert names[4].operands == (0, 0, 35 & 15)
    assert names[1].operands == (2, 35 >> 4)
    assert [line.text.split()[0] for line in disassemble(code)][:2] == ["setpc", "beq"]


def test_reserved_bits_are_ignored_and_kept() -> None:
    noisy = struct.pack("<I", struct.unpack("<I", assemble("goto.r r4, r1"))[0] | 0xB85 << 20 | 3 << 18)
    assert decode(noisy) == [(0, Instruction("goto.r", (4, 1)))]
    (line,) = disassemble(noisy)
    assert "goto.r" in line.text
    assert assemble(line.text) == noisy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add r1, r2", "takes 3 operands"),
        ("frob r1", "unknown instruction 'frob'"),
        ("addi r1, r0, 0x1000", "imm12 = 0x1000 does not fit"),
        ("addi x1, r0, 1", "'x1' is not a register"),
        ("addi r1, r0, one", "'one' is neither a number"),
        ("beq r0, r0, nowhere", "labels never set: nowhere"),
        ("a: nop\na: nop", "line 2.*set twice"),
        ("add r9, r0, r0", "rd = 0x9 does not fit its 3 bits"),
        ("gqm r1, r2, r3", "no instruction 'gqm' on chips with 8 registers"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(CondError, match=message):
        assemble(text)


def test_parameters_are_checked() -> None:
    program = parse("goto r0, $sq, $head\nli r1, $address")
    with pytest.raises(CondError, match=r"missing \['address'\], unknown \['adress'\]"):
        program.assemble("v100", sq=1, head=0, adress=2)
    with pytest.raises(CondError, match="sq = 0x800 does not fit sq11 of goto"):
        program.assemble("v100", sq=2048, head=0, address=0)
    with pytest.raises(CondError, match="sq = -0x1 does not fit"):
        program.assemble("v100", sq=-1, head=0, address=0)
    with pytest.raises(CondError, match="not a 64-bit value"):
        program.assemble("v100", sq=1, head=0, address=1 << 64)
    with pytest.raises(CondError, match="generation = 'hwts'"):
        program.assemble("hwts", sq=1, head=0, address=0)


def test_code_is_made_of_words() -> None:
    with pytest.raises(CondError, match="6 bytes"):
        disassemble(b"\x13\0\0\0\0\0")
