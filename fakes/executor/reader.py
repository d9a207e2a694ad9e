"""Tells which layout a 64-byte entry has, fast: by the bits that identify entries of its type, remembered once seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.layout import SQE_BYTES

if TYPE_CHECKING:
    from chips.layout import Layout, LayoutSet

TYPE = 0x3F
"""Bits of the type of an entry."""
MOST_KEPT = 4096
"""Entries that are remembered by their bits at a time."""


class Reader:
    """Identifies entries of one layout set; the answer is always that of `LayoutSet.identify`."""

    def __init__(self, layouts: LayoutSet) -> None:
        field = layouts["header"].field("type")
        self._layouts, self._shift = layouts, field.offset
        self._masks = [((1 << field.width) - 1) << field.offset] * (TYPE + 1)
        self._known: dict[int, Layout | None] = {}
        for layout in layouts.values():
            kind = layout.when.get("type")
            if kind is not None and layout.size == SQE_BYTES:
                self._masks[kind & TYPE] |= layout.signature[0]

    def identify(self, raw: bytes) -> Layout | None:
        """Return the layout, or None when no entry looks like this."""
        return self.look_up(raw, int.from_bytes(raw, "little"))

    def look_up(self, raw: bytes, word: int) -> Layout | None:
        """Return the layout as `identify` does, of an entry that is also given as a number."""
        key = word & self._masks[word >> self._shift & TYPE]
        try:
            return self._known[key]
        except KeyError:
            layout = self._layouts.identify(raw)
            if len(self._known) < MOST_KEPT:
                self._known[key] = layout
            return layout
