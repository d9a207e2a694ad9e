"""A device's memory over time: which block was there when, whose it was, and how full and how cut up that made it.

Made of the changes that a `runtime.memory.journal.Journal` has kept. What a pool has from the driver and nobody uses is
`cached`; blocks of host memory are counted apart, because they take none of the device's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple
from runtime.memory.journal import Change
from runtime.memory.ledger import ORDERED, PHYSICAL, POOL, SEGMENT
from runtime.memory.statistics import amount

_NS = 1000.0
CACHED = "cached"
"""What a pool holds and nobody uses."""
ELSEWHERE = ("host",)
"""Owners of blocks that are not the device's."""
_ORDER = ("device", "managed", PHYSICAL, ORDERED, POOL)
_MOST_SITES = 3


@dataclass(frozen=True, slots=True)
class Allocation:
    """One block.

    Attributes:
        owner, address, size, requested, site: as of `Change`.
        began_us: when it came; negative or 0 if it was there when the trace began.
        ended_us: when it went; None if it was there in the end.
    """

    owner: str
    address: int
    size: int
    requested: int
    site: str
    began_us: float
    ended_us: float | None

    def at(self, when_us: float) -> bool:
        """Whether it was there at a time."""
        return self.began_us <= when_us and (self.ended_us is None or when_us < self.ended_us)


class Fragmentation(NamedTuple):
    """What a pool holds and nobody uses, at a time.

    Attributes:
        free: bytes, all pieces together.
        pieces: stretches between blocks in use.
        largest: bytes of the largest.
    """

    free: int
    pieces: int
    largest: int

    @property
    def share(self) -> float:
        """Which part of the free bytes is not in the largest piece, 0 to 1: 0 is all in one."""
        return 1 - self.largest / self.free if self.free else 0.0


