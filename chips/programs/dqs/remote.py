"""Steps around a copy to another chip: get a buffer there and aim the copy at it, then hand it over and free ours.

Sources: ``RtStarsDqsInterChipPreProcFc``, ``RtStarsDqsInterChipPostProcFc``.
"""

from __future__ import annotations

from chips.programs.dqs.fragments import (
    BLOCK_BITS,
    BLOCK_SHIFT,
    ERROR_SHIFT,
    HANDLE_BITS,
    OVERWRITE_DISABLED,
    PHYSICAL,
    QUEUE_DISABLED,
    low_half,
    trace,
)
from chips.programs.dqs.queues import OVERWRITE_DISABLED_STATUS, QUEUE_DISABLED_STATUS

_POOL_EMPTY = 4  # error code of an allocation word


def _aim(part: str) -> str:
    """Store the address of the buffer's head or data (block number in r4) into the copy SQE for it."""
    return f"""
        li.low  r3, ${part}_base
        ld      r3, [r3]
        li.low  r2, ${part}_block_size
        ld      r2, [r2]
{low_half("r2")}
        mul     r5, r2, r4
        add     r2, r5, r3
        li.low  r6, ${part}_copy
        sd      r2, [r6]
"""


def _release(register: str, value: str) -> str:
    """Write a handle to a register of the queue manager (physical address)."""
    return f"""
        csrrc   r0, axi_user, r4
        sw      {value}, [{register}]
        csrrs   r0, axi_user, r4
"""


BEFORE = f"""
        llwi    r6, {PHYSICAL:#x}
        li.low  r1, $allocator
        ld      r1, [r1]
        csrrc   r0, axi_user, r6
        ld      r1, [r1]
        csrrs   r0, axi_user, r6
        slli    r2, r1, 32
        srli    r2, r2, {ERROR_SHIFT}
        li.low  r6, {_POOL_EMPTY}
        setpc   r7, empty
        beq     r2, r6, empty
        setpc   r7, failed
        bne     r2, r0, failed
{trace("allocate", index="r0", handle="r1", spare=("r2", "r8", "r9", "r10"))}
        slli    r1, r1, 47
        srli    r1, r1, 47
        li.low  r2, $handle
        sw      r1, [r2]
        li.low  r3, {BLOCK_BITS:#x}
        and     r4, r1, r3
        srli    r4, r4, {BLOCK_SHIFT}
{_aim("head")}
{_aim("data")}
        setpc   r7, end
        beq     r0, r0, end
empty:  li.low  r8, $empty_trace
        ld      r8, [r8]
        li.low  r9, $notify
        ld      r9, [r9]
        li.low  r10, 1
        li.low  r5, {PHYSICAL:#x}
        csrrc   r0, axi_user, r5
        sw      r10, [r8]
        bia     r0, axi_user, r0        ; the trace must be there before the notify
        li.low  r6, 1
        sw      r6, [r9]
        ld      r6, [r8]
        ld      r7, [r9]
        csrrs   r0, axi_user, r5
failed: csrrw   r1, csq_status, r2
        error
end:    nop
"""

AFTER = f"""
        li.low  r4, {PHYSICAL:#x}
        li.low  r5, $overwrite
        ld      r5, [r5]
        csrrc   r0, axi_user, r4
        ld      r5, [r5]
        csrrs   r0, axi_user, r4
        slli    r1, r5, 32
        srli    r1, r1, {ERROR_SHIFT}
        li.low  r2, {QUEUE_DISABLED}
        li.low  r3, {OVERWRITE_DISABLED}
        setpc   r6, queue_off
        beq     r2, r1, queue_off
        setpc   r6, overwrite_off
        beq     r3, r1, overwrite_off
        setpc   r6, send
        bne     r0, r1, send
        li.low  r2, $remote_free        ; the queue was full: free what was pushed out
        ld      r2, [r2]
        li.low  r3, {HANDLE_BITS:#x}
        and     r3, r5, r3
{trace("overwrite", index="r0", handle="r3", spare=("r1", "r10", "r7", "r9"))}
{_release("r2", "r3")}
send:   li.low  r1, $remote_handle
        ld      r1, [r1]
        li.low  r2, $remote_queue
        ld      r2, [r2]
{trace("enqueue", index="r0", handle="r1", spare=("r3", "r8", "r9", "r10"))}
{_release("r2", "r1")}
        li.low  r3, $local_handle
        ld      r3, [r3]
        li.low  r1, $local_free
        ld      r1, [r1]
{trace("free", index="r0", handle="r3", spare=("r8", "r2", "r6", "r7"))}
{_release("r1", "r3")}
        setpc   r6, end
        beq     r0, r0, end
queue_off: li.low r2, {QUEUE_DISABLED_STATUS:#x}
        csrrw   r0, csq_status, r2
        error
overwrite_off: li.low r3, {OVERWRITE_DISABLED_STATUS:#x}
        csrrw   r0, csq_status, r3
        error
end:    nop
"""
