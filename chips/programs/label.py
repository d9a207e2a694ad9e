"""Program that jumps to a label chosen by an index in memory.

A label table has one 16-byte entry per label: position of its queue and queue number (64 bits), address of the start
counter of its stream (64 bits).  An index beyond the table takes the last label; a table that the model does not cover
ends in an error.  A label on the running queue is a plain move of its head; one on another queue starts that queue and
stops the running one.

Source: ``rtStarsLabelSwitchByIndexFc_t`` (stars_cond_isa_define.hpp).
"""

from __future__ import annotations

from chips.programs.program import Program, parse
from chips.programs.stream import ENABLE_OFFSET, HEAD_OFFSET
from npuhal.records import dataclass

_COUNT_START = """
        lwu.d   r4, [{index}]
        li.low  r5, $labels
        slli    r4, r4, 4
        add     r4, r4, r5
        ld      r5, [r4 + 8]
        ld      r4, [r5]
        addi    r4, r4, 1
        sh      r4, [r5]
"""

_TEXT = f"""
        lwu.d   r1, [$index]
        li      r2, $count
        bltu    r1, r2, valid
        li      r1, $last
valid:  lwu.d   r2, [$label_count]
        csrrw   r0, csq_status, r1
        bltu    r1, r2, found
        error
found:  li.low  r3, $dfx
        sd      r1, [r3 + 32]
        slli    r1, r1, 4
        li.low  r3, $labels
        add     r1, r1, r3
        ld      r1, [r1]
        andi    r2, r1, 0x7ff
        li.low  r3, $dfx
        sd      r1, [r3]
        xori    r5, r2, $current_sq
        setpc   r3, move
        beq     r5, r0, move
        slli    r4, r2, 3
        li      r5, $queues
        add     r5, r5, r4
        ld      r5, [r5]
        setpc   r4, stuck
        beq     r5, r0, stuck
        ld      r4, [r5 + $enable]
        andi    r4, r4, 1
        li.low  r3, $dfx
        sd      r4, [r3 + 8]
        setpc   r3, rewind
        beq     r4, r0, rewind
        ld      r2, [r5 + $tail]
        slli    r2, r2, 48
        ld      r4, [r5 + $head]
        slli    r4, r4, 48
        li.low  r3, $dfx
        sd      r2, [r3 + 16]
        sd      r4, [r3 + 24]
        setpc   r3, disable
        beq     r4, r2, disable
stuck:  error
disable: sw     r0, [r5 + $enable]
rewind: goto.r  r4, r1
        setpc   r3, rewind
        loop    r4, rewind, 0x1fff
{_COUNT_START.format(index="$dfx_index")}
        active.r r4, r1
        deactive r5, $current_sq
        setpc   r3, done
        beq     r0, r0, done
{_COUNT_START.format(index="$index")}
move:   goto.r  r4, r1
done:   nop
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSwitch:
    """Jump to label number ``*index`` of the table at ``labels`` with ``count`` entries.

    ``label_count`` is the address of the number of labels the model really has, ``queues`` of the table of queue
    register pages by queue number (0 = queue not mapped), ``dfx`` of the diagnostic area right behind the block.
    """

    index: int
    count: int
    labels: int
    label_count: int
    queues: int
    dfx: int
    current_sq: int
    tail_offset: int

    @staticmethod
    def program() -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        return parse(_TEXT)

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program().assemble(
            generation,
            index=self.index,
            count=self.count,
            last=max(self.count - 1, 0),
            labels=self.labels,
            label_count=self.label_count,
            queues=self.queues,
            dfx=self.dfx,
            dfx_index=self.dfx + 32,
            current_sq=self.current_sq,
            enable=ENABLE_OFFSET,
            head=HEAD_OFFSET,
            tail=self.tail_offset,
        )