class MemoryLane:
    """The memory of one device over the time of a trace."""

    def __init__(self, device: int, allocations: Iterable[Allocation]) -> None:
        """Take all blocks and segments, in any order."""
        self.device = device
        every = sorted(allocations, key=lambda one: one.began_us)
        self.segments = tuple(one for one in every if one.owner == SEGMENT)
        self.allocations = tuple(one for one in every if one.owner != SEGMENT)
        self.times, self._totals = self._sum(every)
        """Microseconds at which something changed, and the bytes by owner from then on."""
        self.owners: tuple[str, ...] = tuple(sorted({name for row in self._totals for name in row}, key=_rank))

    def _sum(self, every: Iterable[Allocation]) -> tuple[list[float], list[Mapping[str, int]]]:
        steps: dict[float, Counter[str]] = defaultdict(Counter)
        for one in every:
            cached = 1 if one.owner == SEGMENT else -1 if one.owner == POOL or one.owner.startswith("graph ") else 0
            for when, sign in ((one.began_us, 1), (one.ended_us, -1)):
                if when is not None:
                    steps[when][CACHED] += sign * cached * one.size
                    if one.owner != SEGMENT:
                        steps[when][one.owner] += sign * one.size
        now: Counter[str] = Counter()
        times: list[float] = []
        totals: list[Mapping[str, int]] = []
        for when in sorted(steps):
            now.update(steps[when])
            times.append(when)
            totals.append({name: now[name] for name in sorted(now, key=_rank) if now[name] > 0})
        return times, totals

    def at(self, when_us: float) -> Mapping[str, int]:
        """Return the bytes by owner at a time; what is cached comes behind what is in use."""
        index = bisect_right(self.times, when_us) - 1
        return self._totals[index] if index >= 0 else {}

    @property
    def high_water(self) -> tuple[float, int]:
        """When the device's memory was fullest with blocks of this process, and their bytes, cached ones too.

        Of several such times it is the first of those at which most was in use.
        """
        sums = [sum(size for name, size in row.items() if name not in ELSEWHERE) for row in self._totals]
        if not sums:
            return 0.0, 0
        most = max(range(len(sums)), key=lambda index: (sums[index], -self._totals[index].get(CACHED, 0)))
        return self.times[most], sums[most]

    def by_site(self, when_us: float) -> list[tuple[str, str, int, int]]:
        """Return (owner, call site, bytes, blocks) of what was there at a time, largest first."""
        size: Counter[tuple[str, str]] = Counter()
        count: Counter[tuple[str, str]] = Counter()
        for one in self.allocations:
            if one.at(when_us):
                size[one.owner, one.site] += one.size
                count[one.owner, one.site] += 1
        return [(*key, size[key], count[key]) for key, _ in size.most_common()]

    def fragmentation(self, when_us: float) -> Fragmentation:
        """Return how cut up the unused memory of the device's pool was at a time."""
        used = sorted((one.address, one.address + one.size) for one in self.allocations
                      if (one.owner == POOL or one.owner.startswith("graph ")) and one.at(when_us))  # fmt: skip
        gaps: list[int] = []
        for segment in (one for one in self.segments if one.at(when_us)):
            at, end = segment.address, segment.address + segment.size
            first = bisect_right(used, (at, 0))
            for began, ended in used[first:]:
                if began >= end:
                    break
                gaps.append(began - at)
                at = ended
            gaps.append(end - at)
        gaps = [gap for gap in gaps if gap > 0]
        return Fragmentation(sum(gaps), len(gaps), max(gaps, default=0))

    def sentences(self) -> list[str]:
        """Return what stands out: the high-water mark with who held most, and how cut up the pool was then."""
        when, most = self.high_water
        if not most:
            return []
        parts = [f"{name} {amount(size)}" for name, size in self.at(when).items() if name not in ELSEWHERE]
        sites = [f"{site} ({amount(size)} in {count})" for owner, site, size, count in self.by_site(when)
                 if site and owner not in ELSEWHERE][:_MOST_SITES]  # fmt: skip
        most_at = f"; most from {', '.join(sites)}" if sites else ""
        said = [f"memory: device {self.device} held at most {amount(most)} ({', '.join(parts)}){most_at}"]
        cut = self.fragmentation(when)
        if cut.pieces > 1:
            said.append(f"fragmentation: {amount(cut.free)} of the pool were cached at that time in {cut.pieces} "
                        f"pieces, the largest of {amount(cut.largest)}")  # fmt: skip
        return said


def _rank(owner: str) -> tuple[int, str]:
    """Order owners: from the driver, then from pools, then of graphs, what is cached last but host memory."""
    if owner in ELSEWHERE:
        return len(_ORDER) + 2, owner
    if owner == CACHED:
        return len(_ORDER) + 1, owner
    return (_ORDER.index(owner) if owner in _ORDER else len(_ORDER)), owner


def lanes_of(changes: Iterable[Change], began_ns: int) -> tuple[MemoryLane, ...]:
    """Return the memory of each device that changes are about."""
    found: dict[int, list[Allocation]] = defaultdict(list)
    open_blocks: dict[tuple[int, bool, int], Change] = {}
    for change in changes:
        key = change.device, change.owner == SEGMENT, change.address
        before = open_blocks.pop(key, None)
        if change.taken:
            open_blocks[key] = before or change  # told twice: by who came, and as what was there
            continue
        since = began_ns if before is None else before.when_ns
        found[change.device].append(_allocation(before or change, since, change.when_ns, began_ns))
    for change in open_blocks.values():
        found[change.device].append(_allocation(change, change.when_ns, None, began_ns))
    return tuple(MemoryLane(device, found[device]) for device in sorted(found))


def _allocation(change: Change, since: int, until: int | None, began_ns: int) -> Allocation:
    ended = None if until is None else (until - began_ns) / _NS
    return Allocation(change.owner, change.address, change.size, change.requested, change.site,
                      (since - began_ns) / _NS, ended)  # fmt: skip
