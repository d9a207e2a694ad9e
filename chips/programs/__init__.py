"""Condition programs: the instruction blocks that condition SQEs call on the device.

``isa`` is the instruction set, ``program`` the assembler and disassembler; the other modules hold one topic of programs
each (streams, labels, waits, model execution, captured conditions, data queues) and take a dataclass of parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from chips.programs.isa import CondError, Instruction
    from chips.programs.program import Program, assemble, disassemble, parse
else:
    __getattr__, __dir__ = late.names(__name__, {
        "chips.programs.isa": "CondError Instruction",
        "chips.programs.program": "Program assemble disassemble parse",
    })  # fmt: skip

__all__ = ["CondError", "Instruction", "Program", "assemble", "disassemble", "parse"]
