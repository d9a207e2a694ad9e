"""The condition instruction set: what each 32- or 64-bit instruction of a function call looks like.

A STARS condition SQE does not compute: it calls a block of instructions in device memory.  The instructions look like
a small RISC set (loads, stores, integer operations, branches) with four additions: start, stop and re-position a
submission queue, a loop with a delay, a jump register that holds the high part of every branch target, and access to
the user bits of the bus.

Everything here is a table; ``Isa`` turns it into encoders and decoders.  Two register widths exist: eight registers on
v100 and v200, sixteen on v201 and on the arch9201 overlay.  Register numbers below eight encode alike in both.

Sources: ``enum RtStarsCondIsaOpCode`` and the ``RtStarsCondOp*`` structs (stars_base_cond_isa_define.hpp,
cond_isa/v100 and cond_isa/v201 stars_cond_isa_*struct.hpp).
"""

from __future__ import annotations

from functools import cache

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

WORD_BYTES = 4
"""Bytes of an instruction word; long instructions take two."""

JUMP_SHIFT = 4
"""A branch carries the low four bits of its target word; the JUMP_PC register holds the rest."""

CSR_NAMES = {"axi_user": 0, "csq_status": 1, "exe_info": 2, "jump_pc": 3}
"""Control registers (``rtStarsCondCsrRegister_t``)."""

_REGISTER = 0  # stands for the register width of the generation in the field table


class CondError(ValueError):
    """A condition program or an operand of it is not valid; the message names the operand, its value and the rule."""


class Field(NamedTuple):
    """One operand: pieces of (bit position, bits), lowest value bits first; ``kind`` tells how to print it."""

    name: str
    pieces: tuple[tuple[int, int], ...]
    kind: str = "int"  # int, reg, csr, target


_FIELDS = {
    field.name: field
    for field in (
        Field("rd", ((7, _REGISTER),), "reg"),
        Field("rs1", ((15, _REGISTER),), "reg"),
        Field("rs2", ((20, _REGISTER),), "reg"),
        Field("imm12", ((20, 12),)),
        Field("offset", ((7, 5), (25, 7))),
        Field("shift", ((20, 6),)),
        Field("imm15", ((17, 15),)),
        Field("imm49", ((32, 32), (15, 17))),
        Field("target", ((7, 4),), "target"),
        Field("delay", ((19, 13),)),
        Field("sq12", ((20, 12),)),
        Field("sq11", ((32, 11),)),
        Field("head", ((48, 16),)),
        Field("csr", ((20, 12),), "csr"),
        Field("word", ((0, 32),)),
    )
}


class Format(NamedTuple):
    """Shape of a group of instructions: words, operands in text order, position and bits of the extra function code."""

    words: int
    operands: tuple[str, ...]
    function: tuple[int, int] = (0, 0)


_FORMATS = {
    "register": Format(1, ("rd", "rs1", "rs2"), (25, 7)),
    "immediate": Format(1, ("rd", "rs1", "imm12")),
    "shift": Format(1, ("rd", "rs1", "shift"), (26, 6)),
    "load": Format(1, ("rd", "rs1", "imm12")),
    "load_direct": Format(2, ("rd", "imm49")),
    "store": Format(1, ("rs2", "rs1", "offset")),
    "high": Format(1, ("rd", "imm15")),
    "low": Format(2, ("rd", "imm49")),
    "branch": Format(1, ("rs1", "rs2", "target")),
    "loop": Format(1, ("rs1", "target", "delay")),
    "stream": Format(1, ("rd", "sq12")),
    "stream_register": Format(1, ("rd", "rs1")),
    "goto": Format(2, ("rd", "sq11", "head")),
    "csr": Format(1, ("rd", "csr", "rs1")),
    "call": Format(1, ("rs1", "rs2")),
    "queue": Format(1, ("rd", "rs1", "rs2")),
    "raw": Format(1, ("word",)),
}

_ADDRESSED = frozenset({"load", "store", "load_direct"})  # printed with the address in square brackets

