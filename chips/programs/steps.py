"""What each instruction of a condition program does: it is made of operands and word, to be done many times.

The vendor documents encodings, not semantics; these follow from how the programs use the instructions: 64-bit
registers, R0 reads as zero, branches compare signed except ``bltu`` and ``bgeu``, 12-bit immediates are unsigned,
``loop`` branches while its register is not zero, a stream instruction leaves 0 in its destination when it succeeded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from chips.programs.isa import CSR_NAMES, WORD_BYTES, Instruction

if TYPE_CHECKING:
    from chips.programs.execute import Interpreter

_ALL = (1 << 64) - 1
_SIGN = 1 << 63
_SQ_MASK = 0x7FF  # a queue position: number in bits 10..0, head in bits 31..16
JUMP_PC = CSR_NAMES["jump_pc"]


class Machine(Protocol):
    """What a condition program reaches outside itself.  Stream operations return 0 when they succeeded."""

    def load(self, address: int, size: int, physical: bool) -> bytes:
        """Return ``size`` bytes at a virtual (or physical) device address."""

    def store(self, address: int, data: bytes, physical: bool) -> None:
        """Write ``data`` there."""

    def goto(self, sq_id: int, head: int) -> int:
        """Move the head of a queue."""

    def activate(self, sq_id: int) -> int:
        """Let a queue run."""

    def deactivate(self, sq_id: int) -> int:
        """Stop a queue."""


@runtime_checkable
class DataQueues(Protocol):
    """A machine with a hardware queue manager (v201)."""

    def queue(self, command: int, address: int) -> tuple[int, int]:
        """Do a queue command on the queue at ``address``; return its status (0: success) and the word it gave."""


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "sll": lambda a, b: a << (b & 63),
    "srl": lambda a, b: a >> (b & 63),
    "sra": lambda a, b: _signed(a) >> (b & 63),
    "slt": lambda a, b: int(_signed(a) < _signed(b)),
    "sltu": operator.lt,
    "xor": operator.xor,
    "or": operator.or_,
    "and": operator.and_,
}
_IMMEDIATE = {
    "addi": "add",
    "slti": "slt",
    "sltiu": "sltu",
    "xori": "xor",
    "ori": "or",
    "andi": "and",
    "slli": "sll",
    "srli": "srl",
    "srai": "sra",
}
_BRANCHES: dict[str, Callable[[int, int], bool]] = {
    "beq": operator.eq,
    "bne": operator.ne,
    "blt": lambda a, b: _signed(a) < _signed(b),
    "bge": lambda a, b: _signed(a) >= _signed(b),
    "bltu": operator.lt,
    "bgeu": operator.ge,
}
_LOADS = {"lb.d": 1, "lh.d": 2, "lw.d": 4, "ld.d": 8, "lbu.d": 1, "lhu.d": 2, "lwu.d": 4}  # "u": zero extended
_STORES = {"sb": 1, "sh": 2, "sw": 4, "sd": 8}
_LOW = (1 << 49) - 1


_FAULT = -1
"""Where a program goes on after a fault: no instruction starts there."""
SINK = 16
"""What is written to R0, which reads as zero, goes to a register behind the others."""

Step = Callable[["Interpreter", list[int]], "int | None"]
"""Does one instruction with the registers. Returns the word to go on at, None for the next one."""


_Maker = Callable[[tuple[int, ...], int], Step]


def _nothing(it: Interpreter, registers: list[int]) -> None:
    """Do nothing: set R0, or wait for accesses, of which this machine does one at a time anyway."""


def _operation(compute: Callable[[int, int], int], *, immediate: bool) -> _Maker:
    def make(operands: tuple[int, ...], word: int) -> Step:
        rd, first, second = operands

        def from_registers(it: Interpreter, registers: list[int]) -> None:
            registers[rd] = compute(registers[first], registers[second]) & _ALL

        def with_number(it: Interpreter, registers: list[int]) -> None:
            registers[rd] = compute(registers[first], second) & _ALL

        return _nothing if not rd else with_number if immediate else from_registers

    return make


def _branch(taken: Callable[[int, int], bool]) -> _Maker:
    def make(operands: tuple[int, ...], word: int) -> Step:
        first, second, target = operands

        def step(it: Interpreter, registers: list[int]) -> int | None:
            return it.target(target) if taken(registers[first], registers[second]) else None

        return step

    return make


def _load(size: int, *, signed: bool) -> _Maker:
    def make(operands: tuple[int, ...], word: int) -> Step:
        rd, address = operands[0] or SINK, operands[1]

        def step(it: Interpreter, registers: list[int]) -> None:
            data = it.machine.load(address, size, it.physical())
            registers[rd] = int.from_bytes(data, "little", signed=signed) & _ALL

        return step

    return make


def _store(size: int) -> _Maker:
    mask = (1 << 8 * size) - 1

    def make(operands: tuple[int, ...], word: int) -> Step:
        value, address, offset = operands

        def step(it: Interpreter, registers: list[int]) -> None:
            data = (registers[value] & mask).to_bytes(size, "little")
            it.machine.store(registers[address] + offset & _ALL, data, it.physical())

        return step

    return make


def _control(changed: Callable[[int, int], int]) -> _Maker:
    """Return what reads a control register, and changes it by the old value and that of another register."""

    def make(operands: tuple[int, ...], word: int) -> Step:
        rd, number, source = operands[0] or SINK, operands[1], operands[2]

        def step(it: Interpreter, registers: list[int]) -> None:
            old = it.csr.get(number, 0)
            it.csr[number] = changed(old, registers[source])
            registers[rd] = old

        return step

    return make


def _enable(*, on: bool, by_register: bool) -> _Maker:
    def make(operands: tuple[int, ...], word: int) -> Step:
        rd, queue = operands[0] or SINK, operands[1]

        def step(it: Interpreter, registers: list[int]) -> None:
            sq_id = registers[queue] & _SQ_MASK if by_register else queue
            registers[rd] = (it.machine.activate(sq_id) if on else it.machine.deactivate(sq_id)) & _ALL

        return step

    return make


def _ld(operands: tuple[int, ...], word: int) -> Step:
    rd, address, offset = operands[0] or SINK, operands[1], operands[2]

    def step(it: Interpreter, registers: list[int]) -> None:
        data = it.machine.load(registers[address] + offset & _ALL, 8, it.physical())
        registers[rd] = int.from_bytes(data, "little")

    return step


def _half(*, high: bool) -> _Maker:
    """Return what sets the upper 15 bits of a register, or the lower 49."""
    kept = _LOW if high else _ALL & ~_LOW

    def make(operands: tuple[int, ...], word: int) -> Step:
        rd, value = operands[0], operands[1] << 49 & _ALL if high else operands[1]

        def step(it: Interpreter, registers: list[int]) -> None:
            registers[rd] = registers[rd] & kept | value

        return step if rd else _nothing

    return make


def _goto(operands: tuple[int, ...], word: int) -> Step:
    rd, sq_id, head = operands[0] or SINK, operands[1], operands[2]

    def step(it: Interpreter, registers: list[int]) -> None:
        registers[rd] = it.machine.goto(sq_id, head) & _ALL

    return step


def _goto_register(operands: tuple[int, ...], word: int) -> Step:
    rd, queue = operands[0] or SINK, operands[1]

    def step(it: Interpreter, registers: list[int]) -> None:
        position = registers[queue]
        registers[rd] = it.machine.goto(position & _SQ_MASK, position >> 16 & 0xFFFF) & _ALL

    return step


def _loop(operands: tuple[int, ...], word: int) -> Step:
    first, target, _ = operands

    def step(it: Interpreter, registers: list[int]) -> int | None:
        it.loops[word] = gone = it.loops.get(word, 0) + 1
        return it.target(target) if registers[first] and gone <= it.max_loops else None

    return step


def _call(operands: tuple[int, ...], word: int) -> Step:
    address, length = operands

    def step(it: Interpreter, registers: list[int]) -> int | None:
        it.block(it.machine.load(registers[address], WORD_BYTES * registers[length], it.physical()))
        return None if it.run.fault is None else _FAULT

    return step


def _queue(operands: tuple[int, ...], word: int) -> Step:
    """Leave the status of a queue command in its register and the word in the next one."""
    rd, command, address = operands

    def step(it: Interpreter, registers: list[int]) -> int | None:
        if not isinstance(it.machine, DataQueues):
            it.run.fault = f"gqm at word {word}: this machine has no queue manager"
            return _FAULT
        status, value = it.machine.queue(registers[command], registers[address])
        registers[rd or SINK] = status & _ALL
        registers[rd + 1] = value & _ALL
        return None

    return step


def _barrier(operands: tuple[int, ...], word: int) -> Step:
    return _nothing


def _no_instruction(operands: tuple[int, ...], word: int) -> Step:
    def step(it: Interpreter, registers: list[int]) -> int:
        kind = "error word" if operands == (0,) else f"{operands[0]:#010x} is no instruction"
        it.run.fault = f"{kind} at word {word}"
        return _FAULT

    return step


MAKERS: dict[str, _Maker] = {
    **{name: _operation(compute, immediate=False) for name, compute in _OPERATIONS.items()},
    **{name: _operation(_OPERATIONS[of], immediate=True) for name, of in _IMMEDIATE.items()},
    **{name: _branch(taken) for name, taken in _BRANCHES.items()},
    **{name: _load(size, signed="u" not in name) for name, size in _LOADS.items()},
    **{name: _store(size) for name, size in _STORES.items()},
    "csrrw": _control(lambda old, value: value), "csrrs": _control(operator.or_),
    "csrrc": _control(lambda old, value: old & ~value),
    "active": _enable(on=True, by_register=False), "active.r": _enable(on=True, by_register=True),
    "deactive": _enable(on=False, by_register=False), "deactive.r": _enable(on=False, by_register=True),
    "ld": _ld, "lhwi": _half(high=True), "llwi": _half(high=False), "goto": _goto,
    "goto.r": _goto_register, "loop": _loop, "call": _call, "gqm": _queue, "bia": _barrier, ".word": _no_instruction,
}  # fmt: skip
"""What makes the step of each instruction of its operands and its word."""
LEAD_ELSEWHERE = frozenset({*_BRANCHES, "loop", "call", "gqm", ".word"})
"""Instructions that may lead to another one than the next, or to the end of the program."""


def constant(instructions: list[Instruction]) -> tuple[int, Step] | None:
    """Return how many instructions set a register to a number, and what does so at once; None if the first does not.

    Where the number is also written to JUMP_PC, as in front of each branch, that is part of it.
    """
    match instructions:
        case [("lhwi", (rd, high)), ("llwi", (other, low)), *rest] if rd == other and rd:
            value = high << 49 & _ALL | low
        case _:
            return None

    def step(it: Interpreter, registers: list[int]) -> None:
        registers[rd] = value

    def jump(it: Interpreter, registers: list[int]) -> None:
        it.csr[JUMP_PC] = registers[rd] = value

    is_jump = bool(rest) and rest[0] == ("csrrw", (0, JUMP_PC, rd))
    return (3, jump) if is_jump else (2, step)
