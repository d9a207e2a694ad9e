"""What completion entries leave behind at a stream."""

from __future__ import annotations

from npuhal.records import dataclass


@dataclass(frozen=True, slots=True)
class Halted:
    """A queue that the hardware stops at a report: where it goes on, whether it does, and how long that may take."""

    head: int
    enable: bool
    deadline: float
