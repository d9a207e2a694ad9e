"""What the instructions do: an interpreter for condition programs, for devices that are not hardware.

The vendor documents encodings, not semantics; these follow from how the programs use the instructions: 64-bit
registers, R0 reads as zero, branches compare signed except ``bltu`` and ``bgeu``, 12-bit immediates are unsigned,
``loop`` branches while its register is not zero, a stream instruction leaves 0 in its destination when it succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, runtime_checkable

from chips.programs.isa import CSR_NAMES, JUMP_SHIFT, WORD_BYTES, isa
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


Step = Callable[["_Interpreter", tuple[int, ...], int, dict[int, int]], "int | None"]
"""Does one instruction: by operands, its word, and how often each `loop` went back. Returns the word to go on at, None
for the next one."""


@lru_cache(maxsize=128)
def _decoded(code: bytes, generation: str) -> dict[int, tuple[Step, tuple[int, ...], int]]:
    """Instructions of a block by word number: what does it, its operands, and the word of the next one."""
    length = isa(generation).length
    return {
        word: (_STEPS[instruction[0]], instruction[1], word + length(instruction))
        for word, instruction in decode(code, generation)
    }


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
    __slots__ = ("csr", "generation", "machine", "max_loops", "max_steps", "registers", "run")

    def __init__(self, machine: Machine, generation: str, run: Execution, max_steps: int, max_loops: int) -> None:
        self.machine = machine
        self.generation = generation
        self.run, self.registers, self.csr = run, run.registers, run.csr
        self.max_steps = max_steps
        self.max_loops = max_loops

    def block(self, code: bytes) -> None:
        """Run one block; words count from its start."""
        program = _decoded(code, self.generation)
        end = len(code) // WORD_BYTES
        loops: dict[int, int] = {}
        run, most, word = self.run, self.max_steps, 0
        self.csr[_JUMP_PC] = 0
        while word != end:
            found = program.get(word)
            if found is None:
                run.fault = f"branch to word {word}, where no instruction starts"
                return
            step, operands, following = found
            run.steps += 1
            if run.steps > most:
                run.fault = f"no end after {most} instructions (at word {word})"
                return
            target = step(self, operands, word, loops)
            if run.fault is not None:
                return
            word = following if target is None else target

    def target(self, word: int) -> int:
        """Return the word that a branch to a word of its operands leads to."""
        return self.csr[_JUMP_PC] << JUMP_SHIFT | word

    def write(self, register: int, value: int) -> None:
        """Set a register; the first one stays 0."""
        if register:
            self.registers[register] = value & _ALL

    def physical(self) -> bool:
        """Whether loads and stores have physical addresses now."""
        return self.csr[_AXI_USER] & PHYSICAL_ACCESS == 0


def _operation(compute: Callable[[int, int], int], *, immediate: bool) -> Step:
    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
        rd, first, second = operands
        registers = it.registers
        it.write(rd, compute(registers[first], second if immediate else registers[second]))

    return step


def _branch(taken: Callable[[int, int], bool]) -> Step:
    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> int | None:
        first, second, target = operands
        return it.target(target) if taken(it.registers[first], it.registers[second]) else None

    return step


def _load(size: int, *, signed: bool) -> Step:
    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
        rd, address = operands
        it.write(rd, int.from_bytes(it.machine.load(address, size, it.physical()), "little", signed=signed))

    return step


def _store(size: int) -> Step:
    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
        value, address, offset = operands
        data = (it.registers[value] & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        it.machine.store(it.registers[address] + offset & _ALL, data, it.physical())

    return step


def _control(changed: Callable[[int, int], int]) -> Step:
    """Return what reads a control register, and changes it by the old value and that of another register."""

    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
        rd, number, source = operands
        old = it.csr.get(number, 0)
        it.csr[number] = changed(old, it.registers[source])
        it.write(rd, old)

    return step


def _enable(*, on: bool, by_register: bool) -> Step:
    def step(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
        sq_id = it.registers[operands[1]] & _SQ_MASK if by_register else operands[1]
        it.write(operands[0], it.machine.activate(sq_id) if on else it.machine.deactivate(sq_id))

    return step


def _ld(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    rd, address, offset = operands
    data = it.machine.load(it.registers[address] + offset & _ALL, 8, it.physical())
    it.write(rd, int.from_bytes(data, "little"))


def _lhwi(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    it.write(operands[0], operands[1] << 49 | it.registers[operands[0]] & _LOW)


def _llwi(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    it.write(operands[0], it.registers[operands[0]] & ~_LOW | operands[1])


def _goto(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    it.write(operands[0], it.machine.goto(operands[1], operands[2]))


def _goto_register(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    position = it.registers[operands[1]]
    it.write(operands[0], it.machine.goto(position & _SQ_MASK, position >> 16 & 0xFFFF))


def _loop(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> int | None:
    first, target, _ = operands
    loops[word] = loops.get(word, 0) + 1
    return it.target(target) if it.registers[first] and loops[word] <= it.max_loops else None


def _call(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    address, length = operands
    it.block(it.machine.load(it.registers[address], WORD_BYTES * it.registers[length], it.physical()))


def _queue(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    """Leave the status of a queue command in its register and the word in the next one."""
    if not isinstance(it.machine, DataQueues):
        it.run.fault = f"gqm at word {word}: this machine has no queue manager"
        return
    rd, command, address = operands
    status, value = it.machine.queue(it.registers[command], it.registers[address])
    it.write(rd, status)
    it.write(rd + 1, value)


def _barrier(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    """Do nothing: this machine does one access at a time anyway."""


def _no_instruction(it: _Interpreter, operands: tuple[int, ...], word: int, loops: dict[int, int]) -> None:
    kind = "error word" if operands == (0,) else f"{operands[0]:#010x} is no instruction"
    it.run.fault = f"{kind} at word {word}"


_STEPS: dict[str, Step] = {
    **{name: _operation(compute, immediate=False) for name, compute in _OPERATIONS.items()},
    **{name: _operation(_OPERATIONS[of], immediate=True) for name, of in _IMMEDIATE.items()},
    **{name: _branch(taken) for name, taken in _BRANCHES.items()},
    **{name: _load(size, signed="u" not in name) for name, size in _LOADS.items()},
    **{name: _store(size) for name, size in _STORES.items()},
    "csrrw": _control(lambda old, value: value), "csrrs": _control(lambda old, value: old | value),
    "csrrc": _control(lambda old, value: old & ~value),
    "active": _enable(on=True, by_register=False), "active.r": _enable(on=True, by_register=True),
    "deactive": _enable(on=False, by_register=False), "deactive.r": _enable(on=False, by_register=True),
    "ld": _ld, "lhwi": _lhwi, "llwi": _llwi, "goto": _goto, "goto.r": _goto_register, "loop": _loop, "call": _call,
    "gqm": _queue, "bia": _barrier, ".word": _no_instruction,
}  # fmt: skip
"""What each instruction does."""
