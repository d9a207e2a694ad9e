"""From the grid that a caller gives to the grid that a kernel sees and the blocks that are launched.

Source: `prepareGrid` of launcher_args.h, program_grid.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

from chips.binary.producers.errors import BadMetadata
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

__all__ = ["Arranged", "GridRule", "axes_of"]

_TENSORIZED_ROWS: Final = 16
_STRIP: Final = 64
_STRIP_OF_TENSORIZED: Final = 4
_MOST: Final = 2**31 - 1
_AXES: Final = 3


class Arranged(NamedTuple):
    """`grid` is what the kernel gets, `logical` its number of blocks, `physical` those that are launched.

    Both numbers are 0 for an empty grid: nothing is launched.
    """

    grid: tuple[int, int, int]
    logical: int
    physical: int


@dataclass(frozen=True, slots=True)
class GridRule:
    """How the compiler rewrote the grid.

    `factor` blocks along `axis` (-1: none) became one; `ceil` lets the last be incomplete. `iat` is independent axis
    tensorization (16 rows of axis 1 in a block), `ptsm` persistent task strip mining (blocks of axis 0 loop). `may_cap`
    is whether the kernel may be launched on fewer blocks than its grid has, None where the file does not say it.
    """

    factor: int = 1
    axis: int = -1
    ceil: bool = False
    iat: bool = False
    ptsm: bool = False
    may_cap: bool | None = None

    def arrange(self, grid: Sequence[int], cores: int, *, cap: bool = False) -> Arranged:
        """Return what a grid of three axes becomes on a chip with `cores` cores of the kernel's kind.

        Args:
            cap: launch no more blocks than there are cores; the kernel loops over the rest.

        Raises:
            BadMetadata: the axis is no multiple of the coalesce factor.
        """
        x, y, z = grid
        if min(x, y, z) <= 0:
            return Arranged((x, y, z), 0, 0)
        axes = [x, y, z]
        if self.iat:
            axes[1] = -(-y // _TENSORIZED_ROWS)
        if self.ptsm:
            strip = _STRIP_OF_TENSORIZED if self.iat else _STRIP
            axes[0] = min(-(-x // strip), max(1, cores // (axes[1] * axes[2])))
        if self.factor > 1 and self.axis >= 0:
            length = axes[self.axis]
            if not self.ceil and length % self.factor:
                rule = f"the launch grid is not divisible by the coalesce factor, {self.factor}"
                cure = f"make axis {'XYZ'[self.axis]} a multiple of {self.factor}"
                raise BadMetadata(f"axis {'XYZ'[self.axis]} of the grid", length, rule, cure)
            axes[self.axis] = -(-length // self.factor)
        logical = axes[0] * axes[1] * axes[2]
        return Arranged((axes[0], axes[1], axes[2]), logical, min(logical, cores) if cap else logical)


def axes_of(grid: Any) -> tuple[int, int, int]:
    """Return a grid as three axes: a number, or one to three of them.

    Raises:
        BadMetadata: it is nothing of the kind, or an axis does not fit 32 bits.
    """
    given = grid if isinstance(grid, (tuple, list)) else (grid,)
    try:
        axes = [operator.index(each) for each in given]
    except TypeError:
        axes = []
    if not 1 <= len(axes) <= _AXES or any(not -_MOST <= each <= _MOST for each in axes):
        rule = f"a grid is one to three whole numbers below {_MOST + 1}"
        raise BadMetadata("the grid", grid, rule, "pass kernel[(x, y, z)], computed beforehand")
    x, y, z = (*axes, 1, 1)[:_AXES]
    return x, y, z
