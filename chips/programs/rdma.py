"""Programs for RDMA in models: producer indices that grow with every execution of the model.

Sources: ``RtStarsRdmaSinkSqe1``, ``RtStarsRdmaSinkSqe2`` (stars_dma.hpp), ``RtStarsPivalueModifyFuncCall``
(stars_model_execute_cond_isa_define.hpp).
"""

from __future__ import annotations

from chips.programs.program import Program, assemble, parse
from chips.programs.stream import PHYSICAL_ACCESS
from npuhal.records import dataclass

_RDMA_COUNT = """
        lhu.d   r1, [$executions]
        slli    r1, r1, $depth_bits
        addi    r1, r1, $producer
        li      r2, 0xffff
        and     r1, r1, r2
        slli    r1, r1, 32
        nop
        nop
        nop
"""


def rdma_count(executions: int, depth_bits: int, producer: int) -> bytes:
    """Return the 12 words that leave an RDMA producer index, shifted by 32, in R1 for the SQE that follows.

    Index = (executions of the stream << ``depth_bits``) + ``producer`` (its low 12 bits), kept to 16 bits.
    """
    return assemble(_RDMA_COUNT, executions=executions, depth_bits=depth_bits, producer=producer & 0xFFF)


_RDMA_DOORBELL = """
        li      r3, $value
        or      r3, r3, r1
        li      r4, $doorbell
        llwi    r5, $physical
        csrrc   r0, axi_user, r5
        sd      r3, [r4]
        csrrs   r0, axi_user, r5
"""


def rdma_doorbell(doorbell: int, value: int) -> bytes:
    """Return the 12 words that write ``value`` with the producer index of ``rdma_count`` to a physical doorbell."""
    return assemble(_RDMA_DOORBELL, doorbell=doorbell, value=value, physical=PHYSICAL_ACCESS)


_INDEX_BITS = 0x0000_FFFF_0000_0000  # bits 47..32 of a doorbell value

_MODIFY = f"""
        mv      r2, r0
next:   li      r1, $table
        li      r4, $count
        setpc   r5, done
        bgeu    r2, r4, done
        slli    r3, r2, 3
        add     r4, r1, r3
        ld      r5, [r4]
        li      r4, $dfx
        add     r4, r4, r3
        ld      r3, [r5]
        sd      r3, [r4]
        li      r1, {~_INDEX_BITS & (1 << 64) - 1:#x}
        and     r4, r3, r1
        li      r1, {_INDEX_BITS:#x}
        and     r1, r3, r1
        ld      r3, [r5 + 16]
        add     r3, r1, r3
        li      r1, {_INDEX_BITS:#x}
        and     r3, r3, r1
        or      r3, r3, r4
        sd      r3, [r5]
        addi    r2, r2, 1
        setpc   r4, next
        beq     r0, r0, next
done:   nop
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIndexModify:
    """Add to the producer index of ``count`` doorbell values before a replay.

    ``table``: address of ``count`` 64-bit addresses.  Each points to a doorbell value (index in bits 47..32) with what
    to add 16 bytes behind it, in the same bits.  ``dfx``: space for the old values, 8 bytes each.
    """

    table: int
    count: int
    dfx: int

    @staticmethod
    def program() -> Program:
        """Return the parsed program; its ``size_bytes`` is the size of the block."""
        return parse(_MODIFY)

    def assemble(self, generation: str) -> bytes:
        """Return the bytes of the block."""
        return self.program().assemble(generation, table=self.table, count=self.count, dfx=self.dfx)
