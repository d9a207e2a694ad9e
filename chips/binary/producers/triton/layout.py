"""The argument block of a kernel, for each version of Triton-Ascend's launcher.

In order: address of the synchronisation registers (chips with FFTS), locks and workspace (not for pure SIMT),
arguments, the caller's grid before it was rewritten (newest, if it was), the grid, scratch areas (pure SIMT from 3.6
on), the print buffer (from 3.6 on, always there). Checked against g++ for 3.2 and 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from chips.binary.producers.packing import POINTER, BlockLayout, lay_out
from chips.binary.producers.triton.metadata import LayoutVersion
from chips.binary.producers.triton.signature import Parameter
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["KernelLayout", "layout_of", "passes_sync_address"]

SYNC, LOCKS, WORKSPACE, PRINT = "ffts_addr", "syncBlockLock", "workspace_addr", "DTData"
ORIGINAL_X, ORIGINAL_Y = "originalGridX", "originalGridY"
SCRATCH: Final = ("global_scratch", "profile_scratch")
_GRID: Final = ("gridX", "gridY", "gridZ")


@dataclass(frozen=True, slots=True)
class KernelLayout:
    """A block, and which of its members the launcher fills by itself."""

    version: LayoutVersion
    parameters: tuple[Parameter, ...]
    block: BlockLayout
    sync_address: bool
    pure_simt: bool
    original_grid: bool

    @property
    def counted_sizes(self) -> tuple[int, ...]:
        """What the compiler may state as the bytes of its arguments: without the print buffer, in whole slots."""
        members = self.block.members
        end = members[-1].offset if members[-1].name == PRINT else members[-1].offset + members[-1].size
        whole = end + -end % 8
        return (whole, whole - 8) if self.sync_address else (whole,)

    def hidden(
        self, grid: Sequence[int], original: Sequence[int], *, sync: int = 0, locks: int = 0, workspace: int = 0
    ) -> dict[str, int]:
        """Return the values of the members that are no arguments, by name."""
        known = {SYNC: sync, LOCKS: locks, WORKSPACE: workspace, ORIGINAL_X: original[0], ORIGINAL_Y: original[1]}
        known |= dict(zip(_GRID, grid, strict=True))
        return known | dict.fromkeys((*SCRATCH, PRINT), 0)

    def pack(self, values: Iterable[Any], hidden: dict[str, int]) -> bytes:
        """Return a block: `values` of the arguments in order, the rest by name. Raises struct.error."""
        given = iter(values)
        return self.block.pack(hidden[each.name] if each.name in hidden else next(given) for each in self.block.members)


def passes_sync_address(chip: Chip) -> bool:
    """Return whether blocks for a chip start with the address of the registers by which cores signal each other."""
    return bool(chip.has("TASK_FFTS_PLUS"))


def layout_of(
    parameters: Sequence[Parameter],
    version: LayoutVersion,
    *,
    sync_address: bool,
    pure_simt: bool = False,
    original_grid: bool = False,
) -> KernelLayout:
    """Lay out the block of a kernel.

    Args:
        sync_address: whether the chip passes the address of its synchronisation registers.
        original_grid: whether the compiler rewrote the grid (newest version only).
    """

    def members() -> Iterator[tuple[str, str, int]]:
        if sync_address:
            yield SYNC, POINTER, 8
        if not pure_simt:
            yield LOCKS, POINTER, 8
            yield WORKSPACE, POINTER, 8
        for number, parameter in enumerate(parameters):
            yield f"arg{number}", parameter.packing.code, parameter.packing.alignment
        if original_grid:
            yield ORIGINAL_X, "I", 4
            yield ORIGINAL_Y, "I", 4
        yield from ((name, "i", 4) for name in _GRID)
        if version >= LayoutVersion.V36:
            if pure_simt:
                yield from ((name, POINTER, 8) for name in SCRATCH)
            yield PRINT, POINTER, 8

    return KernelLayout(version, tuple(parameters), lay_out(members()), sync_address, pure_simt, original_grid)
