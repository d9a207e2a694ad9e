"""What becomes of a device's memory while somebody looks: every block that comes and goes, with owner and call site.

Nothing is noted, and nothing asked on the way of a pool's request, while nobody looks.
"""

from __future__ import annotations

from collections import deque

from npuhal.tuples import NamedTuple

CAPACITY = 400_000
"""Changes that a journal keeps by default, the newest; about 0.2 KB each."""


class Change(NamedTuple):
    """A block came or went.

    Attributes:
        device: number of the device as the user has it.
        when_ns: by `time.perf_counter_ns`.
        taken: whether it came.
        owner: "device", "host" or "managed" (buffers from the driver, by where they lie), "pool", "graph N" (taken
            from the pool by the capture of a graph), "ordered pool" (of the C API), "physical", or SEGMENT.
        size: bytes that are in use for it.
        requested: bytes that were asked for.
        site: "file:line" of who asked; "" where it was asked for before somebody looked.
    """

    device: int
    when_ns: int
    taken: bool
    owner: str
    address: int
    size: int
    requested: int
    site: str


class Journal:
    """Changes as they come, from any thread; the newest are kept."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.changes: deque[Change] = deque(maxlen=capacity)
        self.note = self.changes.append
