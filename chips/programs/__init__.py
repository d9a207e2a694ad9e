"""Condition programs: the instruction blocks that condition SQEs call on the device.

``isa`` is the instruction set, ``program`` the assembler and disassembler; the other modules hold one topic of programs
each (streams, labels, waits, model execution, captured conditions, data queues) and take a dataclass of parameters.
"""

from __future__ import annotations

from chips.programs.isa import CondError, Instruction
from chips.programs.program import Program, assemble, disassemble, parse

__all__ = ["CondError", "Instruction", "Program", "assemble", "disassemble", "parse"]
