"""Views that the function of a kernel passes on as bare buffers (np.asarray, memoryview), where nothing tells what is
done to them: writes show in the bytes, reads cannot be seen, and the author of the function is told so once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakes.checkers.access import WRITE
from npuhal.late import logger
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fakes.checkers.tracked import Tracked
    from fakes.executor.task import Task

_LOG = logger("npuhal.fake.check")
_LARGEST = 64 << 20
"""Views above this are not compared: a copy of what nobody has touched yet would make all of it real."""


class Silent(NamedTuple):
    """A view that has told nothing yet."""

    array: NDArray[Any]
    address: int
    before: bytes


class Views:
    """What is known of one kernel's function: the arguments whose views tell what is done to them."""

    def __init__(self) -> None:
        self._telling: set[int] = set()
        self._told = False

    def watch(
        self, array: NDArray[Any], slot: int, address: int, task: Task, silent: dict[tuple[int, int], Silent]
    ) -> Tracked:
        """Return a view that tells; until one of this argument has, what was in it is noted in `silent` too."""
        from fakes.checkers.tracked import track  # loads NumPy

        if slot in self._telling or not array.nbytes:
            return track(array, address, task.touch)
        if (slot, address) not in silent:
            before = array.tobytes() if array.nbytes <= _LARGEST else b""
            silent[slot, address] = Silent(array, address, before)
        return track(array, address, self._listener(slot, task.touch))

    def _listener(self, slot: int, touch: Callable[[int, int, bool], None]) -> Callable[[int, int, bool], None]:
        def told(address: int, size: int, write: bool) -> None:
            self._telling.add(slot)
            touch(address, size, write)

        return told

    def finish(self, task: Task, silent: dict[tuple[int, int], Silent]) -> None:
        """A launch is over: look for writes through views that have told nothing."""
        for (slot, _), view in silent.items():
            if slot in self._telling:
                continue
            first, count = _changed(view)
            if count:
                task.touch(view.address + first, count, WRITE)
            if not self._told:
                self._told = True
                did = "has written it through a bare buffer" if count else "has done nothing to it that can be seen"
                _LOG.warning(
                    "kernel '%s' has taken argument %d as a view and %s: what it reads that way is not checked. Where "
                    "its function uses np.asarray, memoryview or the like, say what it touches: "
                    "attach(..., reads=(...), writes=(...))", task.kernel_name, slot, did,
                )  # fmt: skip


def _changed(view: Silent) -> tuple[int, int]:
    """Return where the bytes of a view differ from what was noted: from the first to the last such byte."""
    import numpy as np

    if not view.before:
        return 0, 0
    now = view.array.reshape(-1).view(np.uint8)
    offsets = np.flatnonzero(now != np.frombuffer(view.before, np.uint8))
    return (int(offsets[0]), int(offsets[-1] - offsets[0]) + 1) if offsets.size else (0, 0)
