"""Who holds how much of a device's memory: every block that users asked for, and where they did when that is traced."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple
from npuhal.words import count
from runtime.memory.location import Location

if TYPE_CHECKING:
    from runtime.memory.journal import Journal

VARIABLE = "NPUHAL_TRACE_CREATION"
"""Set to 1 to keep the call site of each block; it then stands in out-of-memory errors and reports."""

_MOST_SITES = 3

SEGMENT = "segment"
"""Owner of what a pool has from the driver: its blocks lie inside."""
POOL = "pool"
ORDERED = "ordered pool"
PHYSICAL = "physical"


@dataclass(frozen=True, slots=True)
class Held:
    """A block in use: bytes as asked of the driver, and "file:line" of who asked ("" when not traced)."""

    size: int
    location: Location
    site: str = ""
    graph: int = -1
    """The graph whose capture has taken it from the pool, which keeps it; -1: none."""
    requested: int = 0
    """Bytes of the request, where they are fewer; 0: as many."""


class InUse(NamedTuple):
    """A block in use as journals have it; the fields are those of `Change`."""

    owner: str
    address: int
    size: int
    requested: int
    site: str


class Part(Protocol):
    """Memory of a device that a ledger does not enter itself: a pool."""

    def listen(self, wanted: bool) -> None:
        """Somebody looks from now on (then tell the ledger's journals), or nobody does."""

    def in_use(self) -> Iterable[InUse]:
        """Return what is in use."""


def _in_use(address: int, held: Held) -> InUse:
    return InUse(held.location.name.lower(), address, held.size, held.requested or held.size, held.site)


class Ledger:
    """Live blocks of one device by address, with totals and peaks."""

    def __init__(self, site: Callable[[], str], *, traces: bool = False, device: int = 0) -> None:
        """Start empty.

        Args:
            site: names the line of the user's program that is running now.
            traces: keep call sites whatever the environment says.
            device: number of the device as the user has it.
        """
        self.call_site = site
        self.device = device
        self._held: dict[int, Held] = {}
        self._lock = threading.Lock()
        self.traces = traces or os.environ.get(VARIABLE) == "1"
        """Whether call sites are kept; may be changed at any time."""
        self.entered = 0
        """How many blocks were ever asked for."""
        self._current, self._peak = [0] * len(Location), [0] * len(Location)
        self.journals: tuple[Journal, ...] = ()
        """Who is told of everything that comes and goes."""
        self.parts: list[Part] = []
        """Memory of the device that is kept elsewhere, and is told to the journals too."""
        self._traces_before = self.traces

    # -- who looks -------------------------------------------------------------------------------------------------

    def report_to(self, journals: tuple[Journal, ...]) -> None:
        """Let journals, in place of those before, note what comes and goes; call sites are kept meanwhile."""
        if journals and not self.journals:
            self._traces_before, self.traces = self.traces, True
        elif self.journals and not journals:
            self.traces = self._traces_before
        self.journals = journals
        for part in self.parts:
            part.listen(bool(journals))

    def note(self, taken: bool, block: InUse) -> None:
        """Tell the journals of a block that came or went."""
        from runtime.memory.journal import Change  # late: few programs are looked at

        change = Change(self.device, time.perf_counter_ns(), taken, *block)
        for journal in self.journals:
            journal.note(change)

    def in_use(self) -> Iterator[InUse]:
        """Yield every block of the device that is in use, also those that are kept elsewhere."""
        with self._lock:
            held = list(self._held.items())
        for address, block in held:
            yield _in_use(address, block)
        for part in self.parts:
            yield from part.in_use()

    def close(self) -> None:
        """The device is closed: what was not given back went with it."""
        if self.journals:
            for block in list(self.in_use()):
                self.note(False, block)
        for part in self.parts:
            part.listen(False)
        self.parts.clear()

    # -- blocks ----------------------------------------------------------------------------------------------------

    def add(self, address: int, size: int, location: Location, requested: int = 0) -> Held:
        """Enter a block of so many bytes, for a request of fewer (0: of as many)."""
        held = Held(size, location, self.call_site() if self.traces else "", requested=requested)
        with self._lock:
            self._held[address] = held
            self.entered += 1
            self._current[location] = current = self._current[location] + size
            if current > self._peak[location]:
                self._peak[location] = current
        if self.journals:
            self.note(True, _in_use(address, held))
        return held

    def remove(self, address: int) -> Held | None:
        """Strike a block out; None for one that was never entered."""
        with self._lock:
            held = self._held.pop(address, None)
            if held is not None:
                self._current[held.location] -= held.size
        if held is not None and self.journals:
            self.note(False, _in_use(address, held))
        return held

    @property
    def current(self) -> Counter[Location]:
        """The bytes that are held, by location."""
        return Counter(dict(zip(Location, self._current, strict=True)))

    @property
    def peak(self) -> Counter[Location]:
        """The most bytes that were held at a time, by location."""
        return Counter(dict(zip(Location, self._peak, strict=True)))

    def find(self, address: int) -> Held | None:
        """Return what is known of the block that starts at an address."""
        return self._held.get(address)

    def addresses(self) -> list[int]:
        """Return where the blocks in use begin."""
        with self._lock:
            return list(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def total(self, *locations: Location) -> int:
        """Return the bytes that are held at locations."""
        with self._lock:
            return sum(self._current[location] for location in locations)

    def by_site(self, location: Location = Location.DEVICE) -> list[tuple[str, int, int]]:
        """Return (call site, bytes, blocks) of what is held, largest first."""
        size: Counter[str] = Counter()
        count: Counter[str] = Counter()
        with self._lock:
            held = list(self._held.values())
        for block in held:
            if block.location is location:
                size[block.site] += block.size
                count[block.site] += 1
        return [(site, size[site], count[site]) for site, _ in size.most_common()]

    def lines(self) -> list[str]:
        """Say in lines who holds memory, by where it lies."""
        lines = []
        for location in Location:
            if rows := self.by_site(location):
                size, blocks = sum(row[1] for row in rows), sum(row[2] for row in rows)
                lines.append(f"{location.name.lower()} memory: {size} bytes in {count(blocks, 'block')}{most(rows)}")
        return lines

    def of_users(self) -> list[tuple[str, int, int, str]]:
        """Return (owner, address, bytes, call site) of blocks that users have asked for; not of physical memory."""
        return [
            (block.owner, block.address, block.requested, block.site) for block in self.in_use()
            if block.owner not in (SEGMENT, PHYSICAL)
        ]  # fmt: skip

    def largest(self, location: Location = Location.DEVICE) -> str:
        """Say in words who holds most."""
        rows = self.by_site(location)
        if not rows:
            return "this process holds none"
        total, blocks = sum(row[1] for row in rows), sum(row[2] for row in rows)
        return f"this process holds {total} bytes in {count(blocks, 'block')}{most(rows)}"


def most(rows: Sequence[tuple[str, int, int]]) -> str:
    """Say where those who hold most have asked: rows are (call site, bytes, blocks), largest first."""
    named = [row for row in rows if row[0]]
    if not named:
        return f" ({VARIABLE}=1 tells where they were asked for)"
    return ", most at " + ", ".join(f"{site} ({size} in {count})" for site, size, count in named[:_MOST_SITES])


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
        from runtime.memory.journal import Change

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
