"""What is known of one queue: what the host knew when it filled it, and what its tasks touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.checkers.order import Actor, Stamp
from fakes.checkers.race import Known
from fakes.checkers.source import Piece
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from fakes.checkers.names import CallSite

POLLING = frozenset({"memory_wait", "mem_wait", "stream_switch", "stream_switch_ex", "model_execute", "stream_active",
                      "label_switch", "label_switch_by_index", "capture_condition", "capture_jump_back",
                      "float_status"})  # fmt: skip
"""Layouts of condition programs: what they store is for others that look at it the same way."""
BY_POINTER = "write_value_pointer"
"""Layout of writes whose address comes from memory when they run, so that it may be younger than they are."""


class Submission(NamedTuple):
    """What was known when an entry was put into a ring."""

    stamp: Stamp
    site: CallSite | None
    pieces: list[Piece]
    seen: Known
    """What the runtime has seen for itself, which counts for its own memory."""


class Queue(Actor):
    """What is known of one queue: its clock, and per ring position what the host knew when it filled it."""

    __slots__ = ("last_kind", "loads", "read", "submitted")

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.submitted: dict[int, Submission] = {}
        self.last_kind = ""
        self.loads: tuple[int, ...] = ()
        """Addresses that a wait for a value has looked at last."""
        self.read: Stamp | None = None
        """The point that the runtime has seen for itself last, without telling the program."""


def united(touched: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join neighbouring and overlapping ranges of the same kind; reads come first."""
    if len(touched) < 2:
        return touched
    joined: list[Any] = []
    for address, size, how in sorted(touched, key=lambda each: (each[2], each[0])):
        if joined and joined[-1][2] == how and address <= joined[-1][0] + joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], address + size - joined[-1][0])
        else:
            joined.append([address, size, how])
    return [(address, size, how) for address, size, how in joined]
