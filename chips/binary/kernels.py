"""Kernels out of symbols: names and keys, what kind each is, and how two symbols become one mix kernel.

Rules: core_spec 12.3 and 12.4. A kernel that uses both cores has one symbol per core, ``..._mix_aic`` and
``..._mix_aiv``; registration makes them one kernel whose first entry is the cube (AIC) one.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Final

from chips.binary.errors import RegistrationConflict
from chips.binary.meta import EntryType, FuncType, KernelMeta
from chips.binary.notes import Notes
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = [
    "Kernel",
    "KernelAttribute",
    "KernelSymbol",
    "Magic",
    "MixType",
    "has_separate_cores",
    "key_of_name",
    "merge",
    "plain_name",
]


class KernelAttribute(IntEnum):
    """The core kind a kernel runs on (the runtime's kernel attribute type)."""

    AICORE = 0
    CUBE = 1
    VECTOR = 2
    MIX = 3
    AICPU = 100


class Magic(Enum):
    """Binary magics of an ELF (RT_DEV_BINARY_MAGIC_*): what its kernels are when nothing else says it."""

    ELF = 0x43554245
    ELF_AICPU = 0x41415243
    ELF_AIVEC = 0x41415246
    ELF_AICUBE = 0x41494343

    def attribute(self, chip: Chip) -> KernelAttribute:
        """Return the kind that a kernel without further information has on a chip."""
        if self is Magic.ELF:
            return KernelAttribute.MIX if has_separate_cores(chip) else KernelAttribute.AICORE
        return _BY_MAGIC[self]


class MixType(IntEnum):
    """How a kernel uses the cube (AIC) and vector (AIV) cores: alone, as a half, or both with one in the lead."""

    NONE = 0
    AIC = 1
    AIV = 2
    MAIN_AIC = 3
    MAIN_AIV = 4


class KernelSymbol(NamedTuple):
    """A kernel symbol: ``offset`` in bytes from the start of the load image, ``length`` in bytes."""

    name: str
    offset: int
    length: int
    meta: KernelMeta


_SUFFIXES: Final = (("_mix_aic", MixType.AIC), ("_mix_aiv", MixType.AIV))
_BY_SUFFIX: Final = {MixType.AIC: KernelAttribute.CUBE, MixType.AIV: KernelAttribute.VECTOR}
_BY_MAGIC: Final = {
    Magic.ELF_AICPU: KernelAttribute.AICPU,
    Magic.ELF_AIVEC: KernelAttribute.VECTOR,
    Magic.ELF_AICUBE: KernelAttribute.CUBE,
}
_MAX_KEY: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Kernel:
    """A registered kernel.

    ``key`` is the tiling key (function entry); a kernel with ``in_table`` False cannot be found by it, only by name.
    ``system_args`` counts the arguments the runtime appends itself, the FFTS address among them when ``ffts_arg``.
    ``first`` is the only symbol, or the cube one of a mix pair whose vector symbol is ``second``; ``described_by`` is
    the meta data of the symbol that came first in the file, which decides on arguments and ratio.
    """

    name: str
    key: int
    attribute: KernelAttribute
    mix: MixType
    first: KernelSymbol
    second: KernelSymbol | None
    described_by: KernelMeta
    system_args: int
    ffts_arg: bool
    in_table: bool

    @property
    def offset1(self) -> int:
        """Offset of the first entry in the load image, bytes."""
        return self.first.offset

    @property
    def offset2(self) -> int:
        """Offset of the vector entry of a mix pair, bytes; 0 without one."""
        return self.second.offset if self.second else 0

    @property
    def length1(self) -> int:
        """Code bytes of the first entry."""
        return self.first.length

    @property
    def length2(self) -> int:
        """Code bytes of the vector entry of a mix pair; 0 without one."""
        return self.second.length if self.second else 0

    @property
    def ratio(self) -> int:
        """Vector blocks per cube block as the task carries it."""
        return self.described_by.ratio

    @property
    def func_type(self) -> int:
        """Kernel type as the compiler wrote it (FuncType)."""
        return self.described_by.func_type

    @property
    def user_args(self) -> int:
        """Arguments a launch passes: the count the compiler wrote, 128 when it wrote no meta data at all."""
        return self.described_by.user_args

    @property
    def min_stack(self) -> int:
        """Bytes of core stack the kernel needs at least; for a pair that of the hungrier half."""
        return max(self.first.meta.min_stack, self.second.meta.min_stack if self.second else 0)

    @property
    def min_stack2(self) -> int:
        """Bytes of core stack the vector half of a pair needs; 0 without one."""
        return self.second.meta.min_stack if self.second else 0

    @property
    def vector_function(self) -> int:
        """AIV_TYPE_FLAG of the half that runs on vector cores: 1 scalar only, 2 SIMD, 3 SIMT, 4 both, 0 unknown."""
        return self._vector_side.vector_function

    @property
    def share_memory(self) -> int:
        """Bytes of unified buffer the compiler set aside on the vector core."""
        return self._vector_side.share_memory

    @property
    def early_start(self) -> bool:
        """Whether the kernel may start before its predecessor is done."""
        return self.described_by.early_start

    @property
    def sched_mode(self) -> int:
        """0 normal, 1 batch."""
        return self.described_by.sched_mode

    @property
    def entry_type(self) -> EntryType:
        """Where the key comes from."""
        return self.described_by.entry_type

    @property
    def meta_size(self) -> int:
        """Bytes of the meta record that describes the kernel; exception dumps carry it."""
        return self.described_by.size

    @property
    def _vector_side(self) -> KernelMeta:
        return self.second.meta if self.second else self.first.meta


def has_separate_cores(chip: Chip) -> bool:
    """Return whether cube and vector are cores of their own on this chip."""
    return bool(chip.prop("cvArchType") == "CV_ARCH_SEPARATION")


def plain_name(symbol: str) -> tuple[str, MixType]:
    """Return a symbol's name without its mix suffix, and the half the suffix stands for.

    The last ``_mix_aic`` anywhere in the name is cut out, or else the last ``_mix_aiv``; never both.
    """
    for suffix, mix in _SUFFIXES:
        before, found, after = symbol.rpartition(suffix)
        if found:
            return before + after, mix
    return symbol, MixType.NONE


def key_of_name(name: str) -> int:
    """Return the tiling key in a plain name: the number behind the last ``_``, 0 when there is none or it overflows."""
    digits = name.rpartition("_")[2]
    key = int(digits) if digits.isascii() and digits.isdigit() else 0
    return key if key <= _MAX_KEY else 0


@dataclass(slots=True)
class _Draft:
    attribute: KernelAttribute
    mix: MixType
    first: KernelSymbol
    described_by: KernelMeta
    second: KernelSymbol | None = None


def merge(
    symbols: Iterable[KernelSymbol],
    chip: Chip,
    default: KernelAttribute,
    notes: Notes,
    *,
    intercore_sync: bool = False,
    brings_ffts_address: bool = False,
) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]]:
    """Return the kernels in byte order of their names, and the key table: those found by key, in order of key.

    ``default`` is the kind of a kernel about which neither meta data nor name say anything. Of kernels with one key
    the first by name gets it; the others, noted, are found by name only. Raises RegistrationConflict.
    """
    drafts: dict[str, _Draft] = {}
    for symbol in symbols:
        name, suffix = plain_name(symbol.name)
        if not name:
            raise RegistrationConflict("the kernel name", symbol.name, "nothing is left of it without its mix suffix")
        attribute, mix = _kind(symbol, suffix, default)
        draft = drafts.get(name)
        if draft is None:
            drafts[name] = _Draft(attribute, mix, symbol, symbol.meta)
        else:
            _join(draft, symbol, mix, name, chip)
    wants_ffts = chip.has("TASK_FFTS_PLUS") and not brings_ffts_address
    overflow_arg = chip.has("DFX_FLOAT_OVERFLOW_DEBUG")
    kernels = []
    keys: dict[int, Kernel] = {}
    for name in sorted(drafts, key=_bytes):
        draft = drafts[name]
        meta = draft.described_by
        key = meta.entry if meta.entry_type is EntryType.FROM_META else key_of_name(name)
        ffts = wants_ffts and (intercore_sync or draft.mix is not MixType.NONE)
        keyed = meta.entry_type is not EntryType.NONE
        kernel = Kernel(
            name=name,
            key=key,
            attribute=draft.attribute,
            mix=draft.mix,
            first=draft.first,
            second=draft.second,
            described_by=meta,
            system_args=overflow_arg + ffts,
            ffts_arg=ffts,
            in_table=keyed and key not in keys,
        )
        kernels.append(kernel)
        if kernel.in_table:
            keys[key] = kernel
        elif keyed:
            notes.add(f"kernel {name!r}: key {key} belongs to {keys[key].name!r} already; it is found by name only")
    return tuple(kernels), tuple(keys[key] for key in sorted(keys))


