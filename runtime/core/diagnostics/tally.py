"""What a device counts itself for `counters`."""

from __future__ import annotations

from collections import Counter


class Tally:
    """What a device counts itself, outside of streams."""

    __slots__ = ("captures", "closed", "copies_at_once", "open_retries", "set_device", "synchronizes")

    def __init__(self) -> None:
        self.captures = self.copies_at_once = self.open_retries = self.set_device = self.synchronizes = 0
        self.closed: Counter[str] = Counter()
        """Tasks of streams that were closed."""
