"""Tells who waits that something has changed: on the device, or by a call of the host."""

from __future__ import annotations

import threading


class Changed(threading.Condition):
    """A condition that knows whether anybody waits: a send, which is frequent, tells them only then."""

    waiting = 0

    def wait(self, timeout: float | None = None) -> bool:
        """Wait as any condition does; the lock is held."""
        self.waiting += 1
        try:
            return super().wait(timeout)
        finally:
            self.waiting -= 1
