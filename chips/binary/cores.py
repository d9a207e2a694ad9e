"""Which core a device ELF was compiled for: the high half of its e_flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["Core", "core_of", "core_of_chip", "flags_of"]


class Core(NamedTuple):
    """A core generation: its compiler name, the chip types that have it, and a SoC to stand for them."""

    name: str
    chip_types: tuple[str, ...]
    soc: str

    def runs_on(self, chip: Chip) -> bool:
        """Return whether a chip has this core."""
        return chip.chip_type in self.chip_types

    def __str__(self) -> str:
        return f"{self.name} cores ({self.soc}...)"


_C100: Final = Core("c100", ("CHIP_CLOUD",), "Ascend910A")
_M200: Final = Core("m200", ("CHIP_DC",), "Ascend310P3")
_C220: Final = Core("c220", ("CHIP_910_B_93",), "Ascend910B1")
_M300: Final = Core("m300", ("CHIP_MINI_V3",), "Ascend310B1")
_C310: Final = Core("c310", ("CHIP_DAVID", "CHIP_ASCEND_350"), "Ascend950PR_9599")
# Cube and vector cores of a generation have a number each; a mix binary bears that of the cube core.
_BY_FLAGS: Final = {
    0x86: _C100,
    0x8A: _M200,
    0x8B: _M200,
    0x93: _C220,
    0x94: _C220,
    0x95: _M300,
    0x99: _C310,
    0x9A: _C310,
}


def core_of(elf_flags: int) -> Core | None:
    """Return the core that e_flags name, None when they name none that is known."""
    return _BY_FLAGS.get(elf_flags >> 16)


def core_of_chip(chip: Chip) -> Core | None:
    """Return the core that a chip has, None where none is known."""
    return next((core for core in _BY_FLAGS.values() if core.runs_on(chip)), None)


def flags_of(chip: Chip) -> int:
    """Return the e_flags of a binary for a chip's cube cores; 0 where no core is known that it has."""
    return next((number << 16 for number, core in _BY_FLAGS.items() if core.runs_on(chip)), 0)
