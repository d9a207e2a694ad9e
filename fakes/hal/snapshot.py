"""HAL chapter "snapshot": keep a process's driver state while its cards are exchanged (hal_semantics 6).

The driver keeps what it knows itself: which memory, queues and ids the process has, and where the queues stand. What
lies in the memory of a card is lost with it; a runtime brings that back on its own.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.queues import SQE_BYTES
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue

_TYPE_SQ = 0


class SnapshotCalls(Chapter):
    """Functions of ascend_hal_base.h that save and restore a process."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._saved: dict[tuple[int, int], bytes] = {}
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

    # -- entries of single queues --------------------------------------------------------------------------------------

    def _selected(self, devid: int, info: Any) -> list[SubmissionQueue] | None:
        device = self.device(devid)
        if device is None or info is None or info.type != _TYPE_SQ or not info.id_num or not info.id_list:
            return None
        numbers = (ctypes.c_uint32 * info.id_num).from_address(info.id_list)
        queues = [device.queues[number] for number in numbers if number in device.queues]
        return queues if len(queues) == info.id_num else None

    def halStreamBackup(self, devid: int, info: Any) -> int:
        """Keep the entries before the tail of each named queue."""
        queues = self._selected(devid, info)
        if queues is None:
            return c.DRV_ERROR_INVALID_VALUE
        for sq in queues:
            self._saved[devid, sq.sq_id] = ctypes.string_at(sq.ring.pointer, sq.tail * SQE_BYTES)
        return 0

    def halStreamRestore(self, devid: int, info: Any) -> int:
        """Write kept entries back and set the pointers: everything before the tail counts as done."""
        queues = self._selected(devid, info)
        if queues is None or any((devid, sq.sq_id) not in self._saved for sq in queues):
            return c.DRV_ERROR_INVALID_VALUE
        for sq in queues:
            data = self._saved[devid, sq.sq_id]
            ctypes.memmove(sq.ring.pointer, data, len(data))
            tail = len(data) // SQE_BYTES
            sq.reset(tail, tail)
        return 0
