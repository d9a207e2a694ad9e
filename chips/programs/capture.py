"""Programs of conditional nodes in captured graphs: if, while, switch, and the jump back of a while.

The first SQE of the node picks a sub-model by the value of the condition variable, copies the addresses of its tables
behind the diagnostic area and starts it, or skips the rest of the node.  Behind it stands a wait for the end of the
sub-model, and for while a second condition SQE that moves the head back while the variable is not 0.

Sources: ``RtStarsCaptureIfCondFc``, ``RtStarsCaptureWhileCondFc``, ``RtStarsCaptureSwitchCondFc``,
``RtStarsCaptureWhileCondJumpBackFc`` (stars_cond_isa_define.hpp).
"""

from __future__ import annotations

from enum import IntEnum

from chips.programs.isa import CondError
from chips.programs.model import SUB_MODEL, StartQueues
from chips.programs.program import Program, parse
from chips.programs.stream import DIAGNOSTIC_BYTES
from npuhal.records import dataclass

STORED_BYTES = 24
"""Space behind the diagnostic area for the tables of the chosen sub-model: queue list, queue count, counter list."""


class ConditionKind(IntEnum):
    """Kinds of conditional nodes (``rtCondTaskType_t``)."""

    IF = 0
    WHILE = 1
    SWITCH = 2


# Part one leaves r5 = index of the sub-model and goes to "chosen", or falls through.
_CHOOSE = {
    ConditionKind.IF: """
        ld.d    r2, [$variable]
        mv      r5, r0
        setpc   r1, chosen
        bne     r2, r0, chosen
        addi    r5, r5, 1
        li      r2, $models
        bltu    r5, r2, chosen
""",
    ConditionKind.WHILE: """
        ld.d    r2, [$variable]
        setpc   r1, first
        bne     r2, r0, first
""",
    ConditionKind.SWITCH: """
        ld.d    r2, [$variable]
        li      r5, $models
        setpc   r1, first
        blt     r2, r5, first
""",
}

_INDEX = {
    ConditionKind.IF: "",
    ConditionKind.WHILE: "first: mv r5, r0\n",
    ConditionKind.SWITCH: "first: add r5, r2, r0\n",
}

_SKIP_NODE = """
        ld.d    r3, [$sq_id_address]
        li      r4, $next_head
        slli    r4, r4, 16
        or      r3, r3, r4
        goto.r  r2, r3
        setpc   r1, skipped
        beq     r0, r0, skipped
"""

_STORE_TABLES = """
chosen: li      r2, $dfx
        slli    r5, r5, 3
        li      r1, $head_lists
        add     r1, r5, r1
        ld      r1, [r1]
        sd      r1, [r2 + $stored]
        li      r4, $head_counts
        add     r4, r5, r4
        ld      r4, [r4]
        sd      r4, [r2 + $stored_1]
        li      r1, $counter_lists
        add     r1, r5, r1
        ld      r1, [r1]
        sd      r1, [r2 + $stored_2]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureCondition:
    """Conditional node: choose one of ``models`` sub-models by the 64-bit variable at ``variable``.

    IF takes 1 or 2 sub-models (not 0 -> the first, 0 -> the second if there is one), WHILE one, SWITCH the one with the
    number in the variable.  ``head_lists``, ``head_counts``, ``counter_lists``: addresses of 64-bit tables with one
    entry per sub-model.  ``next_head`` is the ring slot behind the node (2 SQEs, WHILE 3); the queue number is read
    from ``sq_id_address``.
    """

    kind: ConditionKind
    variable: int
    models: int
    head_lists: int
    head_counts: int
    counter_lists: int
    sq_id_address: int
    next_head: int
    start: StartQueues

    def program(self) -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        if self.kind not in _CHOOSE:
            raise CondError(f"kind = {self.kind!r} is none of {', '.join(k.name for k in ConditionKind)}")
        text = _CHOOSE[self.kind] + _SKIP_NODE + _INDEX[self.kind] + _STORE_TABLES + SUB_MODEL
        return parse(text + "skipped: nop\n")

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block; a number of sub-models the kind does not take raises ``CondError``."""
        limits = {ConditionKind.IF: (1, 2), ConditionKind.WHILE: (1, 1), ConditionKind.SWITCH: (1, (1 << 63) - 1)}
        program = self.program()
        low, high = limits[self.kind]
        if not low <= self.models <= high:
            wanted = f"{low}" if low == high else f"{low}..{high}"
            raise CondError(f"models = {self.models}: a {self.kind.name} node takes {wanted} sub-models")
        stored = self.start.dfx + DIAGNOSTIC_BYTES
        values = {
            "variable": self.variable,
            "sq_id_address": self.sq_id_address,
            "next_head": self.next_head,
            "head_lists": self.head_lists,
            "head_counts": self.head_counts,
            "counter_lists": self.counter_lists,
            "stored": DIAGNOSTIC_BYTES,
            "stored_1": DIAGNOSTIC_BYTES + 8,
            "stored_2": DIAGNOSTIC_BYTES + 16,
            "stored_heads": stored,
            "stored_count": stored + 8,
            "stored_counters": stored + 16,
            # sub-models wait on the selector on every generation
            **self.start.values("v100"),
        }
        if self.kind is not ConditionKind.WHILE:
            values["models"] = self.models
        return program.assemble(generation, **values)


_JUMP_BACK = """
        ld.d    r1, [$variable]
        setpc   r2, end
        beq     r1, r0, end
        li      r4, $head
        ld.d    r3, [$sq_id_address]
        slli    r4, r4, 16
        or      r3, r3, r4
        goto.r  r5, r3
end:    nop
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhileJumpBack:
    """Second half of a WHILE node: move the head of the queue back to slot ``head`` while the variable is not 0."""

    variable: int
    head: int
    sq_id_address: int

    @staticmethod
    def program() -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        return parse(_JUMP_BACK)

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program().assemble(
            generation, variable=self.variable, head=self.head, sq_id_address=self.sq_id_address
        )
