"""Pieces that the programs of data queue steps share: counters, traces, numbers.

Sources: ``MbufOpCntFc``, ``MbufOpDotInitFc``, ``DstMemValInitFc``, ``CondMbufTraceFc``
(cond_isa/v201 stars_cond_isa_struct.hpp, stars_cond_isa_mbuf_trace.hpp).
"""

from __future__ import annotations

from npuhal.records import dataclass, fields

PHYSICAL = 0x9_0000_0009
"""Bits of AXI_USER that choose virtual addresses on v201: cleared around accesses to registers of the queue manager."""

BLOCK_BITS, BLOCK_SHIFT = 0x1FC00, 10
"""Block number in a buffer handle: bits 16..10."""

HANDLE_BITS = 0x1FFFF
"""Pool and block number in a buffer handle: bits 16..0."""

INVALID_HANDLE = 0x20000
"""Handle of no buffer."""

ERROR_SHIFT = 61
"""Error code of a queue manager word (bits 31..29), after a shift to the top by 32."""

QUEUE_DISABLED, OVERWRITE_DISABLED = 2, 3
"""Error codes of a queue manager word."""

CACHED_HANDLES = 2
"""Buffers kept per input queue (MAX_CACHE_SIZE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Where a step notes what it did to a buffer, and what it notes.

    ``base``: table of trace areas by queue (64-bit addresses, 0 = no tracing); ``block_sizes``: table of the bytes per
    block (32 bits each); the offsets count from the start of a block's area.  ``queue_ids``: table of queue numbers
    (16 bits each); ``counter``: where the address of the system counter stands.
    """

    base: int
    block_sizes: int
    operation_offset: int
    operation: int
    owner_offset: int
    owner: int
    queue_ids: int
    queue_offset: int
    time_offset: int
    counter: int

    def values(self, name: str) -> dict[str, int]:
        """Return the program parameters of the trace called ``name``."""
        return {f"{name}_{field.name}": getattr(self, field.name) for field in fields(self)}


def clear(parameter: str, register: str) -> str:
    """Set the byte at ``parameter`` to 0; spoils ``register``."""
    return f"""
        li.low  {register}, ${parameter}
        sb      r0, [{register}]
"""


def put(parameter: str, register: str, value: str) -> str:
    """Store the low byte of register ``value`` at ``parameter``; spoils ``register``."""
    return f"""
        li.low  {register}, ${parameter}
        sb      {value}, [{register}]
"""


def count(parameter: str, register: str, other: str) -> str:
    """Add 1 to the byte at ``parameter``; spoils both registers."""
    return f"""
        li.low  {register}, ${parameter}
        ld      {other}, [{register}]
        addi    {other}, {other}, 1
        sb      {other}, [{register}]
"""


def low_half(register: str) -> str:
    """Keep bits 31..0 of a register."""
    return f"""
        slli    {register}, {register}, 32
        srli    {register}, {register}, 32
"""


def trace(name: str, *, index: str, handle: str, spare: tuple[str, str, str, str]) -> str:
    """Note operation, owner, queue and time of a buffer in the trace area of queue ``index``; spoils ``spare``."""
    block, b, area, d = spare
    return f"""
        li.low  {block}, {BLOCK_BITS:#x}
        and     {block}, {block}, {handle}
        srli    {block}, {block}, {BLOCK_SHIFT}
        li.low  {b}, 8
        mul     {b}, {b}, {index}
        li.low  {area}, ${name}_base
        add     {area}, {area}, {b}
        ld      {area}, [{area}]
        setpc   {d}, {name}_traced
        beq     {area}, r0, {name}_traced
        li.low  {d}, ${name}_block_sizes
        li.low  {b}, 4
        mul     {b}, {b}, {index}
        add     {d}, {d}, {b}
        ld      {d}, [{d}]
        mul     {d}, {block}, {d}
        add     {area}, {d}, {area}
        li.low  {d}, ${name}_operation_offset
        add     {d}, {area}, {d}
        li.low  {b}, ${name}_operation
        sb      {b}, [{d}]
        li.low  {d}, ${name}_owner_offset
        li.low  {b}, ${name}_owner
        add     {d}, {area}, {d}
        sw      {b}, [{d}]
        li.low  {b}, 4
        add     {d}, {d}, {b}
        sb      r0, [{d}]
        li.low  {d}, 2
        mul     {d}, {index}, {d}
        li.low  {b}, ${name}_queue_ids
        add     {b}, {b}, {d}
        li.low  {d}, ${name}_queue_offset
        add     {d}, {area}, {d}
        ld      {b}, [{b}]
        sh      {b}, [{d}]
        li.low  {b}, ${name}_time_offset
        add     {b}, {area}, {b}
        llwi    {block}, {PHYSICAL:#x}
        li.low  {d}, ${name}_counter
        ld      {d}, [{d}]
        csrrc   r0, axi_user, {block}
        ld      {d}, [{d}]
        csrrs   r0, axi_user, {block}
        sd      {d}, [{b}]
{name}_traced: nop
"""
