"""What sends that were prepared look at before they pass by the general path: one flag, and whether they are stale.

Each send looks at its gate anyway, so that a change of what it was made from costs it nothing: the stream takes a new
gate, and the old one stays barred for good.
"""

from __future__ import annotations

import threading


class Gate:
    """`barred` sends whoever was prepared for it to the general path."""

    __slots__ = ("barred",)

    def __init__(self, barred: bool) -> None:
        self.barred = barred


class Gates:
    """The gate of a stream that is in force; those before it are barred for ever."""

    __slots__ = ("_lock", "now")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = Gate(barred=False)

    def bar(self, barred: bool) -> None:
        """Bar the gate in force, or open it."""
        with self._lock:
            self.now.barred = barred

    def renew(self) -> None:
        """Put another gate in force, barred or open as the last one was."""
        with self._lock:
            old, self.now = self.now, Gate(self.now.barred)
            old.barred = True
