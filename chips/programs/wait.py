"""Programs that wait for a value in memory.

The wait polls a few times; without success it moves the head of its own queue back to the SQE before itself, so that
the queue runs the wait again and other work gets its turn.  On success it lets the queue go on.  Four forms: the queue
is known now or only when a graph is bound to one (its number then stands in memory), and v2 chips switch the profiling
log of the queue off while it waits.

Sources: ``RtStarsMemWaitValueLastInstrFc``, ``...FcEx``, ``...FcWithDynamicProf``, ``...FcExWithDynamicProf``,
``RtStarsExternalWaitFuncCall`` (stars_cond_isa_define.hpp).
"""

from __future__ import annotations

from chips.programs.isa import CondError
from chips.programs.program import Program, parse
from chips.programs.stream import PHYSICAL_ACCESS
from chips.tasks import WaitFor
from npuhal.records import dataclass

MAX_POLLS = 15
"""Times a wait reads the value before it lets other queues run."""

_LOG_ENABLE = 0x4000  # bit 14 of a queue's profiling word in the swap buffer
_WAIT_BYTE = 0  # awsize code of 8 bits; other sizes are read as 64 bits
_ALL = (1 << 64) - 1


# (operation with the first constant, branch to success, branch to another poll)
_TESTS = {
    WaitFor.GREATER_OR_EQUAL: ("or", "bge", "blt"),
    WaitFor.EQUAL: ("or", "beq", "bne"),
    WaitFor.AND: ("and", "bne", "beq"),
    WaitFor.NOR: ("or", "bne", "beq"),
}

_POLL = """
        mv      r3, r0
        li      r5, $expected
        mv      r4, r0
        llwi    r4, $polls
poll:   {load}  r2, [$address]
        li      r1, $operand
        {op}    r2, r2, r1
        setpc   r1, success
        {met}   r2, r5, success
        addi    r3, r3, 1
        setpc   r1, failure
        bge     r3, r4, failure
        nop
        nop
        setpc   r1, poll
        {unmet} r2, r5, poll
"""

_QUEUE_FROM_MEMORY = """
        ld.d    r3, [$sq_id_address]
        li      r4, $head_before
        slli    r4, r4, 16
        or      r3, r3, r4
        goto.r  r5, r3
"""

_END = "end: nop\n"

# a wait that has not paused its queue yet notes that it does, where profiling asks for it
_PAUSE = """
failure: ld.d   r2, [$paused]
        setpc   r1, again
        bne     r2, r0, again
        ld.d    r3, [$profiling]
        setpc   r1, again
        beq     r3, r0, again
        li      r4, $paused
        li      r5, 1
        sb      r5, [r4]
"""

# v100, queue known: "paused" is the flag of this wait in memory
_V100 = f"""
success: ld.d   r2, [$paused]
        setpc   r1, drain
        beq     r2, r0, drain
        li      r4, $paused
        sb      r0, [r4]
        setpc   r1, end
        bne     r2, r0, end
{_PAUSE}        setpc   r1, end
        bne     r3, r0, end
again:  goto    r5, $sq, $head_before
        setpc   r1, end
        beq     r2, r2, end
skip:   goto    r5, $sq, $head_after
        setpc   r1, end
        beq     r2, r2, end
drain:  ld.d    r2, [$tail]
        li      r3, $last
        setpc   r1, drain
        beq     r2, r3, drain
        setpc   r1, skip
        bne     r2, r3, skip
"""

