"""Faults that a card reports of itself."""

from __future__ import annotations

from npuhal.records import dataclass


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """A fault of a card: `assertion` says whether it resumed (0), occurred (1) or happens once (2)."""

    event_id: int
    name: str
    severity: int = 1
    node_type: int = 0
    assertion: int = 1
    serial: int = 0
