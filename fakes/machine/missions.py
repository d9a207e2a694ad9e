"""Missions of the collective communication unit (CCU): Python functions that stand in for its microcode.

A mission runs the instructions from a start on, on one die; what its entry says of it is all that there is to know. The
functions see the 64-bit arguments, which stand in the entry itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakes.errors import FakeError
from fakes.machine.views import reached
from npuhal.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from fakes.machine.memory import Memory

DIES = 2
MISSIONS = 16
"""Missions that one die runs side by side."""
ENGINES = tuple(f"CCU{die}.{number}" for die in range(DIES) for number in range(MISSIONS))
COST_NS = 5_000
"""Cost of a mission."""


@dataclass(slots=True)
class Mission:
    """What a mission function gets."""

    number: int
    """Which of the die's missions runs it."""
    die: int
    start: int
    """The first of `instructions` instructions."""
    instructions: int
    key: int
    """The token that its accesses to memory of other processes carry."""
    args: tuple[int, ...]
    """13 arguments, or 1 in the short form."""
    device: int
    memory: Memory
    cost_ns: int | None = None
    """Set it to make the mission take this long in virtual time."""

    @property
    def engine(self) -> str:
        """What it keeps while it runs."""
        return ENGINES[self.die % DIES * MISSIONS + self.number % MISSIONS]

    def array(self, index: int, dtype: DTypeLike = "uint8", count: int | None = None) -> NDArray[Any]:
        """Return the device memory that an argument points to as a writable view; by default up to the block's end."""
        import numpy as np

        kind, pointer = np.dtype(dtype), self.args[index]
        if count is None:
            block = self.memory.find(pointer)
            count = 0 if block is None else (block.end_of(pointer) - pointer) // kind.itemsize
        return reached(self.memory, pointer, kind, count, f"argument {index} of a mission")


MissionFunction = Callable[[Mission], object]


class Programs:
    """The mission functions of one machine, by die and first instruction."""

    def __init__(self) -> None:
        self._functions: dict[tuple[int, int], tuple[str, MissionFunction]] = {}

    def attach(self, start: int, function: MissionFunction, *, die: int = 0, name: str = "") -> None:
        """Let a function stand for the instructions from `start` on of a die; the same start again replaces it."""
        if not 0 <= die < DIES:
            raise FakeError(f"die is {die}: a card has dies 0 to {DIES - 1}")
        self._functions[die, start] = name or getattr(function, "__name__", "mission"), function

    def find(self, die: int, start: int) -> tuple[str, MissionFunction] | None:
        """Return name and function of a start, None where nothing is attached."""
        return self._functions.get((die, start))
