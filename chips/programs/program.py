"""Assembler and disassembler for condition programs.

A program is text, one instruction a line::

            ld.d   r1, [$counter]       ; $name: a value given to assemble()
            li     r2, $limit           ; lhwi + llwi, any 64-bit value
            setpc  r3, done             ; high part of a branch target into JUMP_PC
            bgeu   r1, r2, done         ; the branch itself carries the low four bits
            active r0, $sq
    done:   nop

Branch targets are word numbers from the start of the block.  Pseudo instructions: ``li`` (two instructions: high part,
low part), ``li.low`` (low part first), ``mv``, ``setpc``, ``nop``, ``error`` (the word 0: the SQE ends with an error).
What the disassembler prints, the assembler reads back to the same bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import lru_cache

from chips.programs.isa import CSR_NAMES, JUMP_SHIFT, WORD_BYTES, CondError, Instruction, Isa, format_instruction, isa
from npuhal.tuples import NamedTuple

_LOW_BITS = 49  # llwi holds bits 48..0, lhwi bits 63..49
_LOW_MASK = (1 << _LOW_BITS) - 1
_ALL_BITS = (1 << 64) - 1
_TARGET_MASK = (1 << JUMP_SHIFT) - 1
_REGISTER = re.compile(r"r(\d+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JUMP_PC = CSR_NAMES["jump_pc"]
_LABEL_PARTS = ("page", "target")
_SUPERSET = "v201"  # knows every instruction; formats do not depend on the generation


class Symbol(NamedTuple):
    """An operand that is known only at assembly: a parameter or a label, and which part of it the instruction holds."""

    name: str
    part: str  # value, high, low (parameters); page, target (labels)


class _Hole(NamedTuple):
    """Where a parameter goes: bits ``shift``.. of the value (``mask`` of them) to bit ``position`` of the block."""

    parameter: str
    shift: int
    mask: int
    position: int


class _Image(NamedTuple):
    """A program for one generation with every parameter 0, and what to add for the parameters."""

    constant: int
    holes: tuple[_Hole, ...]
    widths: tuple[tuple[str, str, str, int], ...]  # instruction, operand, parameter, bits


class Program:
    """Parsed program: instructions with open operands, labels as word numbers, names of the parameters."""

    __slots__ = ("_images", "labels", "lines", "parameters", "words")

    def __init__(self, lines: tuple[tuple[str, tuple[int | Symbol, ...]], ...], labels: Mapping[str, int]) -> None:
        formats = isa(_SUPERSET).opcodes
        self.lines = lines
        self.labels = labels
        self.words = sum(formats[name].words for name, _ in lines)
        self.parameters = frozenset(
            operand.name
            for _, operands in lines
            for operand in operands
            if isinstance(operand, Symbol) and operand.part not in _LABEL_PARTS
        )
        self._images: dict[str, _Image] = {}

    def __repr__(self) -> str:
        return f"Program({self.words} words; {', '.join(sorted(self.parameters)) or 'no parameters'})"

    @property
    def size_bytes(self) -> int:
        """Bytes of the assembled block."""
        return self.words * WORD_BYTES

    def assemble(self, generation: str, **values: int) -> bytes:
        """Bytes of the program for a generation (``isa.isa``), with every ``$name`` replaced by its value.

        ``li`` accepts any value of -2**63..2**64-1; other operands must fit their bits.  Missing or unknown names and
        values that do not fit raise ``CondError``.
        """
        image = self._images.get(generation)
        if image is None:
            image = self._images[generation] = self._build(generation)
        if values.keys() != self.parameters:
            missing = sorted(self.parameters - values.keys())
            unknown = sorted(values.keys() - self.parameters)
            raise CondError(f"program parameters: missing {missing or 'none'}, unknown {unknown or 'none'}")
        for name, value in values.items():
            if not -(1 << 63) <= value <= _ALL_BITS:
                raise CondError(f"{name} = {value:#x} is not a 64-bit value")
        for instruction, operand, name, bits in image.widths:
            if values[name] >> bits:
                raise CondError(f"{name} = {values[name]:#x} does not fit {operand} of {instruction} ({bits} bits)")
        code = image.constant
        for name, shift, mask, position in image.holes:
            code |= ((values[name] >> shift) & mask) << position
        return code.to_bytes(self.size_bytes, "little")

    def _build(self, generation: str) -> _Image:
        table = isa(generation)
        constant, position = 0, 0
        holes: list[_Hole] = []
        widths: dict[tuple[str, str], tuple[str, str, str, int]] = {}
        for name, operands in self.lines:
            opcode = table.opcode(name)
            for field, operand in zip(opcode.fields, operands, strict=True):
                if isinstance(operand, Symbol) and operand.part not in _LABEL_PARTS:
                    shift = _LOW_BITS if operand.part == "high" else 0
                    for at, bits in field.pieces:
                        holes.append(_Hole(operand.name, shift, (1 << bits) - 1, position + at))
                        shift += bits
                    if operand.part == "value":
                        widths.setdefault((operand.name, field.name), (name, field.name, operand.name, shift))
            fixed = tuple(self._fixed(operand) for operand in operands)
            constant |= opcode.encode(fixed) << position
            position += 8 * WORD_BYTES * opcode.words
        return _Image(constant, tuple(holes), tuple(widths.values()))

    def _fixed(self, operand: int | Symbol) -> int:
        """Value of an operand without the parameters: labels are known, parameters count as 0."""
        if not isinstance(operand, Symbol):
            return operand
        if operand.part == "page":
            return self.labels[operand.name] >> JUMP_SHIFT
        return self.labels[operand.name] & _TARGET_MASK if operand.part == "target" else 0


class _Parser:
    """One pass over the text; labels may be used before they are set."""

    def __init__(self) -> None:
        self.table: Isa = isa(_SUPERSET)
        self.lines: list[tuple[str, tuple[int | Symbol, ...]]] = []
        self.labels: dict[str, int] = {}
        self.words = 0

    def parse(self, text: str) -> Program:
        for number, source in enumerate(text.splitlines(), 1):
            line = source.partition(";")[0].strip()
            try:
                while ":" in line:
                    label, _, line = line.partition(":")
                    self._label(label.strip())
                    line = line.strip()
                if line:
                    self._instruction(line)
            except CondError as error:
                raise CondError(f"line {number}: {source.strip()!r}: {error}") from None
        symbols = {operand for _, operands in self.lines for operand in operands if isinstance(operand, Symbol)}
        unset = {symbol.name for symbol in symbols if symbol.part in _LABEL_PARTS} - self.labels.keys()
        if unset:
            raise CondError(f"labels never set: {', '.join(sorted(unset))}")
        return Program(tuple(self.lines), self.labels)

    def _label(self, label: str) -> None:
        if not _NAME.fullmatch(label):
            raise CondError(f"{label!r} is not a label name")
        if label in self.labels:
            raise CondError(f"label {label!r} is set twice")
        self.labels[label] = self.words

    def _instruction(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        tokens = re.sub(r"[\[\],+]", " ", rest).split()
        if name in ("li", "li.low"):
            register, value = self._take(name, tokens, 2)
            rd, parts = self._register(register), self._halves(value)
            order = ("lhwi", "llwi") if name == "li" else ("llwi", "lhwi")
            for half in order:
                self._emit(half, rd, parts[half])
        elif name == "setpc":
            register, label = self._take(name, tokens, 2)
            rd = self._register(register)
            self._emit("lhwi", rd, 0)
            self._emit("llwi", rd, Symbol(label, "page"))
            self._emit("csrrw", 0, _JUMP_PC, rd)
        elif name == "mv":
            rd_name, rs_name = self._take(name, tokens, 2)
            self._emit("addi", self._register(rd_name), self._register(rs_name), 0)
        elif name == "nop":
            self._take(name, tokens, 0)
            self._emit("addi", 0, 0, 0)
        elif name == "error":
            self._take(name, tokens, 0)
            self._emit(".word", 0)
        elif name == ".word":
            for token in tokens:
                self._emit(name, self._operand("int", token))
        else:
            opcode = self.table.opcodes.get(name)
            if opcode is None:
                raise CondError(f"unknown instruction {name!r}")
            if opcode.format in ("load", "store") and len(tokens) == 2:
                tokens.append("0")
            self._take(name, tokens, len(opcode.fields))
            self._emit(name, *(self._operand(f.kind, t) for f, t in zip(opcode.fields, tokens, strict=True)))

    def _emit(self, name: str, *operands: int | Symbol) -> None:
        self.lines.append((name, operands))
        self.words += self.table.opcodes[name].words

    @staticmethod
    def _take(name: str, tokens: list[str], count: int) -> list[str]:
        if len(tokens) != count:
            raise CondError(f"{name} takes {count} operands, got {len(tokens)}")
        return tokens

    @staticmethod
    def _register(token: str) -> int:
        match = _REGISTER.fullmatch(token)
        if match is None:
            raise CondError(f"{token!r} is not a register (r0, r1, ...)")
        return int(match[1])

    @staticmethod
    def _number(token: str) -> int:
        try:
            return int(token, 0)
        except ValueError:
            raise CondError(f"{token!r} is neither a number nor a $parameter") from None

    def _halves(self, token: str) -> dict[str, int | Symbol]:
        if token.startswith("$"):
            return {"lhwi": Symbol(token[1:], "high"), "llwi": Symbol(token[1:], "low")}
        value = self._number(token) & _ALL_BITS
        return {"lhwi": value >> _LOW_BITS, "llwi": value & _LOW_MASK}

    def _operand(self, kind: str, token: str) -> int | Symbol:
        if kind == "reg":
            return self._register(token)
        if kind == "csr" and token in CSR_NAMES:
            return CSR_NAMES[token]
        if kind == "target" and _NAME.fullmatch(token):
            return Symbol(token, "target")
        if token.startswith("$"):
            return Symbol(token[1:], "value")
        return self._number(token)


@lru_cache(maxsize=128)
def parse(text: str) -> Program:
    """Parse a program; errors (``CondError``) name the line.  Results are cached by the text."""
    return _Parser().parse(text)


def assemble(text: str, generation: str = "v100", **values: int) -> bytes:
    """Bytes of a program text: ``parse(text).assemble(generation, **values)``."""
    return parse(text).assemble(generation, **values)


class Line(NamedTuple):
    """One line of a listing: first word, the instructions it stands for (pseudo instructions: several) and its text."""

    word: int
    instructions: tuple[Instruction, ...]
    text: str


def decode(code: bytes, generation: str = "v100") -> list[tuple[int, Instruction]]:
    """Instructions of a block with their word numbers; a length that is no multiple of 4 raises ``CondError``.

    Reserved bits are ignored as the device ignores them: blocks of the vendor's runtime carry noise there.
    """
    if len(code) % WORD_BYTES:
        raise CondError(f"code has {len(code)} bytes; a condition program is made of 4-byte words")
    table = isa(generation)
    result, offset = [], 0
    while offset < len(code):
        instruction = table.decode(code, offset)
        result.append((offset // WORD_BYTES, instruction))
        offset += WORD_BYTES * table.length(instruction)
    return result


def branch_targets(instructions: list[tuple[int, Instruction]]) -> dict[int, int]:
    """Target word of each branch and loop (by its own word number), as far as reading from top to bottom tells.

    The high part comes from the last value written to JUMP_PC above the branch, which starts at 0.
    """
    registers: dict[int, int] = {}
    page: int | None = 0
    targets = {}
    for word, (name, operands) in instructions:
        if name == "lhwi":
            registers[operands[0]] = operands[1] << _LOW_BITS | registers.get(operands[0], 0) & _LOW_MASK
        elif name == "llwi":
            registers[operands[0]] = registers.get(operands[0], 0) & ~_LOW_MASK | operands[1]
        elif name == "csrrw" and operands[1] == _JUMP_PC:
            page = registers.get(operands[2])
        elif name in ("beq", "bne", "blt", "bge", "bltu", "bgeu", "loop") and page is not None:
            targets[word] = page << JUMP_SHIFT | operands[1 if name == "loop" else 2]
    return targets


def disassemble(code: bytes, generation: str = "v100") -> list[Line]:
    """Listing of a block with labels (``L12`` = word 12) and pseudo instructions; ``assemble`` reads its texts back.

    An instruction with reserved bits set is printed as its words, with the meaning as a comment.
    """
    table = isa(generation)
    instructions = decode(code, generation)
    starts = {word for word, _ in instructions}
    targets = {word: target for word, target in branch_targets(instructions).items() if target in starts}
    named = set(targets.values())
    lines: list[Line] = []
    index = 0
    while index < len(instructions):
        word, instruction = instructions[index]
        text, count = _pseudo(instructions, index, targets)
        group = [each for _, each in instructions[index : index + count]]
        if any(at in named for at, _ in instructions[index + 1 : index + count]):
            text, count = None, 1  # a branch enters in the middle: print the parts
        offset = word * WORD_BYTES
        if text is None or not code.startswith(b"".join(map(table.encode, group)), offset):
            target = f"L{targets[word]}" if word in targets else None
            text, count = format_instruction(instruction, table.opcodes[instruction.name], target), 1
            if not code.startswith(table.encode(instruction), offset):
                words = struct.unpack_from(f"<{table.length(instruction)}I", code, offset)
                text = f"{'.word':<10} {', '.join(f'{each:#010x}' for each in words)} ; {text}"
        prefix = f"L{word}:" if word in named else ""
        lines.append(Line(word, tuple(group[:count]), f"{prefix:<6}{text}"))
        index += count
    return lines


def _pseudo(
    instructions: list[tuple[int, Instruction]], index: int, targets: Mapping[int, int]
) -> tuple[str | None, int]:
    """Text and length of the pseudo instruction that starts here, or (None, 1)."""
    name, operands = instructions[index][1]
    if name == ".word" and operands == (0,):
        return "error", 1
    if name == "addi" and operands == (0, 0, 0):
        return "nop", 1
    following = [each for _, each in instructions[index + 1 : index + 3]]
    pair = (name, following[0].name) if following else ()
    if pair not in (("lhwi", "llwi"), ("llwi", "lhwi")) or following[0].operands[0] != operands[0]:
        return None, 1
    high, low = (operands[1], following[0].operands[1]) if name == "lhwi" else (following[0].operands[1], operands[1])
    register, value = operands[0], high << _LOW_BITS | low
    if name == "lhwi" and following[1:] == [Instruction("csrrw", (0, _JUMP_PC, register))]:
        after = instructions[index + 2][0]
        label = next((targets[at] for at, _ in instructions[index + 3 :] if at > after and at in targets), None)
        if label is not None and label >> JUMP_SHIFT == value:
            return f"{'setpc':<10} r{register}, L{label}", 3
    return f"{'li' if name == 'lhwi' else 'li.low':<10} r{register}, {value:#x}", 2
