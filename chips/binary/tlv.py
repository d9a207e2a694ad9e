"""Meta data records of device ELFs: runs of units (TLVs), and the two records that speak for a whole binary.

A unit is ``u16 type, u16 length, value`` in the file's byte order. The vendor's runtime reads on while more than four
bytes remain, stops without complaint at a length that leads out of the record, and skips types it does not know; so
does this reader, but it notes what it saw. Sources: core_spec 12.2; elf.hpp of the runtime (TLV types).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from chips.binary.notes import Notes

__all__ = [
    "BinaryTlv",
    "FunctionTlv",
    "MetaFlag",
    "binary_tlvs",
    "function_tlvs",
    "meta_flags",
    "stack_record",
    "units",
]

STACK_SIZES: Final = (16384, 32768)
_VERSION_SIZE: Final = 4


class FunctionTlv(IntEnum):
    """Types of the units in ``.ascend.meta.<kernel>``."""

    KERNEL_TYPE = 1
    CROSS_CORE_SYNC = 2
    MIX_TASK_RATION = 3
    DFX_TYPE = 4
    DFX_ARG_INFO = 5
    L0_EXCEPTION_DFX_IS_TIK = 6
    COMPILER_ALLOC_UB_SIZE = 7
    SU_STACK_SIZE = 8
    SIMT_WARP_STACK_SIZE = 9
    DVG_WARP_STACK_SIZE = 10
    EARLY_START_ENABLE = 11
    AIV_TYPE_FLAG = 12
    DETERMINISTIC_INFO = 13
    FUNCTION_ENTRY_INFO = 14
    BLOCK_DIM_INFO = 15
    PARAM_SUMMARY = 16
    PARAM_INFO = 17
    SCHED_MODE_INFO = 18


class BinaryTlv(IntEnum):
    """Types of the units in ``.ascend.meta``, one set for each kernel."""

    BIN_VERSION = 0
    DEBUG_INFO = 1
    DYNAMIC_PARAM = 2
    OPTIONAL_PARAM = 3
    RUNTIME_IMPLICIT_INFO = 4
    SK_INFO = 5


class MetaFlag(IntEnum):
    """Bits of a binary's meta flags: what the binary brings along or wants from the runtime."""

    PRINT_FIFO = 0
    FFTS_ADDRESS = 1
    L2_CACHE_HINT = 2
    SIMT_PRINT_FIFO = 3
    ASSERT = 4


def units(record: memoryview, order: str, part: str, notes: Notes) -> Iterator[tuple[int, int, int]]:
    """Iterate over the units of a record as (type, start of the value, length); ``part`` names it in ``notes``."""
    position, end = 0, len(record)
    head = struct.Struct(order + "HH")
    while end - position > 4:
        kind, length = head.unpack_from(record, position)
        if position + 4 + length > end:
            notes.add(f"{part}: unit type {kind} at {position} has {length} bytes, past the end; the rest is lost")
            return
        yield kind, position + 4, length
        position += 4 + length


def binary_tlvs(record: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Iterate over the units of ``.ascend.meta`` as (type, value), also where older compilers padded.

    Compilers before CANN 9.0.0 end each kernel's set of units with two bytes that belong to no unit, which the
    vendor's runtime takes for the start of one; here they are passed over.
    """
    position, end = 0, len(record)
    padded_version = struct.pack(order + "HHH", 0, BinaryTlv.BIN_VERSION, _VERSION_SIZE)
    while end - position > 4:
        if record[position : position + 6] == padded_version:
            position += 2
        kind, length = struct.unpack_from(order + "HH", record, position)
        if position + 4 + length > end:
            return
        yield kind, record[position + 4 : position + 4 + length]
        position += 4 + length


def function_tlvs(record: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Iterate over the units of ``.ascend.meta.<kernel>`` as (type, value)."""
    return ((kind, record[start : start + length]) for kind, start, length in units(record, order, "", Notes()))


def meta_flags(record: memoryview, order: str, notes: Notes) -> int:
    """Return the meta flags of a binary (bits: MetaFlag) as registration computes them."""
    misled = Notes()
    flags = seen = 0
    for kind, start, length in units(record, order, ".ascend.meta", misled):
        seen += kind == BinaryTlv.BIN_VERSION and length == _VERSION_SIZE
        if kind == BinaryTlv.RUNTIME_IMPLICIT_INFO and start + 4 <= len(record):
            flags |= _flag(struct.unpack_from(order + "I", record, start)[0], misled)
    stated = kernels = 0
    for kind, value in binary_tlvs(record, order):
        kernels += kind == BinaryTlv.BIN_VERSION
        if kind == BinaryTlv.RUNTIME_IMPLICIT_INFO and len(value) >= 4:
            stated |= _flag(struct.unpack_from(order + "I", value)[0], Notes())
    if seen < kernels:
        flagged = f", flags {flags:#x} instead of {stated:#x}" if flags != stated else ""
        notes.add(f".ascend.meta has an older compiler's padding: only {seen} of {kernels} kernels are seen{flagged}")
    else:
        for text in misled.texts():
            notes.add(text)
    return flags


def stack_record(record: memoryview, order: str, notes: Notes) -> int:
    """Return the stack size in bytes that ``.ascend.stack.size.record`` states for every kernel, or 0 with a note."""
    part = ".ascend.stack.size.record"
    if not len(record) or len(record) % 8:
        notes.add(f"{part}: {len(record)} bytes are no whole number of 64-bit words; the record is ignored")
        return 0
    first = bytes(record[:8])
    size: int = struct.unpack(order + "Q", first)[0]
    if size not in STACK_SIZES:
        notes.add(f"{part}: a stack of {size} bytes is neither {STACK_SIZES[0]} nor {STACK_SIZES[1]}; it is ignored")
        return 0
    if record != first * (len(record) // 8):
        notes.add(f"{part}: the kernels ask for different stacks; the record is ignored")
        return 0
    return size


def _flag(value: int, notes: Notes) -> int:
    if 1 <= value <= 32:
        return 1 << (value - 1)
    if value:  # 0 is what most binaries say: nothing implicit
        notes.add(f".ascend.meta: implicit information {value} is none of 1..32; it is ignored")
    return 0
