"""What the instructions do: an interpreter for condition programs, for devices that are not hardware.

The vendor documents encodings, not semantics; these follow from how the programs use the instructions: 64-bit
registers, R0 reads as zero, branches compare signed except ``bltu`` and ``bgeu``, 12-bit immediates are unsigned,
``loop`` branches while its register is not zero, a stream instruction leaves 0 in its destination when it succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, runtime_checkable

from chips.programs.isa import CSR_NAMES, JUMP_SHIFT, WORD_BYTES, Instruction, isa
from chips.programs.program import decode
from chips.programs.stream import PHYSICAL_ACCESS
from npuhal.records import dataclass, field

MAX_STEPS = 1_000_000
"""Instructions after which a program is taken to hang."""

MAX_LOOPS = 1000
"""Times one ``loop`` instruction branches before it falls through; the real bound is the hardware's."""

_ALL = (1 << 64) - 1
_SIGN = 1 << 63
_SQ_MASK = 0x7FF  # a queue position: number in bits 10..0, head in bits 31..16
_AXI_USER, _CSQ_STATUS, _JUMP_PC = CSR_NAMES["axi_user"], CSR_NAMES["csq_status"], CSR_NAMES["jump_pc"]


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


@dataclass(slots=True)
class Execution:
    """State of a run, and its result: ``fault`` is None or says why and at which word the program stopped."""

    registers: list[int] = field(default_factory=lambda: [0] * 16)
    csr: dict[int, int] = field(default_factory=lambda: {_AXI_USER: PHYSICAL_ACCESS, _CSQ_STATUS: 0, _JUMP_PC: 0})
    steps: int = 0
    fault: str | None = None

    @property
    def status(self) -> int:
        """Value the program left for the completion entry (32 bits)."""
        return self.csr[_CSQ_STATUS] & 0xFFFF_FFFF


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "sll": lambda a, b: a << (b & 63),
    "srl": lambda a, b: a >> (b & 63),
    "sra": lambda a, b: _signed(a) >> (b & 63),
    "slt": lambda a, b: int(_signed(a) < _signed(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
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
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: _signed(a) < _signed(b),
    "bge": lambda a, b: _signed(a) >= _signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}
_LOADS = {"lb.d": 1, "lh.d": 2, "lw.d": 4, "ld.d": 8, "lbu.d": 1, "lhu.d": 2, "lwu.d": 4}  # "u": zero extended
_STORES = {"sb": 1, "sh": 2, "sw": 4, "sd": 8}
_LOW = (1 << 49) - 1


@lru_cache(maxsize=128)
def _decoded(code: bytes, generation: str) -> dict[int, tuple[Instruction, int]]:
    """Instructions of a block by word number, each with the word of the next one."""
    length = isa(generation).length
    return {word: (instruction, word + length(instruction)) for word, instruction in decode(code, generation)}


def execute(
    code: bytes,
    machine: Machine,
    generation: str = "v100",
    *,
    max_steps: int = MAX_STEPS,
    max_loops: int = MAX_LOOPS,
) -> Execution:
    """Run a program (a block, or the words of a condition SQE, whose call is followed) until its end or a fault.

    Never raises for what the program does: an error word, a word that is no instruction, a branch out of the block and
    more than ``max_steps`` instructions end the run with ``fault`` set.  What ``machine`` raises passes through.
    """
    run = Execution()
    _Interpreter(machine, generation, run, max_steps, max_loops).block(code)
    return run


class _Interpreter:
    def __init__(self, machine: Machine, generation: str, run: Execution, max_steps: int, max_loops: int) -> None:
        self.machine = machine
        self.generation = generation
        self.run = run
        self.max_steps = max_steps
        self.max_loops = max_loops

    def block(self, code: bytes) -> None:
        """Run one block; words count from its start."""
        program = _decoded(code, self.generation)
        end = len(code) // WORD_BYTES
        loops: dict[int, int] = {}
        word = 0
        self.run.csr[_JUMP_PC] = 0
        while word != end:
            if word not in program:
                self.run.fault = f"branch to word {word}, where no instruction starts"
                return
            instruction, following = program[word]
            self.run.steps += 1
            if self.run.steps > self.max_steps:
                self.run.fault = f"no end after {self.max_steps} instructions (at word {word})"
                return
            target = self._step(instruction, word, loops)
            if self.run.fault is not None:
                return
            word = following if target is None else target

    def _step(self, instruction: Instruction, word: int, loops: dict[int, int]) -> int | None:
        """Do one instruction; return the word to go on at, None for the next."""
        name, operands = instruction
        registers, csr = self.run.registers, self.run.csr
        if name in _BRANCHES:
            first, second, target = operands
            if _BRANCHES[name](registers[first], registers[second]):
                return csr[_JUMP_PC] << JUMP_SHIFT | target
            return None
        if name == "loop":
            first, target, _ = operands
            loops[word] = loops.get(word, 0) + 1
            if registers[first] and loops[word] <= self.max_loops:
                return csr[_JUMP_PC] << JUMP_SHIFT | target
            return None
        if name in _STORES:
            value, address, offset = operands
            size = _STORES[name]
            data = (registers[value] & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            self.machine.store(registers[address] + offset & _ALL, data, self._physical())
        elif name == "call":
            address, length = operands
            self.block(self.machine.load(registers[address], WORD_BYTES * registers[length], self._physical()))
        elif name == "gqm":
            self._queue(operands, word)
        elif name == "bia":
            pass  # a barrier: this machine does one access at a time anyway
        elif name == ".word":
            kind = "error word" if operands == (0,) else f"{operands[0]:#010x} is no instruction"
            self.run.fault = f"{kind} at word {word}"
        else:
            self._write(operands[0], self._value(name, operands))
        return None

    def _value(self, name: str, operands: tuple[int, ...]) -> int:
        """Result of an instruction that has a destination register."""
        registers, csr, machine = self.run.registers, self.run.csr, self.machine
        rd = operands[0]
        if name in _OPERATIONS:
            return _OPERATIONS[name](registers[operands[1]], registers[operands[2]])
        if name in _IMMEDIATE:
            return _OPERATIONS[_IMMEDIATE[name]](registers[operands[1]], operands[2])
        if name in _LOADS:
            data = machine.load(operands[1], _LOADS[name], self._physical())
            return int.from_bytes(data, "little", signed="u" not in name)
        if name == "ld":
            return int.from_bytes(
                machine.load(registers[operands[1]] + operands[2] & _ALL, 8, self._physical()), "little"
            )
        if name == "lhwi":
            return operands[1] << 49 | registers[rd] & _LOW
        if name == "llwi":
            return registers[rd] & ~_LOW | operands[1]
        if name in ("csrrw", "csrrs", "csrrc"):
            number, source = operands[1], registers[operands[2]]
            old = csr.get(number, 0)
            csr[number] = {"csrrw": source, "csrrs": old | source, "csrrc": old & ~source}[name]
            return old
        if name == "goto":
            return machine.goto(operands[1], operands[2])
        if name == "goto.r":
            position = registers[operands[1]]
            return machine.goto(position & _SQ_MASK, position >> 16 & 0xFFFF)
        if name in ("active", "deactive", "active.r", "deactive.r"):
            sq_id = registers[operands[1]] & _SQ_MASK if name.endswith(".r") else operands[1]
            return machine.activate(sq_id) if name.startswith("active") else machine.deactivate(sq_id)
        raise AssertionError(f"{name} has no meaning")  # every mnemonic of the table is handled above

    def _queue(self, operands: tuple[int, ...], word: int) -> None:
        """Leave the status of a queue command in its register and the word in the next one."""
        if not isinstance(self.machine, DataQueues):
            self.run.fault = f"gqm at word {word}: this machine has no queue manager"
            return
        rd, command, address = operands
        status, value = self.machine.queue(self.run.registers[command], self.run.registers[address])
        self._write(rd, status)
        self._write(rd + 1, value)

    def _write(self, register: int, value: int) -> None:
        if register:
            self.run.registers[register] = value & _ALL

    def _physical(self) -> bool:
        return self.run.csr[_AXI_USER] & PHYSICAL_ACCESS == 0