# v100, queue bound later: the word with the queue number carries the flag in bit 32
_V100_BOUND = f"""
success: ld.d   r3, [$sq_id_address]
        srli    r2, r3, 32
        setpc   r1, {{go_on}}
        beq     r2, r0, {{go_on}}
        li      r5, $sq_id_address
        li      r4, 0xffffffff
        and     r4, r3, r4
        sd      r4, [r5]
        setpc   r1, end
        bne     r2, r0, end
failure: ld.d   r5, [$sq_id_address]
        srli    r2, r5, 32
        setpc   r1, again
        bne     r2, r0, again
        ld.d    r3, [$profiling]
        setpc   r1, again
        beq     r3, r0, again
        li      r4, $sq_id_address
        li      r2, 0x100000000
        or      r5, r5, r2
        sd      r5, [r4]
        setpc   r1, end
        bne     r3, r0, end
again:  {_QUEUE_FROM_MEMORY}
        setpc   r1, end
        beq     r2, r2, end
skip:   li      r4, $head_after
        slli    r4, r4, 16
        or      r3, r3, r4
        goto.r  r5, r3
        setpc   r1, end
        beq     r2, r2, end
drain:  li      r4, $queues
        slli    r5, r3, 3
        add     r4, r4, r5
        ld      r5, [r4]
full:   ld      r2, [r5 + $tail_offset]
        li      r4, $last
        setpc   r1, full
        beq     r2, r4, full
        setpc   r1, skip
        bne     r2, r4, skip
"""

_V2_SET_LOG = """
        li      r4, $log_word
        li      r2, $physical
        csrrc   r0, axi_user, r2
        lw.d    r5, [$log_word]
        li      r1, {mask:#x}
        {op}    r5, r5, r1
        sw      r5, [r4]
        li      r4, $update
        li      r5, $update_value
        sw      r5, [r4]
        csrrs   r0, axi_user, r2
"""

_V2 = f"""
success: ld.d   r2, [$paused]
        setpc   r1, end
        beq     r2, r0, end
        li      r4, $paused
        sb      r0, [r4]
        {_V2_SET_LOG.format(mask=_LOG_ENABLE, op="or")}
        setpc   r1, end
        beq     r2, r2, end
{_PAUSE}        {_V2_SET_LOG.format(mask=0xFFFFFFFF & ~_LOG_ENABLE, op="and")}
        setpc   r1, again
        beq     r3, r3, again
again:  goto    r5, $sq, $head_before
        setpc   r1, end
        beq     r2, r2, end
"""

_V2_BOUND_SET_LOG = """
        slli    r1, {sq}, $swap_shift
        li      r4, $swap_base
        or      r4, r1, r4
        li      r2, $log_offset
        or      r4, r2, r4
        li      r2, $physical
        csrrc   r0, axi_user, r2
        ld      {word}, [r4]
        li      r1, {mask:#x}
        {op}    {word}, {word}, r1
        sw      {word}, [r4]
        li      r4, $update
        li      r1, 0x80000000
        or      r2, {sq}, r1
        sw      r2, [r4]
        li      r2, $physical
        csrrs   r0, axi_user, r2
"""

