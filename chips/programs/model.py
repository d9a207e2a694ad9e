"""Program that starts all head streams of a model, and its form inside captured conditions.

For each queue of the model's head list: wait for its state machine, refuse a queue that is not mapped or not empty,
disable it, put its head to 0, count the start and activate it.

Sources: ``RtStarsModelExeFuncCall``, ``RtStarsModelExeFuncCallArch9201`` (stars_model_execute_cond_isa_define.hpp,
cond_isa_task_arch9201.cc).
"""

from __future__ import annotations

import struct

from chips.programs.program import Program, parse
from chips.programs.stream import ENABLE_OFFSET, HEAD_OFFSET, PHYSICAL_ACCESS, STATE_OFFSET
from npuhal.records import dataclass

RETRY_DELAY = 1100
"""Delay cycles of the loop that waits for a queue's state machine."""

_HEADS = """
heads:  li      r1, $heads
        li      r4, $head_count
"""

# a captured condition stores the tables of the chosen sub-model behind its diagnostic area
_STORED_HEADS = """
heads:  ld.d    r1, [$stored_heads]
        ld.d    r4, [$stored_count]
        nop
        nop
"""

_NEXT_QUEUE = """
        setpc   r5, end
        bgeu    r2, r4, end
        slli    r3, r2, 3
        add     r4, r1, r3
        ld      r3, [r4]
"""

_WAIT_SELECTOR = """
idle:   li      r4, $state
        li      r1, $physical
        csrrc   r0, axi_user, r1
        sw      r3, [r4]
        li      r4, $state
        ld      r4, [r4]
        li      r1, $physical
        csrrs   r0, axi_user, r1
        mv      r1, r4
        andi    r1, r1, $sq_mask
        xor     r1, r1, r3
        setpc   r5, idle
        loop    r1, idle, $delay
        srli    r4, r4, 32
        andi    r4, r4, 0xf
        setpc   r1, idle
        loop    r4, idle, $delay
        setpc   r1, failed
        bne     r4, r0, failed
"""

_WAIT_REGISTER = """
idle:   slli    r5, r3, 3
        li      r4, $queues
        add     r4, r4, r5
        ld      r4, [r4]
        ld      r4, [r4 + $state_offset]
        andi    r4, r4, 0xf
        setpc   r1, idle
        loop    r4, idle, $delay
        setpc   r1, failed
        bne     r4, r0, failed
"""

_REWIND = """
        slli    r5, r3, 3
        li      r4, $queues
        add     r4, r4, r5
        ld      r4, [r4]
        setpc   r5, unmapped
        beq     r4, r0, unmapped
        ld      r1, [r4 + $head]        ; head register, enable bit 32 above it
        slli    r1, r1, 31
        srli    r1, r1, 63
        setpc   r5, rewind
        beq     r1, r0, rewind
        ld      r5, [r4 + $head]
        slli    r5, r5, 48
        srli    r5, r5, 48
        ld      r1, [r4 + $tail]
        slli    r1, r1, 48
        srli    r1, r1, 48
        xor     r1, r1, r5
        setpc   r5, not_empty
        bne     r1, r0, not_empty
        sw      r0, [r4 + $enable]
rewind: goto.r  r4, r3
        slli    r5, r2, 3
        addi    r2, r2, 1
"""

_COUNTERS = """
        li      r4, $counters
"""

_STORED_COUNTERS = """
        ld.d    r4, [$stored_counters]
        nop
"""

_START = """
        add     r5, r4, r5
        ld      r4, [r5]
        ld      r5, [r4]
        addi    r5, r5, 1
        sh      r5, [r4]
        active.r r5, r3
        setpc   r4, heads
        beq     r0, r0, heads
unmapped: li    r5, $dfx
        sw      r4, [r5]
        error
not_empty: li   r5, $dfx
        sw      r1, [r5 + 8]
        error
failed: error
end:    nop
"""

_RESET_INDEX = "mv r2, r0\n"

ROOT = _RESET_INDEX + _HEADS + _NEXT_QUEUE + _WAIT_SELECTOR + _REWIND + _COUNTERS + _START
ROOT_ARCH9201 = _RESET_INDEX + _HEADS + _NEXT_QUEUE + _WAIT_REGISTER + _REWIND + _COUNTERS + _START
SUB_MODEL = _RESET_INDEX + _STORED_HEADS + _NEXT_QUEUE + _WAIT_SELECTOR + _REWIND + _STORED_COUNTERS + _START
"""Texts of the program: a model, a model on arch9201, a sub-model of a captured condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartQueues:
    """What every start of a list of queues needs.

    ``queues``: address of the table of queue register pages by queue number; ``state``: address of the state machine
    selector (not used on arch9201); ``dfx``: diagnostic area; ``sq_mask``, ``tail_offset``: the chip's rtsqShamt and
    sqTailOffset.
    """

    queues: int
    state: int
    dfx: int
    sq_mask: int
    tail_offset: int

    def values(self, generation: str) -> dict[str, int]:
        """Return the program parameters."""
        values = {
            "queues": self.queues,
            "dfx": self.dfx,
            "delay": RETRY_DELAY,
            "head": HEAD_OFFSET,
            "tail": self.tail_offset,
            "enable": ENABLE_OFFSET,
        }
        if generation == "arch9201":
            return values | {"state_offset": STATE_OFFSET}
        return values | {"state": self.state, "physical": PHYSICAL_ACCESS, "sq_mask": self.sq_mask}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExecute:
    """Start a model: ``heads`` are the queue numbers of its head streams, ``counters`` their start counter addresses.

    The two tables follow the instructions at ``address`` (256-byte aligned).  The SQE calls the instructions only:
    ``program(generation).size_bytes``, not the whole block.
    """

    address: int
    heads: tuple[int, ...]
    counters: tuple[int, ...]
    start: StartQueues

    @staticmethod
    def program(generation: str) -> Program:
        """Return the parsed program without the tables."""
        return parse(ROOT_ARCH9201 if generation == "arch9201" else ROOT)

    def assemble(self, generation: str) -> bytes:
        """Return the block: instructions, queue numbers, counter addresses."""
        program = self.program(generation)
        heads = self.address + program.size_bytes
        code = program.assemble(
            generation,
            heads=heads,
            head_count=len(self.heads),
            counters=heads + 8 * len(self.heads),
            **self.start.values(generation),
        )
        return code + struct.pack(f"<{len(self.heads) + len(self.counters)}Q", *self.heads, *self.counters)
