"""Instructions inside the condition SQEs themselves: the call of a block, and the few programs that fit an SQE.

Sources: ``RtStarsFunctionCallSqe``, ``RtStarsGetFloatStatusSqe`` (stars_sqe.hpp), ``RtDavidStarsDqsSchedEndSqe``
(stars_david.hpp); stars_cond_isa_helper.hpp.
"""

from __future__ import annotations

from chips.programs.isa import WORD_BYTES, CondError
from chips.programs.program import assemble

BLOCK_ALIGNMENT = 256
"""Bytes; a function-call block must start at a multiple (``FUNC_CALL_INSTR_ALIGN_SIZE``)."""

_CALL = """
        li      r1, $address
        li      r2, $words
        call    r1, r2
        nop
        nop
        nop
        nop
        nop
"""

_MAX_CALL_WORDS = (1 << 20) - 1  # the call takes bits 19..0 of its second register


def function_call(address: int, size_bytes: int) -> bytes:
    """Return the 12 words that call a block of ``size_bytes`` instructions at a 256-byte aligned ``address``.

    A misaligned address and a size that is no whole number of words, or too large, raise ``CondError``.
    """
    if address % BLOCK_ALIGNMENT:
        raise CondError(f"address = {address:#x}: a block must start at a multiple of {BLOCK_ALIGNMENT} bytes")
    words, rest = divmod(size_bytes, WORD_BYTES)
    if rest or not 0 < words <= _MAX_CALL_WORDS:
        raise CondError(f"size_bytes = {size_bytes}: a block has 1..{_MAX_CALL_WORDS} words of 4 bytes")
    return assemble(_CALL, address=address, words=words)


_FLOAT_STATUS = """
        ld.d    r1, [$pointer]
        llwi    r2, 0
        sd      r2, [r1]
""" + "".join(f"sd r0, [r1 + {offset}]\n" for offset in range(8, 64, 8))


def float_status(pointer: int) -> bytes:
    """Return the 12 words that clear the 64 bytes whose address is stored at ``pointer``."""
    return assemble(_FLOAT_STATUS, pointer=pointer)


_SCHEDULE_END = """
        li      r1, $snapshot
        sd      r0, [r1]
        li.low  r2, $sq
        goto.r  r0, r2
        nop
        nop
        nop
        nop
"""


def schedule_end(sq_id: int, snapshot: int) -> bytes:
    """Return the 12 words that clear the buffer snapshot at ``snapshot`` and put the head of queue ``sq_id`` to 0."""
    return assemble(_SCHEDULE_END, "v201", sq=sq_id, snapshot=snapshot)
