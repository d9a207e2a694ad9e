"""Host libraries of AscendC: which of the device binaries inside is for a chip, how kernels are called, what is passed.

Two ways of building: `ascendc_library` (a section of the host library for each SoC, kernels by number, hidden members
in the block) and `<<<>>>` (a linked and a relocatable binary, kernels by mangled name, the parameters alone). Sources:
the host stub generators of asc-devkit, real libraries of public wheels.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from chips.binary.cores import core_of
from chips.binary.elf import ElfFile
from chips.binary.errors import UnsupportedBinary
from chips.binary.fat import DeviceBinary, Layout, find_device_binaries
from chips.binary.producers.packing import POINTER, BlockLayout, lay_out
from chips.binary.tlv import BinaryTlv
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.binary.program import Program
    from chips.chip import Chip

__all__ = ["ByValue", "Convention", "chosen_binaries", "convention_of", "host_names", "library_layout", "prints"]

DUMP, SYNC, OVERFLOW = "__ascendc_dump", "__ascendc_ffts", "__ascendc_overflow"
_LEAST: Final = 4
"""Bytes to which the smallest parameters are aligned."""
_NUMBERED: Final = re.compile(r"(?P<name>.+)_\d+")
_MANGLED: Final = re.compile(r"_Z(?P<length>\d+)(?P<rest>.*)", re.DOTALL)
_LINKED: Final = "linked"
_DEBUG_INFO: Final = "<II"
_WRITES: Final = 0b0111
"""Options of DEBUG_INFO that make a kernel write to the dump buffer: printf and dump, assert, time stamps."""


class Convention(Enum):
    """What a block holds besides the parameters."""

    LIBRARY = "ascendc_library"
    """Dump buffer (if it prints) and synchronisation registers (if it mixes cores) in front, overflow status behind."""
    PARAMETERS = "<<<>>>"
    """Nothing."""


class ByValue(NamedTuple):
    """How a parameter lies in the block: `struct` code, and its own alignment in bytes."""

    code: str
    alignment: int


def chosen_binaries(data: bytes | memoryview, chip: Chip) -> tuple[DeviceBinary, ...]:
    """Return the device binaries inside a host library that are for a chip, in order of offset.

    Of those for several SoCs of a family the chip's own are taken, else those of the first; of a linked and a
    relocatable one the linked.

    Raises:
        UnsupportedBinary: there are none, or all are for other chips.
        MalformedElf: the library breaks off.
    """
    found = find_device_binaries(data)
    suited = [each for each in found if _runs_on(each, chip)]
    if not suited:
        have = sorted({each.soc or "an unnamed chip" for each in found})
        rule = f"the device is {chip.soc}"
        what = ", ".join(have) if have else "no device binary at all"
        raise UnsupportedBinary("what the library has", what, rule, "build it for this chip")
    socs = [each.soc for each in suited]
    soc = chip.soc.lower() if chip.soc.lower() in socs else socs[0]
    ours = [each for each in suited if each.soc == soc]
    if any(each.part == _LINKED for each in ours):
        ours = [each for each in ours if each.layout is not Layout.LAUNCH or each.part == _LINKED]
    return tuple(ours)


def _runs_on(binary: DeviceBinary, chip: Chip) -> bool:
    core = core_of(ElfFile(binary.data).header.flags)
    return core is None or core.runs_on(chip)


def convention_of(binary: DeviceBinary) -> Convention:
    """Return how kernels of a device binary are called."""
    return Convention.LIBRARY if binary.layout is Layout.LIBRARY else Convention.PARAMETERS


def host_names(symbol: str, convention: Convention) -> Iterator[str]:
    """Iterate over the names by which people know a kernel, the one of the source first, the symbol last."""
    if convention is Convention.LIBRARY and (numbered := _NUMBERED.fullmatch(symbol)):
        yield numbered["name"]
    elif mangled := _MANGLED.match(symbol):
        name = mangled["rest"][: int(mangled["length"])]
        if len(name) == int(mangled["length"]) and mangled["rest"][len(name) : len(name) + 1] != "I":  # no template
            yield name
    yield symbol


def prints(program: Program) -> bool:
    """Return whether a kernel of a program writes to a dump buffer, as its compiler says."""
    for value in program.binary_meta(BinaryTlv.DEBUG_INFO):
        if len(value) >= struct.calcsize(_DEBUG_INFO) and struct.unpack_from(_DEBUG_INFO, value)[1] & _WRITES:
            return True
    return False


def library_layout(
    parameters: Iterable[ByValue], *, dump: bool = False, sync: bool = False, overflow: bool = False
) -> BlockLayout:
    """Lay out a block: hidden members where they are asked for, parameters at their own alignment but at least 4."""

    def members() -> Iterator[tuple[str, str, int]]:
        yield from ((name, POINTER, 8) for name, there in ((DUMP, dump), (SYNC, sync)) if there)
        for number, each in enumerate(parameters):
            yield f"arg{number}", each.code, each.alignment + -each.alignment % _LEAST
        if overflow:
            yield OVERFLOW, POINTER, 8

    return lay_out(members())
