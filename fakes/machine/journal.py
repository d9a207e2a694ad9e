"""The log of what the cards of a machine executed."""

from __future__ import annotations

from npuhal.tuples import NamedTuple


class Executed(NamedTuple):
    """One executed task: times in virtual nanoseconds of its device, ids and ring position as on the device."""

    start: int
    end: int
    device: int
    stream: int
    position: int
    kind: str
    detail: str

    def __str__(self) -> str:
        return (
            f"{self.start}..{self.end} dev{self.device} stream{self.stream} pos{self.position} {self.kind}"
            f"{' ' + self.detail if self.detail else ''}"
        )


new_entry = tuple.__new__
"""Makes an entry of its fields in one tuple, at a third of what the class takes for it."""
