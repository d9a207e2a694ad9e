"""Remarks about a file that do not refuse it."""

from __future__ import annotations

from typing import Final

__all__ = ["Notes"]

_LIMIT: Final = 100


class Notes:
    """Collects remarks, and beyond a hundred only their number: a damaged file can give cause for millions."""

    __slots__ = ("_kept", "_more")

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._more = 0

    def add(self, text: str) -> None:
        """Add a remark."""
        if len(self._kept) < _LIMIT:
            self._kept.append(text)
        else:
            self._more += 1

    def texts(self) -> tuple[str, ...]:
        """Return the remarks in order."""
        return (*self._kept, f"and {self._more} more") if self._more else tuple(self._kept)