def _kind(symbol: KernelSymbol, suffix: MixType, default: KernelAttribute) -> tuple[KernelAttribute, MixType]:
    func_type, sync = symbol.meta.func_type, symbol.meta.cross_core_sync
    if func_type == FuncType.AICORE:
        return KernelAttribute.AICORE, suffix
    if func_type in (FuncType.AIC, FuncType.AIC_ROLLBACK):
        return KernelAttribute.CUBE, MixType.AIC if sync else MixType.NONE
    if func_type in (FuncType.AIV, FuncType.AIV_ROLLBACK):
        return KernelAttribute.VECTOR, MixType.AIV if sync else MixType.NONE
    if func_type in (FuncType.MIX_AIC_MAIN, FuncType.MIX_AIV_MAIN) and suffix is MixType.NONE:
        rule = "a mix kernel's symbol ends in _mix_aic or _mix_aiv"
        raise RegistrationConflict(f"the name of a kernel of type {FuncType(func_type).name}", symbol.name, rule)
    return _BY_SUFFIX.get(suffix, default), suffix


def _join(draft: _Draft, symbol: KernelSymbol, mix: MixType, name: str, chip: Chip) -> None:
    halves = {draft.mix, mix}
    if draft.second is not None or halves != {MixType.AIC, MixType.AIV}:
        rule = f"kernel {name!r} has {draft.first.name!r} already; only a cube and a vector half can share a name"
        raise RegistrationConflict("the kernel symbol", symbol.name, rule)
    if mix is MixType.AIV:
        draft.second = symbol
    else:
        draft.first, draft.second = symbol, draft.first
    if has_separate_cores(chip):
        draft.attribute = KernelAttribute.MIX
        leads_vector = draft.described_by.func_type == FuncType.MIX_AIV_MAIN
        draft.mix = MixType.MAIN_AIV if leads_vector else MixType.MAIN_AIC
    else:
        draft.attribute, draft.mix = KernelAttribute.AICORE, MixType.MAIN_AIC


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