_V2_BOUND = f"""
success: ld.d   r3, [$sq_id_address]
        srli    r2, r3, 32
        setpc   r1, end
        beq     r2, r0, end
        li      r5, $sq_id_address
        li      r4, 0xffffffff
        and     r3, r3, r4
        sd      r3, [r5]
        {_V2_BOUND_SET_LOG.format(sq="r3", word="r5", mask=_LOG_ENABLE, op="or")}
        setpc   r1, end
        beq     r2, r2, end
failure: ld.d   r5, [$sq_id_address]
        srli    r2, r5, 32
        setpc   r1, again
        bne     r2, r0, again
        ld.d    r3, [$profiling]
        setpc   r1, again
        beq     r3, r0, again
        li      r4, $sq_id_address
        li      r2, 0x100000000
        or      r1, r5, r2
        sd      r1, [r4]
        {_V2_BOUND_SET_LOG.format(sq="r5", word="r2", mask=0xFFFFFFFF & ~_LOG_ENABLE, op="and")}
        setpc   r1, again
        beq     r3, r3, again
again:  {_QUEUE_FROM_MEMORY}
        setpc   r1, end
        beq     r2, r2, end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQueue:
    """The queue of a wait whose number is known: its register page (``tail``: v100 only) and the pause flag address."""

    sq_id: int
    paused: int
    tail: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQueue:
    """The queue of a wait in a graph: the device word with its number; on v100 also the table of register pages.

    ``bound`` is the stream's bind flag: a bound wait that succeeds need not wait until something follows it.
    """

    sq_id_address: int
    queues: int = 0
    tail_offset: int = 0
    bound: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapBuffer:
    """Where v2 chips keep the profiling word of a queue: (base | sq << shift) + offset, and the update register."""

    base: int
    shift: int
    offset: int
    update: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWait:
    """Wait until the value at ``address`` meets ``test`` with ``value`` (unsigned 64 bits; compared signed).

    ``size`` is the awsize code of the access (0 reads one byte, every other code 64 bits).  ``position`` is the ring
    slot of the task's first SQE, ``depth`` the slots of the ring, ``profiling`` the address of the profiling switch.
    ``swap`` None builds the v100 form, otherwise the v2 form.
    """

    address: int
    value: int
    test: WaitFor
    size: int
    position: int
    depth: int
    profiling: int
    queue: KnownQueue | BoundQueue
    swap: SwapBuffer | None = None
    polls: int = MAX_POLLS

    def program(self) -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        try:
            op, met, unmet = _TESTS[self.test]
        except KeyError:
            raise CondError(f"test = {self.test!r} is none of {', '.join(t.name for t in WaitFor)}") from None
        poll = _POLL.format(load="lbu.d" if self.size == _WAIT_BYTE else "ld.d", op=op, met=met, unmet=unmet)
        if self.swap is not None:
            body = _V2 if isinstance(self.queue, KnownQueue) else _V2_BOUND
        elif isinstance(self.queue, KnownQueue):
            body = _V100
        else:
            body = _V100_BOUND.format(go_on="skip" if self.queue.bound else "drain")
        return parse(poll + body + _END)

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        masked = self.test in (WaitFor.AND, WaitFor.NOR)
        values = {
            "address": self.address,
            "operand": self.value if masked else 0,
            "expected": {WaitFor.AND: 0, WaitFor.NOR: _ALL}.get(self.test, self.value),
            "polls": self.polls,
            "profiling": self.profiling,
            "head_before": (self.position + 1) % self.depth,
        }
        if self.swap is None:
            values |= {
                "head_after": (self.position + _V100_SQES) % self.depth,
                "last": (self.position + _V100_SQES - 1) % self.depth,
            }
        else:
            values |= {"physical": PHYSICAL_ACCESS, "update": self.swap.update}
        return self.program().assemble(generation, **values, **self._queue_values())

    def _queue_values(self) -> dict[str, int]:
        queue, swap = self.queue, self.swap
        if isinstance(queue, KnownQueue):
            values = {"sq": queue.sq_id, "paused": queue.paused}
            if swap is None:
                return values | {"tail": queue.tail}
            return values | {
                "log_word": swap.base + (queue.sq_id << swap.shift) + swap.offset,
                "update_value": 0x8000_0000 + queue.sq_id,
            }
        values = {"sq_id_address": queue.sq_id_address}
        if swap is None:
            return values | {"queues": queue.queues, "tail_offset": queue.tail_offset}
        return values | {"swap_base": swap.base, "swap_shift": swap.shift, "log_offset": swap.offset}


_V100_SQES = 4  # nop, write value, condition, placeholder

_EXTERNAL = f"""
        mv      r4, r0
        addi    r5, r0, $polls
poll:   li      r1, $entry
        ld      r2, [r1]
        setpc   r1, end
        beq     r2, r0, end
        ld      r1, [r2]
        andi    r3, r1, 0xff
        addi    r2, r0, 1
        setpc   r1, end
        bgeu    r3, r2, end
        addi    r4, r4, 1
        setpc   r1, again
        bgeu    r4, r5, again
        setpc   r1, poll
        beq     r0, r0, poll
again:  {_QUEUE_FROM_MEMORY}
        setpc   r1, end
        beq     r0, r0, end
{_END}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalWait:
    """Wait for an event recorded outside the graph.

    The word at ``entry`` holds the address of its flag byte, or 0 when there is nothing to wait for.  ``position`` and
    ``depth`` as in ``MemoryWait``; the queue number is read from ``sq_id_address``.
    """

    entry: int
    sq_id_address: int
    position: int
    depth: int
    polls: int = MAX_POLLS

    @staticmethod
    def program() -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        return parse(_EXTERNAL)

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program().assemble(
            generation,
            entry=self.entry,
            sq_id_address=self.sq_id_address,
            head_before=(self.position + 1) % self.depth,
            polls=self.polls,
        )
