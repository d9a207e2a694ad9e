"""Programs that start another stream: stream active, stream switch (constant or memory operand).

Starting a stream means: wait until the queue's state machine is idle, check that an enabled queue is empty, disable it,
put its head back to 0, count the start, and activate it.  The switch does so only if a condition holds, and then stops
the queue it runs on.

Sources: ``RtStarsStreamActiveFc``, ``rtStarsStreamSwitchFc_t``, ``rtStarsStreamSwitchExFc_t`` and their ``Arch9201``
forms (stars_cond_isa_define.hpp, cond_isa_task_arch9201.cc).
"""

from __future__ import annotations

from enum import IntEnum

from chips.programs.isa import CondError
from chips.programs.program import Program, parse
from npuhal.records import dataclass

PHYSICAL_ACCESS = 0x1_0000_0001
"""Bits of the AXI_USER register: cleared, loads and stores use physical addresses; set, virtual ones."""

DIAGNOSTIC_BYTES = 128
"""Space that a block with a diagnostic area needs behind it (``TS_STARS_COND_DFX_SIZE``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRegisters:
    """Addresses of the registers of one hardware submission queue.

    ``state`` is the selector of the state machines (physical, shared by all queues of a die), on arch9201 the state
    register of the queue itself (virtual, like the other three).
    """

    state: int
    enable: int
    head: int
    tail: int

    @classmethod
    def at(cls, base: int, *, state: int, tail_offset: int) -> QueueRegisters:
        """Registers of the queue mapped at ``base``; ``tail_offset`` is the chip's sqTailOffset."""
        return cls(state=state, enable=base + ENABLE_OFFSET, head=base + HEAD_OFFSET, tail=base + tail_offset)


HEAD_OFFSET = 0x10
"""Head register in the page of a queue (``STARS_SIMPLE_SQ_HEAD_OFFSET``)."""

ENABLE_OFFSET = 0x14
"""Enable register in the page of a queue (``STARS_SIMPLE_SQ_ENABLE_OFFSET``)."""

STATE_OFFSET = 0x28
"""State register in the page of a queue, arch9201 only (``DAVID_SIMPLE_SQ_STATE_OFFSET``)."""


# State machine through the selector: write the queue number, read number and state back, retry until it is idle.
_WAIT_IDLE_SELECTOR = """
retry:  li      r3, $physical
        li      r1, $state
        li      r2, $sq
        csrrc   r0, axi_user, r3
        sh      r2, [r1]
        and     r1, r1, r0
        ld.d    r1, [$state]
        csrrs   r0, axi_user, r3
        csrrw   r0, csq_status, r1
        li.low  r3, $dfx
        sd      r1, [r3]
        mv      r5, r1
        andi    r5, r5, $sq_mask
        li.low  r3, $sq
        xor     r5, r3, r5
        setpc   r4, retry
        loop    r5, retry, $delay
        srli    r1, r1, 32
        andi    r1, r1, 0xf
        xori    r5, r1, 9
        setpc   r4, stuck
        beq     r5, r0, stuck
"""

# arch9201: every queue shows its own state
_WAIT_IDLE_REGISTER = """
retry:  and     r1, r1, r0
        lwu.d   r1, [$state]
        csrrw   r0, csq_status, r1
        li.low  r3, $dfx
        sd      r1, [r3]
        andi    r1, r1, 0xf
        xori    r5, r1, 9
        setpc   r4, stuck
        beq     r5, r0, stuck
"""

_START = """
        setpc   r4, retry
        loop    r1, retry, $delay
        and     r1, r1, r0
        lbu.d   r1, [$enable]
        andi    r1, r1, 1
        setpc   r4, rewind
        li.low  r3, $dfx
        sd      r1, [r3 + 8]
        beq     r1, r0, rewind
        lhu.d   r2, [$tail]
        slli    r2, r2, 48
        lhu.d   r1, [$head]
        slli    r1, r1, 48
        setpc   r4, stuck
        li.low  r3, $dfx
        sd      r1, [r3 + 16]
        sd      r2, [r3 + 24]
        bne     r1, r2, stuck
        li      r1, $enable
        sw      r0, [r1]
rewind: goto    r0, $sq, 0
        lwu.d   r2, [$starts]
        addi    r2, r2, 1
        li      r1, $starts
        sh      r2, [r1]
        active  r0, $sq
        setpc   r4, started
        beq     r0, r0, started
stuck:  error
started: nop
"""

