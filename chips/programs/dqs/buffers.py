"""Steps that prepare and pass on buffers: allocation, zero copy, condition copy, frame alignment, external queues.

Sources: ``RtStarsDqsPrepareOutFc``, ``RtStarsDqsZeroCopyFc``, ``RtStarsDqsConditionCopyFc``,
``RtStarsDqsFrameAlignFc``, ``RtStarsDqsFrameAlignForDssFc``, ``RtStarsDqsAdspcFc``.
"""

from __future__ import annotations

from chips.programs.dqs.fragments import (
    BLOCK_BITS,
    BLOCK_SHIFT,
    CACHED_HANDLES,
    ERROR_SHIFT,
    HANDLE_BITS,
    INVALID_HANDLE,
    QUEUE_DISABLED,
    clear,
    count,
    low_half,
    put,
    trace,
)

BAD_CONDITION_STATUS = 0x7A7B
"""Status a condition copy ends with when its condition is neither 0 nor 1."""

_HEAD_WORDS = 32  # 64-bit words of a buffer's head that a prepare step copies
_ALLOCATION_ERROR = 0xE000_0000  # bits 31..29 of an allocation word

PREPARE = f"""
{put("error_code", "r1", "r0")}
{clear("counted", "r9")}
        li.low  r1, $input_handle
        ld      r1, [r1]
        li.low  r2, {BLOCK_BITS:#x}
        and     r2, r1, r2
        srli    r2, r2, {BLOCK_SHIFT}
        li.low  r1, $input_block_size
        ld      r1, [r1]
{low_half("r1")}
        mul     r1, r1, r2
        li.low  r2, $input_base
        ld      r2, [r2]
        add     r1, r1, r2              ; r1 = head of the input buffer
        mv      r2, r0
        addi    r3, r0, $output_count
round:  li.low  r4, $allocators
        slli    r5, r2, 3
        add     r4, r4, r5
        ld      r4, [r4]
        ld      r4, [r4]
        li.low  r5, {_ALLOCATION_ERROR:#x}
        and     r5, r4, r5
        li.low  r6, $dfx_result
        sw      r5, [r6]
        li.low  r6, $dfx_pool
        sw      r2, [r6]
        setpc   r6, failed
        bne     r5, r0, failed
        li.low  r5, {HANDLE_BITS:#x}
        and     r4, r4, r5
        li.low  r5, $output_handles
        slli    r6, r2, 2
        add     r5, r5, r6
        sw      r4, [r5]
{count("counted", "r9", "r10")}
{trace("allocate", index="r2", handle="r4", spare=("r5", "r9", "r7", "r8"))}
        li.low  r5, $output_block_sizes
        slli    r8, r2, 2
        add     r5, r5, r8
        ld      r5, [r5]
{low_half("r5")}
        li.low  r7, $output_bases
        slli    r6, r6, 1
        add     r7, r7, r6
        ld      r7, [r7]
        li.low  r8, {BLOCK_BITS:#x}
        and     r4, r4, r8
        srli    r4, r4, {BLOCK_SHIFT}
        mul     r4, r4, r5
        add     r4, r4, r7              ; r4 = head of the output buffer
        mv      r5, r0
        addi    r6, r0, {_HEAD_WORDS}
        add     r7, r0, r1
copy:   ld      r8, [r7]
        sd      r8, [r4]
        addi    r4, r4, 8
        addi    r7, r7, 8
        addi    r5, r5, 1
        setpc   r8, copy
        bltu    r5, r6, copy
        addi    r2, r2, 1
        setpc   r8, round
        bltu    r2, r3, round
        setpc   r8, end
        beq     r0, r0, end
failed: nop
        srli    r5, r5, 29
{put("error_code", "r8", "r5")}
        error
end:    nop
"""

_ZERO_COPY = f"""
        li.low  r1, $block_size
        ld      r1, [r1]
{low_half("r1")}
        li.low  r2, $handle
        ld      r2, [r2]
{low_half("r2")}
        li.low  r3, {INVALID_HANDLE:#x}
        setpc   r7, end
        bgeu    r2, r3, end
        li.low  r3, {BLOCK_BITS:#x}
        and     r4, r2, r3
        srli    r4, r4, {BLOCK_SHIFT}
        mul     r3, r1, r4
        li.low  r4, $base
        ld      r4, [r4]
        add     r1, r3, r4              ; r1 = start of the buffer
        li.low  r5, $count
        add     r6, r0, r0
        setpc   r7, check
        beq     r0, r0, check
round:  slli    r8, r6, 3
        li.low  r2, $offsets
        add     r2, r2, r8
        ld      r2, [r2]
        li.low  r3, $destinations
        add     r3, r3, r8
        ld      r3, [r3]
        add     r4, r2, r1
        sw      r4, [r3 + {{low}}]
        srli    r4, r4, 32
        sw      r4, [r3 + {{high}}]
        addi    r6, r6, 1
check:  setpc   r7, round
        bltu    r6, r5, round
end:    nop
"""

