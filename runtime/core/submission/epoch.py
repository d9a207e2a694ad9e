"""What prepared sends check before they take the fast path: one flag, which also says that they are stale.

Each send reads the flag of its epoch, so that a change of what it was made from costs nothing more: a new epoch
begins, and the old one stays blocked for good.
"""

from __future__ import annotations

import threading


class Epoch:
    """A time in which nothing changes that prepared sends were made from; `blocked` sends them to the slow path."""

    __slots__ = ("blocked",)

    def __init__(self, blocked: bool) -> None:
        self.blocked = blocked


class EpochFlag:
    """The epoch that is in force; those before it are blocked for ever."""

    __slots__ = ("_lock", "now")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = Epoch(blocked=False)

    def block(self, blocked: bool) -> None:
        """Block the epoch in force, or open it."""
        with self._lock:
            self.now.blocked = blocked

    def renew(self) -> None:
        """Begin another epoch, blocked or open as the last one was."""
        with self._lock:
            old, self.now = self.now, Epoch(self.now.blocked)
            old.blocked = True
