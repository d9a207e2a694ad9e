"""What becomes of a device's memory while somebody looks: every block that comes and goes, with owner and call site.

Nothing is noted, and nothing asked on the way of a pool's request, while nobody looks.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runtime.memory.ledger import Ledger

CAPACITY = 400_000
"""Changes that a journal keeps by default, the newest; about 0.2 KB each."""

SEGMENT = "segment"
"""Owner of what a pool has from the driver: its blocks lie inside."""
POOL = "pool"
ORDERED = "ordered pool"
PHYSICAL = "physical"


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


class MemoryWatchers:
    """The journals of a runtime, and the ledgers of its devices, which hear when somebody begins or ends to look."""

    def __init__(self) -> None:
        self.journals: tuple[Journal, ...] = ()
        self._ledgers: weakref.WeakSet[Ledger] = weakref.WeakSet()
        self._lock = threading.Lock()

    def adopt(self, ledger: Ledger) -> None:
        """Let the ledger of a new device tell the journals that there are and those to come."""
        with self._lock:
            self._ledgers.add(ledger)
            if self.journals:
                ledger.report_to(self.journals)

    def begin(self, journal: Journal) -> None:
        """Note changes from now on; what is held already is noted first, as taken now."""
        self._set((*self.journals, journal))
        now = time.perf_counter_ns()
        for ledger in tuple(self._ledgers):
            for block in ledger.in_use():
                journal.note(Change(ledger.device, now, True, *block))

    def end(self, journal: Journal) -> None:
        """Note nothing more."""
        self._set(tuple(one for one in self.journals if one is not journal))

    def _set(self, journals: tuple[Journal, ...]) -> None:
        with self._lock:
            self.journals = journals
            for ledger in tuple(self._ledgers):
                ledger.report_to(journals)
