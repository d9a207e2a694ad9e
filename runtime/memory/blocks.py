"""What a pool is made of: segments from the driver, cut into blocks."""

from __future__ import annotations

from npuhal.tuples import NamedTuple
from runtime.memory.fences import StreamPoint, Timeline

UNIT = 512
"""Block sizes and addresses are multiples of this, as those of the driver."""
SMALL = 1 << 20
"""Requests up to this share segments of SMALL_SEGMENT bytes."""
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
"""Segments of larger requests; one above half of this gets a segment of its own, in steps of SMALL_SEGMENT."""

NOBODY = 0
"""Handle of no stream: blocks under it need wait for none."""


class Block:
    """A piece of a segment: in use, free for one stream (`home`), or free for everybody."""

    __slots__ = (
        "address", "after", "before", "free", "home", "points", "requested", "segment", "site", "size", "stream",
        "used", "users",
    )  # fmt: skip
    stream: Timeline
    """The stream that it was last taken for."""

    def __init__(self, segment: Segment, address: int, size: int) -> None:
        self.segment, self.address, self.size = segment, address, size
        self.before: Block | None = None
        self.after: Block | None = None
        self.free = True
        self.used: object = False
        """What stands for who has it: of a buffer its entry among the pending frees, else True; False: nobody has."""
        self.home = NOBODY
        """Handle of the stream whose order protects it."""
        self.requested = 0
        self.site = ""
        """Where the user asked for it; "" when that is not traced."""
        self.points: tuple[StreamPoint, ...] = ()
        """Points that must be passed before everybody may use it."""
        self.users: list[Timeline] = []
        """Streams that use it beside its own."""


class Segment(NamedTuple):
    """Memory from one driver call."""

    address: int
    size: int
    small: bool


class Snapshot(NamedTuple):
    """One block as `memory_snapshot` shows it."""

    segment: int
    address: int
    size: int
    state: str
    """active_allocated, active_pending_free or inactive."""


def joinable(one: int, two: int) -> bool:
    """Whether free neighbours of two homes become one block; what is nobody's stays apart from what a graph keeps."""
    return one == two or (NOBODY in (one, two) and min(one, two) >= NOBODY)
