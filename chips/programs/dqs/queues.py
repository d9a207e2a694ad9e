"""Steps that move buffers between queues: dequeue (one queue, or all that have something), enqueue, free.

Sources: ``RtStarsDqsDequeueFc``, ``RtStarsDqsBatchDequeueFc``, ``RtStarsDqsEnqueueFc``, ``RtStarsDqsMbufFreeFc``.
"""

from __future__ import annotations

from chips.programs.dqs.fragments import (
    CACHED_HANDLES,
    ERROR_SHIFT,
    HANDLE_BITS,
    INVALID_HANDLE,
    OVERWRITE_DISABLED,
    PHYSICAL,
    QUEUE_DISABLED,
    clear,
    count,
    low_half,
    trace,
)

QUEUE_EMPTY_STATUS, BUFFER_INVALID_STATUS = 0x5A5A, 0x5B5B
"""Status a dequeue ends with when its queue is empty or gives no valid buffer."""

QUEUE_DISABLED_STATUS, OVERWRITE_DISABLED_STATUS = 0x6A6A, 0x6B6B
"""Status an enqueue ends with when the queue manager refuses."""

_POP = 0b000101  # command word of the queue instruction
_DELAYED_FREE = 3  # scheduling type that frees the buffer of the round before (RT_DQS_SCHED_TYPE_DSS)

DEQUEUE = f"""
{clear("counted", "r4")}
        li.low  r1, {_POP}
        li.low  r2, $queue
        li.low  r8, $handle
        ld      r3, [r2]
        gqm     r6, r1, r3              ; r6 = status, r7 = handle
        li.low  r3, $dfx
        sw      r6, [r3]
        slli    r6, r6, 56
        setpc   r5, empty
        bne     r0, r6, empty
        sw      r7, [r3 + 4]
        setpc   r5, invalid
        srli    r9, r7, 17
        bne     r0, r9, invalid
        sw      r7, [r8]
{count("counted", "r4", "r5")}
{trace("dequeue", index="r0", handle="r7", spare=("r3", "r5", "r9", "r10"))}
        setpc   r5, end
        beq     r0, r0, end
empty:  llwi    r4, {QUEUE_EMPTY_STATUS:#x}
        csrrw   r1, csq_status, r4
        error
invalid: llwi   r4, {BUFFER_INVALID_STATUS:#x}
        csrrw   r1, csq_status, r4
        error
end:    nop
"""

BATCH_DEQUEUE = f"""
{clear("counted", "r1")}
        li.low  r2, $queues
        li.low  r3, $caches
        li.low  r4, $free_registers
        li.low  r7, 0
round:  li.low  r1, {PHYSICAL:#x}
        li.low  r8, {_POP}
        li.low  r5, $ready
        ld      r5, [r5]
{low_half("r5")}
        li.low  r6, $queue_count
        li.low  r10, 1
        sll     r10, r10, r7
        and     r10, r10, r5
        setpc   r9, next
        beq     r10, r0, next           ; nothing in this queue
        li.low  r9, $ready_clear
        sw      r10, [r9]
        ld      r10, [r2]
        gqm     r5, r8, r10             ; r5 = status, r6 = handle
        li.low  r10, $dfx
        sw      r5, [r10]
        slli    r5, r5, 56
        setpc   r9, refused
        bne     r0, r5, refused
        sw      r6, [r10 + 4]
        setpc   r9, invalid
        srli    r9, r6, 17
        bne     r0, r9, invalid
{count("counted", "r1", "r5")}
{trace("dequeue", index="r7", handle="r6", spare=("r1", "r5", "r8", "r9"))}
        mv      r10, r3
        li.low  r5, $count_offset
        add     r5, r5, r10
        ld      r5, [r5]
        slli    r5, r5, 48
        srli    r5, r5, 48
        setpc   r1, store
        beq     r5, r0, store
        ld      r1, [r10]               ; newest to the second position, the one there falls out
{low_half("r1")}
        addi    r9, r10, 4
        ld      r8, [r9]
{low_half("r8")}
        sw      r1, [r9]
        li.low  r9, {CACHED_HANDLES}
        setpc   r1, store
        bne     r5, r9, store
        sw      r6, [r10]
        setpc   r1, release
        beq     r0, r0, release
store:  li.low  r1, $count_offset
        add     r1, r1, r10
        addi    r5, r5, 1
        sh      r5, [r1]
        sw      r6, [r10]
        setpc   r9, next
        beq     r0, r0, next
release: nop
{trace("free", index="r7", handle="r8", spare=("r1", "r5", "r6", "r9"))}
        ld      r5, [r4]
        li.low  r1, {PHYSICAL:#x}
        csrrc   r0, axi_user, r1
        sw      r8, [r5]
        csrrs   r0, axi_user, r1
next:   addi    r2, r2, 8
        addi    r3, r3, $cache_bytes
        addi    r4, r4, 8
        addi    r7, r7, 1
        li.low  r6, $queue_count
        setpc   r1, round
        bltu    r7, r6, round
        setpc   r9, end
        beq     r0, r0, end
refused: csrrw  r0, csq_status, r5
        error
invalid: csrrw  r0, csq_status, r9
        ld      r5, [r4]
        li.low  r1, {PHYSICAL:#x}
        csrrc   r0, axi_user, r1
        sw      r8, [r4]
        csrrs   r0, axi_user, r1
        error
end:    nop
"""