ZERO_COPY = _ZERO_COPY.format(low=0, high=4)
ZERO_COPY_HIGH_FIRST = _ZERO_COPY.format(low=4, high=0)
"""Patch the address of the buffer plus an offset into ``count`` words: low half first, or high half first."""

CONDITION_COPY = f"""
        li.low  r1, $condition
        ld      r2, [r1]
        setpc   r6, end
        beq     r2, r0, end
        setpc   r6, bad
        li.low  r4, 1
        bne     r2, r4, bad
        li.low  r2, $count
        add     r3, r0, r0
        setpc   r6, check
        beq     r0, r0, check
round:  li.low  r4, $sources
        slli    r5, r3, 3
        add     r4, r4, r5
        ld      r4, [r4]
        li.low  r6, $destinations
        add     r6, r6, r5
        sd      r4, [r6]
        addi    r3, r3, 1
check:  setpc   r6, round
        bltu    r3, r2, round
        sd      r0, [r1]
        setpc   r6, end
        beq     r0, r0, end
bad:    li.low  r7, {BAD_CONDITION_STATUS:#x}
        csrrw   r1, csq_status, r7
        error
end:    nop
"""

_CACHE_COUNT = """
        li.low  r5, $count_offset
        add     r5, r2, r5
        ld      r6, [r5]
        slli    r6, r6, 48
        srli    r6, r6, 48
"""

FRAME_ALIGN = f"""
        li.low  r2, $caches
        li.low  r3, $queue_count
        li.low  r4, 0
check:  {_CACHE_COUNT}
        setpc   r8, again
        beq     r6, r0, again           ; a queue has nothing: run the pipeline from its start
        addi    r2, r2, $cache_bytes
        addi    r4, r4, 1
        setpc   r8, check
        bltu    r4, r3, check
        li.low  r1, $handles
        li.low  r2, $caches
        li.low  r4, 0
take:   {_CACHE_COUNT}
        li.low  r7, 1
        setpc   r8, older
        bne     r6, r7, older
        ld      r9, [r2]
        setpc   r8, store
        beq     r0, r0, store
older:  ld      r9, [r2 + 4]
store:  sw      r9, [r1]
        sub     r6, r6, r7
        sh      r6, [r5]
        addi    r1, r1, 4
        addi    r2, r2, $cache_bytes
        addi    r4, r4, 1
        setpc   r8, take
        bltu    r4, r3, take
        setpc   r8, end
        beq     r0, r0, end
again:  li.low  r1, $sq
        goto.r  r0, r1
end:    nop
"""

FRAME_ALIGN_DELAYED = f"""
        li.low  r1, $handles
        li.low  r2, $caches
        li.low  r3, $queue_count
        li.low  r4, 0
round:  {_CACHE_COUNT}
        setpc   r7, next
        beq     r6, r0, next
        ld      r8, [r2]
        sw      r8, [r1]
        li.low  r9, {CACHED_HANDLES}
        setpc   r7, less
        bne     r6, r9, less
        ld      r8, [r2 + 4]
        sw      r8, [r2]
less:   li.low  r9, 1
        sub     r6, r6, r9
        sh      r6, [r5]
next:   addi    r1, r1, 4
        addi    r2, r2, $cache_bytes
        addi    r4, r4, 1
        setpc   r7, round
        bltu    r4, r3, round
        nop
"""

ADSPC = f"""
        li.low  r1, $cq_head
        ld      r2, [r1]
        andi    r2, r2, $position_mask
        li.low  r3, $cq_tail
        ld      r3, [r3]
        andi    r3, r3, $position_mask
        li.low  r8, $dfx
        sw      r2, [r8]
        sw      r3, [r8 + 4]
        setpc   r4, failed
        beq     r2, r3, failed
        li.low  r3, $cqe_base
        li.low  r4, $cqe_bytes
        mul     r4, r2, r4
        add     r3, r3, r4
        mv      r4, r0
        addi    r5, r0, $cqe_bytes
        li.low  r6, $cqe_copy
copy:   ld      r7, [r3]
        sd      r7, [r6]
        addi    r3, r3, 8
        addi    r6, r6, 8
        addi    r4, r4, 8
        setpc   r7, copy
        bltu    r4, r5, copy
        addi    r2, r2, 1
        andi    r2, r2, $position_mask
        sd      r2, [r1]
        li.low  r1, $overwrite
        ld      r1, [r1]
        sw      r1, [r8 + 8]
        slli    r2, r1, 32
        srli    r2, r2, {ERROR_SHIFT}
        li.low  r3, {QUEUE_DISABLED}
        setpc   r4, failed
        beq     r2, r3, failed
        setpc   r7, send
        bne     r0, r2, send
        li.low  r3, $free_register
        li.low  r4, {HANDLE_BITS:#x}
        and     r4, r1, r4
        sw      r4, [r3]
send:   li.low  r5, $handle
        li.low  r6, $enqueue_register
        sw      r5, [r6]
        setpc   r7, end
        beq     r0, r0, end
failed: error
end:    nop
"""
