"""An interpreter for condition programs, for devices that are not hardware; `chips.programs.steps` is what each
instruction does.
"""

from __future__ import annotations

from functools import lru_cache

from chips.programs.isa import CSR_NAMES, JUMP_SHIFT, WORD_BYTES, Instruction, isa
from chips.programs.program import decode
from chips.programs.steps import JUMP_PC, LEAD_ELSEWHERE, MAKERS, SINK, Step, constant
from chips.programs.steps import DataQueues as DataQueues
from chips.programs.steps import Machine as Machine
from chips.programs.stream import PHYSICAL_ACCESS
from npuhal.records import dataclass, field
from npuhal.tuples import NamedTuple

MAX_STEPS = 1_000_000
"""Instructions after which a program is taken to hang."""

MAX_LOOPS = 1000
"""Times one ``loop`` instruction branches before it falls through; the real bound is the hardware's."""

_AXI_USER, _CSQ_STATUS = CSR_NAMES["axi_user"], CSR_NAMES["csq_status"]


@dataclass(slots=True)
class Execution:
    """State of a run, and its result: ``fault`` is None or says why and at which word the program stopped."""

    registers: list[int] = field(default_factory=lambda: [0] * 16)
    csr: dict[int, int] = field(default_factory=lambda: {_AXI_USER: PHYSICAL_ACCESS, _CSQ_STATUS: 0, JUMP_PC: 0})
    steps: int = 0
    fault: str | None = None

    @property
    def status(self) -> int:
        """Value the program left for the completion entry (32 bits)."""
        return self.csr[_CSQ_STATUS] & 0xFFFF_FFFF


class _Run(NamedTuple):
    """Instructions that follow each other, up to the next one that may lead elsewhere."""

    steps: tuple[Step, ...]
    """What does all but the last of them."""
    last: Step
    words: tuple[int, ...]
    """Where each of them is."""
    following: int


class _Code:
    """A block of instructions: what does each, and the runs from where a program has come by."""

    __slots__ = ("_instructions", "end", "runs", "step_at")

    def __init__(self, code: bytes, generation: str) -> None:
        length = isa(generation).length
        decoded = decode(code, generation)
        self._instructions = {word: (instruction, word + length(instruction)) for word, instruction in decoded}
        self.step_at = {word: MAKERS[name](operands, word) for word, (name, operands) in decoded}
        self.end = len(code) // WORD_BYTES
        self.runs: dict[int, _Run] = {}

    def run_from(self, word: int) -> _Run | None:
        """Return the run from a word on; None where no instruction starts."""
        words, names, following = list[int](), list[Instruction](), word
        while following in self._instructions:
            words.append(following)
            instruction, following = self._instructions[following]
            names.append(instruction)
            if instruction.name in LEAD_ELSEWHERE:
                break
        if not words:
            return None
        steps, at = list[Step](), 0
        while at < len(words) - 1:
            count, step = constant(names[at:-1]) or (1, self.step_at[words[at]])
            steps.append(step)
            at += count
        made = self.runs[word] = _Run(tuple(steps), self.step_at[words[-1]], tuple(words), following)
        return made


_code = lru_cache(maxsize=128)(_Code)


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
    interpreter = Interpreter(machine, generation, run, max_steps, max_loops)
    interpreter.block(code)
    run.registers[:] = interpreter.registers[:SINK]
    return run


class Interpreter:
    """One run of a program, as its instructions see it."""

    __slots__ = ("csr", "generation", "loops", "machine", "max_loops", "max_steps", "registers", "run")

    def __init__(self, machine: Machine, generation: str, run: Execution, max_steps: int, max_loops: int) -> None:
        self.machine = machine
        self.generation = generation
        self.run, self.registers, self.csr = run, [*run.registers, 0], run.csr
        self.max_steps = max_steps
        self.max_loops = max_loops
        self.loops: dict[int, int] = {}
        """How often each `loop` of a block went back."""

    def block(self, code: bytes) -> None:
        """Run one block; words count from its start."""
        found = _code(code, self.generation)
        runs, end, run, registers, word = found.runs, found.end, self.run, self.registers, 0
        outer, self.loops = self.loops, {}
        self.csr[JUMP_PC] = 0
        while word != end:
            following = runs.get(word) or found.run_from(word)
            if following is None:
                run.fault = run.fault or f"branch to word {word}, where no instruction starts"
                break
            left = self.max_steps - run.steps
            if len(following.words) > left:
                for each in following.words[:left]:
                    found.step_at[each](self, registers)
                run.steps += left + 1
                run.fault = f"no end after {self.max_steps} instructions (at word {following.words[left]})"
                break
            steps, last, words, word = following
            run.steps += len(words)
            for step in steps:
                step(self, registers)
            target = last(self, registers)
            if target is not None:
                word = target
        self.loops = outer

    def target(self, word: int) -> int:
        """Return the word that a branch to a word of its operands leads to."""
        return self.csr[JUMP_PC] << JUMP_SHIFT | word

    def physical(self) -> bool:
        """Whether loads and stores have physical addresses now."""
        return self.csr[_AXI_USER] & PHYSICAL_ACCESS == 0