_RETRY_DELAY = 10000 & 0x1FFF
"""Delay cycles of the idle loop: 10000 is asked for, the field keeps 13 bits."""


def _start_text(generation: str) -> str:
    return (_WAIT_IDLE_REGISTER if generation == "arch9201" else _WAIT_IDLE_SELECTOR) + _START


class Condition(IntEnum):
    """Conditions of a stream switch (``rtCondition_t``)."""

    EQUAL = 0
    NOT_EQUAL = 1
    GREATER = 2
    GREATER_OR_EQUAL = 3
    LESS = 4
    LESS_OR_EQUAL = 5


# the branch leaves the program, so it takes the opposite condition; r1 = variable, r2 = what it is compared with
_LEAVE = {
    Condition.EQUAL: "bne r1, r2, done",
    Condition.NOT_EQUAL: "beq r1, r2, done",
    Condition.GREATER: "bge r2, r1, done",
    Condition.GREATER_OR_EQUAL: "blt r1, r2, done",
    Condition.LESS: "bge r1, r2, done",
    Condition.LESS_OR_EQUAL: "blt r2, r1, done",
}

_SWITCH_TAIL = """
        deactive r2, $current_sq
done:   nop
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamActive:
    """Start the stream of queue ``sq_id``.

    ``starts`` is the address of its 16-bit start counter, ``dfx`` of the diagnostic area (``DIAGNOSTIC_BYTES``, by
    convention right behind the block), ``sq_mask`` the chip's rtsqShamt (bits of a queue number in the state word; not
    used on arch9201).
    """

    sq_id: int
    registers: QueueRegisters
    starts: int
    dfx: int
    sq_mask: int = 0

    @staticmethod
    def program(generation: str) -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        return parse(_start_text(generation))

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program(generation).assemble(generation, **self.values(generation))

    def values(self, generation: str) -> dict[str, int]:
        """Return the parameters of the start program."""
        values = {
            "sq": self.sq_id,
            "state": self.registers.state,
            "enable": self.registers.enable,
            "head": self.registers.head,
            "tail": self.registers.tail,
            "starts": self.starts,
            "dfx": self.dfx,
            "delay": _RETRY_DELAY,
        }
        if generation != "arch9201":
            values |= {"physical": PHYSICAL_ACCESS, "sq_mask": self.sq_mask}
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSwitch:
    """Start ``target`` and stop queue ``current_sq`` if the variable at ``variable`` meets the condition.

    Compared signed, 64 bits wide, with ``value`` (-2**63..2**63-1) or, if ``value_address`` is given, with the variable
    there; then ``wide`` False compares 32 bits.
    """

    variable: int
    condition: Condition
    target: StreamActive
    current_sq: int
    value: int = 0
    value_address: int | None = None
    wide: bool = True

    def program(self, generation: str) -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        try:
            leave = _LEAVE[self.condition]
        except KeyError:
            names = ", ".join(condition.name for condition in Condition)
            raise CondError(f"condition = {self.condition!r} is none of {names}") from None
        if self.value_address is None:
            load = "ld.d r1, [$variable]\n li r2, $value"
        else:
            mnemonic = "ld.d" if self.wide else "lw.d"
            load = f"{mnemonic} r1, [$variable]\n {mnemonic} r2, [$value]"
        return parse(f"{load}\n setpc r3, done\n {leave}\n{_start_text(generation)}{_SWITCH_TAIL}")

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program(generation).assemble(
            generation,
            variable=self.variable,
            value=self.value if self.value_address is None else self.value_address,
            current_sq=self.current_sq,
            **self.target.values(generation),
        )
