"""HAL chapter "snapshot": keep a process's driver state while its cards are exchanged (hal_semantics 6).

The driver keeps what it knows itself: which memory, queues and ids the process has, and where the queues stand. What
lies in the memory of a card is lost with it; a runtime brings that back on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.machine import Machine


class SnapshotCalls(Chapter):
    """Functions of ascend_hal_base.h that save and restore a process."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._pointers: dict[tuple[int, int], tuple[int, int, bool]] | None = None

    def halProcessResBackup(self, info: Any) -> int:
        """Keep the state of every queue of the process."""
        if info is None:
            return c.DRV_ERROR_PARA_ERROR
        self._pointers = {
            (device.index, sq.sq_id): (sq.head, sq.tail, sq.enabled)
            for device in self.machine.devices
            for sq in device.queues.values()
        }
        return 0

    def halProcessResRestore(self, info: Any) -> int:
        """Set up on the exchanged cards what was kept; again, where the first time led to nothing."""
        if info is None:
            return c.DRV_ERROR_PARA_ERROR
        if self._pointers is None:
            return c.DRV_ERROR_OPER_NOT_PERMITTED
        for device in self.machine.devices:
            for sq in device.queues.values():
                head, tail, sq.enabled = self._pointers.get((device.index, sq.sq_id), (0, 0, True))
                sq.reset(head, tail)
                device.activate(sq)
            device.exchanged = False
        return 0