# The trace of an overwritten buffer spoils r7, the free register's address, before the handle is stored through it; the
# reference's program does the same, and the chip runs what it is given, so the order stays.
ENQUEUE = f"""
{clear("counted_before", "r1")}
{clear("counted_after", "r1")}
        andi    r10, r0, 0
        li.low  r1, $overwrites
        li.low  r2, $handles
        li.low  r3, $enqueue_registers
        li.low  r9, $free_registers
round:  ld      r5, [r1]
        ld      r5, [r5]
        slli    r6, r5, 32
        srli    r6, r6, {ERROR_SHIFT}
        li.low  r7, {QUEUE_DISABLED}
        setpc   r8, queue_off
        beq     r7, r6, queue_off
        li.low  r8, {OVERWRITE_DISABLED}
        setpc   r7, overwrite_off
        beq     r8, r6, overwrite_off
        setpc   r7, send
        bne     r0, r6, send
        ld      r7, [r9]                ; the queue was full: free what was pushed out
        li.low  r8, {HANDLE_BITS:#x}
        and     r8, r5, r8
{trace("overwrite", index="r10", handle="r8", spare=("r4", "r5", "r6", "r7"))}
        li.low  r5, {PHYSICAL:#x}
        csrrc   r0, axi_user, r5
        sw      r8, [r7]
        csrrs   r0, axi_user, r5
send:   ld      r6, [r2]
        slli    r5, r6, 32
        srli    r5, r5, 32
{trace("enqueue", index="r10", handle="r5", spare=("r4", "r6", "r7", "r8"))}
        ld      r7, [r3]
{count("counted_before", "r4", "r6")}
        sw      r5, [r7]
{count("counted_after", "r5", "r7")}
        addi    r1, r1, 8
        addi    r2, r2, 4
        addi    r3, r3, 8
        addi    r9, r9, 8
        addi    r10, r10, 1
        li.low  r4, $queue_count
        setpc   r8, round
        blt     r10, r4, round
        setpc   r6, end
        beq     r0, r0, end
queue_off: li.low r7, {QUEUE_DISABLED_STATUS:#x}
        csrrw   r0, csq_status, r7
        error
overwrite_off: li.low r8, {OVERWRITE_DISABLED_STATUS:#x}
        csrrw   r0, csq_status, r8
        error
end:    nop
"""

FREE = f"""
{clear("counted_before", "r1")}
{clear("counted_after", "r1")}
        li.low  r8, {PHYSICAL:#x}
        andi    r6, r0, 0
        li.low  r1, $free_registers
        li.low  r2, $handles
round:  ld      r4, [r2]
{low_half("r4")}
        li.low  r9, $schedule
        li.low  r10, {_DELAYED_FREE}
        setpc   r7, release
        bne     r9, r10, release
        li.low  r5, {INVALID_HANDLE:#x}
        setpc   r7, next
        bgeu    r4, r5, next
        li.low  r9, $last_handles
        li.low  r10, $cache_bytes
        mul     r10, r10, r6
        add     r10, r9, r10
        ld      r9, [r10]
{low_half("r9")}
        sw      r4, [r10]
        sw      r5, [r2]
        mv      r4, r9
        setpc   r7, next
        bgeu    r9, r5, next
release: ld     r5, [r1]
{trace("free", index="r6", handle="r4", spare=("r3", "r7", "r9", "r10"))}
{count("counted_before", "r10", "r9")}
        csrrc   r0, axi_user, r8
        sw      r4, [r5]
        csrrs   r0, axi_user, r8
{count("counted_after", "r10", "r9")}
next:   addi    r2, r2, 4
        addi    r1, r1, 8
        addi    r6, r6, 1
        li.low  r3, $queue_count
        setpc   r7, round
        blt     r6, r3, round
        nop
"""