# mnemonic, format, opcode (7 bits), func3, extra function code.  ".d" = the address is part of the instruction.
_MNEMONICS: tuple[tuple[str, str, int, int, int], ...] = (
    *(
        (name, "immediate", 0x13, func3, 0)
        for name, func3 in (("addi", 0), ("slti", 2), ("sltiu", 3), ("xori", 4), ("ori", 6), ("andi", 7))
    ),
    ("slli", "shift", 0x13, 1, 0),
    ("srli", "shift", 0x13, 5, 0),
    ("srai", "shift", 0x13, 5, 0x10),
    *(
        (name, "register", 0x33, func3, 0)
        for func3, name in enumerate(("add", "sll", "slt", "sltu", "xor", "srl", "or", "and"))
    ),
    ("sub", "register", 0x33, 0, 0x20),
    ("sra", "register", 0x33, 5, 0x20),
    ("mul", "register", 0x33, 0, 1),
    *(
        (name, "load_direct", 0x07, func3, 0)
        for func3, name in enumerate(("lb.d", "lh.d", "lw.d", "ld.d", "lbu.d", "lhu.d", "lwu.d"))
    ),
    ("ld", "load", 0x03, 3, 0),
    *((name, "store", 0x27, func3, 0) for func3, name in enumerate(("sb", "sh", "sw", "sd"))),
    ("lhwi", "high", 0x5B, 0, 0),
    ("llwi", "low", 0x5B, 1, 0),
    *(
        (name, "branch", 0x63, func3, 0)
        for name, func3 in (("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7))
    ),
    ("loop", "loop", 0x7B, 0, 0),
    ("goto", "goto", 0x2B, 0, 0),
    ("active", "stream", 0x2B, 1, 0),
    ("deactive", "stream", 0x2B, 2, 0),
    ("goto.r", "stream_register", 0x2B, 4, 0),
    ("active.r", "stream_register", 0x2B, 5, 0),
    ("deactive.r", "stream_register", 0x2B, 6, 0),
    ("call", "call", 0x6B, 0, 0),
    ("csrrw", "csr", 0x73, 1, 0),
    ("csrrs", "csr", 0x73, 2, 0),
    ("csrrc", "csr", 0x73, 3, 0),
    ("bia", "csr", 0x73, 7, 0),
    ("gqm", "queue", 0x05, 0, 0),
    (".word", "raw", 0, 0, 0),
)


class Instruction(NamedTuple):
    """One machine instruction: mnemonic and operand values in the order of its format."""

    name: str
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opcode:
    """An instruction of one register width, ready to encode.

    ``code`` holds its function codes at the bits of ``mask``, ``operand_bits`` the bits of the operands.  All others
    are reserved: we leave them zero, the device does not look at them.
    """

    name: str
    format: str
    words: int
    code: int
    mask: int
    operand_bits: int
    fields: tuple[Field, ...]

    def encode(self, operands: tuple[int, ...]) -> int:
        """Put the operand values into the instruction; a value that does not fit raises ``CondError``."""
        if len(operands) != len(self.fields):
            names = ", ".join(field.name for field in self.fields) or "none"
            raise CondError(f"{self.name} takes {len(self.fields)} operands ({names}), got {len(operands)}")
        value = self.code
        for field, operand in zip(self.fields, operands, strict=True):
            rest = operand
            for position, bits in field.pieces:
                value |= (rest & ((1 << bits) - 1)) << position
                rest >>= bits
            if rest:  # also true for negative values: their shifted rest is -1
                width = sum(bits for _, bits in field.pieces)
                raise CondError(f"{self.name}: {field.name} = {operand:#x} does not fit its {width} bits")
        return value

    def decode(self, value: int) -> tuple[int, ...]:
        """Read the operand values back out of an instruction."""
        operands = []
        for field in self.fields:
            operand = shift = 0
            for position, bits in field.pieces:
                operand |= ((value >> position) & ((1 << bits) - 1)) << shift
                shift += bits
            operands.append(operand)
        return tuple(operands)


class Isa:
    """Encoder and decoder tables of one register width."""

    __slots__ = ("_by_code", "opcodes", "register_bits")

    def __init__(self, register_bits: int, *, queue_instruction: bool) -> None:
        self.register_bits = register_bits
        self.opcodes = {row[0]: self._build(*row) for row in _MNEMONICS if row[0] != "gqm" or queue_instruction}
        self._by_code: dict[int, list[Opcode]] = {}
        for opcode in self.opcodes.values():
            if opcode.format != "raw":
                self._by_code.setdefault(opcode.code & 0x7F, []).append(opcode)

    def _build(self, name: str, form: str, code: int, func3: int, extra: int) -> Opcode:
        words, operands, (position, bits) = _FORMATS[form]
        if form == "raw":
            return Opcode(name, form, words, 0, 0, 0xFFFF_FFFF, (_FIELDS["word"],))
        fields = tuple(
            field._replace(pieces=tuple((at, width or self.register_bits) for at, width in field.pieces))
            for field in (_FIELDS[operand] for operand in operands)
        )
        operand_bits = sum(((1 << width) - 1) << at for field in fields for at, width in field.pieces)
        mask = 0x7F | 7 << 12 | ((1 << bits) - 1) << position
        return Opcode(name, form, words, code | func3 << 12 | extra << position, mask, operand_bits, fields)

    def opcode(self, name: str) -> Opcode:
        """Encoder of a mnemonic; one this generation does not have raises ``CondError``."""
        try:
            return self.opcodes[name]
        except KeyError:
            raise CondError(f"no instruction {name!r} on chips with {1 << self.register_bits} registers") from None

    def encode(self, instruction: Instruction) -> bytes:
        """Bytes of an instruction (4 or 8, little endian); unknown names and values too wide raise ``CondError``."""
        opcode = self.opcode(instruction.name)
        return opcode.encode(instruction.operands).to_bytes(WORD_BYTES * opcode.words, "little")

    def decode(self, code: bytes, offset: int = 0) -> Instruction:
        """Instruction at a byte offset, whatever its reserved bits; a word that is none becomes ``.word``."""
        word = int.from_bytes(code[offset : offset + WORD_BYTES], "little")
        for opcode in self._by_code.get(word & 0x7F, ()):
            if word & opcode.mask == opcode.code:
                end = offset + WORD_BYTES * opcode.words
                if end <= len(code):
                    return Instruction(opcode.name, opcode.decode(int.from_bytes(code[offset:end], "little")))
        return Instruction(".word", (word,))

    def length(self, instruction: Instruction) -> int:
        """Words of the instruction: 1 or 2."""
        return self.opcodes[instruction.name].words


@cache
def isa(generation: str) -> Isa:
    """Instruction set of ``"v100"``, ``"v200"``, ``"v201"`` or ``"arch9201"`` (an overlay of v200)."""
    try:
        register_bits, queue_instruction = {
            "v100": (3, False),
            "v200": (3, False),
            "v201": (4, True),
            "arch9201": (4, False),
        }[generation]
    except KeyError:
        raise CondError(
            f"generation = {generation!r} has no condition instructions; known: v100, v200, v201, arch9201"
        ) from None
    return Isa(register_bits, queue_instruction=queue_instruction)


def format_instruction(instruction: Instruction, opcode: Opcode, target: str | None = None) -> str:
    """One line of assembler text; ``target`` replaces the four target bits of a branch by a label."""
    parts = []
    for field, value in zip(opcode.fields, instruction.operands, strict=True):
        if field.kind == "reg":
            parts.append(f"r{value}")
        elif field.kind == "target":
            parts.append(target if target is not None else str(value))
        elif field.kind == "csr":
            parts.append(next((name for name, number in CSR_NAMES.items() if number == value), str(value)))
        elif opcode.format == "raw":
            parts.append(f"{value:#010x}")
        else:
            parts.append(str(value) if value < 10 else f"{value:#x}")
    if opcode.format == "load_direct":
        parts[1:] = [f"[{parts[1]}]"]
    elif opcode.format in _ADDRESSED:
        parts[1:] = [f"[{parts[1]} + {parts[2]}]"]
    return f"{instruction.name:<10} {', '.join(parts)}".rstrip()
