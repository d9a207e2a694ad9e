"""What the meta data of one kernel symbol says, with the rules its values must keep (core_spec 12.2)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from chips.binary.arguments import Argument, count_arguments, list_arguments
from chips.binary.errors import MalformedMeta
from chips.binary.notes import Notes
from chips.binary.tlv import FunctionTlv, units
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["DEFAULT_STACK_LIMIT", "EntryType", "FuncType", "KernelMeta", "Parameter", "no_meta", "read_kernel_meta"]

DEFAULT_STACK_LIMIT: Final = 32768
"""Bytes of core stack a process has unless it configured more (StackSizeConfig of the runtime)."""

DEFAULT_USER_ARGS: Final = 128
_EMPTY: Final = memoryview(b"")


class FuncType(IntEnum):
    """Kernel type as the compiler wrote it; NONE when it wrote none."""

    NONE = 0
    AICORE = 1
    AIC = 2
    AIV = 3
    MIX_AIC_MAIN = 4
    MIX_AIV_MAIN = 5
    AIC_ROLLBACK = 6
    AIV_ROLLBACK = 7


class EntryType(IntEnum):
    """Where the key of a kernel comes from: its name, its FUNCTION_ENTRY_INFO, or nowhere (it has none)."""

    FROM_NAME = 0
    FROM_META = 1
    NONE = 2


class Parameter(NamedTuple):
    """PARAM_INFO: one parameter in the argument buffer, ``offset`` and ``size`` in bytes."""

    number: int
    ordinal: int
    offset: int
    size: int
    alignment: int
    type: int
    space_index: int
    space_type: int
    space: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelMeta:
    """What the meta record of one kernel symbol says; ``no_meta`` gives the values for a symbol without a record.

    ``ratio`` is the number of vector blocks per cube block as the task carries it (0 for a single core kind),
    ``share_memory`` and ``min_stack`` are bytes, ``vector_function`` is AIV_TYPE_FLAG (1 scalar only, 2 SIMD, 3 SIMT,
    4 both; 0 when absent), ``size`` is the length of the whole record.
    """

    ratio: int
    func_type: int = FuncType.NONE
    cross_core_sync: bool = False
    user_args: int = DEFAULT_USER_ARGS
    share_memory: int = 0
    min_stack: int = 0
    early_start: bool = False
    vector_function: int = 0
    entry: int = 0
    entry_type: EntryType = EntryType.FROM_NAME
    sched_mode: int = 0
    parameters: tuple[Parameter, ...] = ()
    size: int = 0
    dfx: memoryview = _EMPTY

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments the compiler listed, in order; empty when it listed none."""
        return list_arguments(bytes(self.dfx))


_RATIOS: Final = {(1, 2): 2, (2, 1): 2, (1, 1): 1, (1, 0): 0, (0, 1): 0}
_NO_RATIO: Final = (0, 0)
_PARAMETER: Final = "IIIIHHIIII"
_ENTRY_SIZE: Final = 12
_SUMMARY_SIZE: Final = 12
_ENTRY_KEY: Final = 0x00
_ENTRY_UNSUPPORTED: Final = 0x80
_SCHED_MODES: Final = 2


def no_meta(chip: Chip) -> KernelMeta:
    """Return what holds for a kernel symbol without a meta record."""
    return KernelMeta(ratio=chip.prop("defaultTaskRatio"))


def read_kernel_meta(
    record: memoryview, order: str, chip: Chip, part: str, notes: Notes, stack_limit: int = DEFAULT_STACK_LIMIT
) -> KernelMeta:
    """Read the record of one kernel symbol.

    ``order`` is the struct byte order, ``part`` names the record in messages, oddities are added to ``notes``.
    Values a chip has no use for (ratio, scalar stack) are not even checked there. Raises MalformedMeta.
    """
    values = _Values(record, order, part, notes)
    ratio, min_stack, (entry_type, entry) = chip.prop("defaultTaskRatio"), 0, (EntryType.FROM_NAME, 0)
    listed: list[tuple[int, int]] = []
    parameter_count: int | None = None
    dfx = record[:0]
    numbers: dict[int, int] = {}
    for kind, start, length in units(record, order, part, notes):
        if kind in _PLAIN_NUMBERS:
            numbers[kind] = values.u32(kind, start, length)
        elif kind == FunctionTlv.MIX_TASK_RATION and chip.has("KERNEL_TASK_RATION"):
            ratio = values.ratio(start, length, chip.prop("defaultTaskRatio"))
        elif kind == FunctionTlv.DFX_TYPE:
            dfx = record[start : start + length]
        elif kind == FunctionTlv.SU_STACK_SIZE and chip.has("KERNEL_META_TYPE_SU_STACK_SIZE"):
            min_stack = values.stack(start, length, stack_limit)
        elif kind == FunctionTlv.FUNCTION_ENTRY_INFO:
            entry_type, entry = values.entry(start, length)
        elif kind == FunctionTlv.PARAM_SUMMARY:
            (parameter_count,) = values.fields("I", kind, start, length, _SUMMARY_SIZE)
        elif kind == FunctionTlv.PARAM_INFO:
            listed.append((start, length))
    sched_mode = numbers.get(FunctionTlv.SCHED_MODE_INFO, 0)
    if sched_mode >= _SCHED_MODES:
        raise MalformedMeta(f"the schedule mode in {part}", sched_mode, "it is 0 (normal) or 1 (batch)")
    vector_function = numbers.get(FunctionTlv.AIV_TYPE_FLAG, 0)
    return KernelMeta(
        func_type=numbers.get(FunctionTlv.KERNEL_TYPE, FuncType.NONE),
        cross_core_sync=numbers.get(FunctionTlv.CROSS_CORE_SYNC) == 1,
        ratio=ratio,
        user_args=count_arguments(dfx, part, notes),
        share_memory=numbers.get(FunctionTlv.COMPILER_ALLOC_UB_SIZE, 0) if vector_function else 0,
        min_stack=min_stack,
        early_start=numbers.get(FunctionTlv.EARLY_START_ENABLE) == 1,
        vector_function=vector_function,
        entry=entry,
        entry_type=entry_type,
        sched_mode=sched_mode,
        parameters=_parameters(values, listed, parameter_count),
        size=len(record),
        dfx=dfx,
    )


