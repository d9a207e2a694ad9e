"""The state of a synchronisation object of a card."""

from __future__ import annotations


class Signal:
    """State of one event, notify or count notify: a value, when it was last set, and by whom."""

    __slots__ = ("time", "value")

    def __init__(self) -> None:
        self.value = 0
        self.time = 0
