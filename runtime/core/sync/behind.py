"""Giving ids back behind the tasks that may use them: what a queued task needs lives until that task is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort


def free_behind(device: DevicePort, free: Callable[[], None]) -> None:
    """Call what gives an id back: at once, or when every task is over that any stream of the process holds now.

    Streams that keep their tasks are left out: their models hold what they use. Tasks that are ended by force, with
    their stream or the device, are over as well.
    """
    behind: _Behind | None = None
    for each in device.runtime.open_devices():
        for stream in each.streams():
            ring = stream.ring
            if ring.submitted != ring.reclaimed and not stream.keeps_tasks and not _done(stream):
                behind = behind or _Behind(free)
                behind.follow(stream)
    if behind is None:
        free()
    else:
        behind.one_less()


def _done(stream: StreamPort) -> bool:
    """Whether the device is through with a stream, by its head; nothing is reclaimed, and no report is taken."""
    remark = stream.device.hal.remark
    remark("internal")
    try:
        with stream.lock:  # another thread may be about to close it, and to give its queue back
            if stream.closed or not (stream.has_queue and stream.own_sink.immediate):
                return False
            return stream.ring.done(stream.read_head()) >= stream.ring.pending
    finally:
        remark("back")


class _Behind:
    """Counts the streams that are not yet as far as they were filled."""

    __slots__ = ("_free", "_left", "_lock")

    def __init__(self, free: Callable[[], None]) -> None:
        self._free = free
        self._left = 1
        self._lock = threading.Lock()

    def follow(self, stream: StreamPort) -> None:
        """Wait for one more stream, if it has tasks."""
        with stream.lock:
            if stream.ring.pending and not stream.closed:
                with self._lock:
                    self._left += 1
                stream.ring.attend(stream.ring.submitted, self.one_less)

    def one_less(self) -> None:
        """A stream is past; the last one frees."""
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._free()