_PLAIN_NUMBERS: Final = frozenset(
    {
        FunctionTlv.KERNEL_TYPE,
        FunctionTlv.CROSS_CORE_SYNC,
        FunctionTlv.COMPILER_ALLOC_UB_SIZE,
        FunctionTlv.EARLY_START_ENABLE,
        FunctionTlv.AIV_TYPE_FLAG,
        FunctionTlv.SCHED_MODE_INFO,
    }
)


class _Values:
    """Reads the values of one record's units, as far as the record reaches."""

    __slots__ = ("notes", "order", "part", "record")

    def __init__(self, record: memoryview, order: str, part: str, notes: Notes) -> None:
        self.record = record
        self.order = order
        self.part = part
        self.notes = notes

    def fields(self, layout: str, kind: int, start: int, length: int, size: int = 0) -> tuple[int, ...]:
        # The vendor's runtime reads a value at its full width whatever length the unit states.
        layout = self.order + layout
        needed = max(size, struct.calcsize(layout))
        if start + struct.calcsize(layout) > len(self.record):
            rule = f"unit type {kind} needs {needed} bytes, the record ends first"
            raise MalformedMeta(f"the length of unit type {kind} in {self.part}", length, rule)
        if length < needed:
            self.notes.add(f"{self.part}: unit type {kind} has {length} bytes instead of {needed}")
        return struct.unpack_from(layout, self.record, start)

    def u32(self, kind: int, start: int, length: int) -> int:
        return self.fields("I", kind, start, length)[0]

    def ratio(self, start: int, length: int, default: int) -> int:
        cube, vector = self.fields("HH", FunctionTlv.MIX_TASK_RATION, start, length)
        if (cube, vector) == _NO_RATIO:
            return default
        if (cube, vector) in _RATIOS:
            return _RATIOS[cube, vector]
        rule = "cube:vector is 0:0 or one of " + ", ".join(f"{c}:{v}" for c, v in _RATIOS)
        raise MalformedMeta(f"the mix ratio in {self.part}", f"{cube}:{vector}", rule)

    def stack(self, start: int, length: int, limit: int) -> int:
        if length > 8:
            raise MalformedMeta(f"the length of the stack size in {self.part}", length, "it has at most 8 bytes")
        value = self.record[start : start + length]
        size = int.from_bytes(value, "big" if self.order == ">" else "little")
        if size > limit:
            rule = f"the process allows {limit} bytes of core stack"
            raise MalformedMeta(f"the minimum stack in {self.part}", size, rule, "configure a larger one first")
        return size

    def entry(self, start: int, length: int) -> tuple[EntryType, int]:
        flag, entry = self.fields("BxxxQ", FunctionTlv.FUNCTION_ENTRY_INFO, start, length, _ENTRY_SIZE)
        if flag == _ENTRY_KEY:
            return EntryType.FROM_META, entry
        if flag == _ENTRY_UNSUPPORTED:
            return EntryType.NONE, 0
        rule = f"it is 0 (the entry is the key) or {_ENTRY_UNSUPPORTED:#x} (no key)"
        raise MalformedMeta(f"the function entry flag in {self.part}", flag, rule)


def _parameters(values: _Values, listed: list[tuple[int, int]], count: int | None) -> tuple[Parameter, ...]:
    """Return the parameters by ordinal. Without a summary their units are passed over, whatever they hold."""
    if count is None:
        if listed:
            values.notes.add(f"{values.part}: {len(listed)} parameters without a summary, passed over")
        return ()
    found = [
        Parameter._make(values.fields(_PARAMETER, FunctionTlv.PARAM_INFO, start, length)[:-1])
        for start, length in listed
    ]
    if len(found) != count:
        rule = f"the record holds {len(found)} parameters"
        raise MalformedMeta(f"the parameter count in {values.part}", count, rule)
    placed = {parameter.ordinal: parameter for parameter in found}
    for ordinal in placed:
        if ordinal >= count:
            rule = f"it must be below the count, {count}"
            raise MalformedMeta(f"a parameter ordinal in {values.part}", ordinal, rule)
    return tuple(placed[ordinal] for ordinal in sorted(placed))
