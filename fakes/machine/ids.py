"""Pools of the numbers that the driver and its firmware hand out: streams, events, models, notifies, queues."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

from chips.chip import Chip
from chips.traits import EntryFormat

_DEFAULT_LIMITS = {"stream": 2048, "event": 65536, "model": 2048, "notify": 8192, "cmo": 2048, "cnt_notify": 4096}
ID_KINDS = (*_DEFAULT_LIMITS, "sq", "cq")
"""Kinds of ids a card hands out."""
_QUEUES = 2048
"""SQ ids of one task scheduler; firmware decides it on a card (hal_semantics 4.2: 2048 channels)."""


def id_counts(chip: Chip, limits: Mapping[str, int]) -> dict[str, int]:
    """Return how many ids of each kind a card has: as the chip's manual states it, or as `limits` wants it."""
    stated = chip.limits
    counts = dict(_DEFAULT_LIMITS, sq=_QUEUES, cq=2 * _QUEUES + 4096)
    counts["stream"] = stated.max_streams or counts["stream"]
    counts["event"] = stated.events or counts["event"]
    counts["notify"] = stated.notifies or counts["notify"]
    if event_pool(chip) == "notify":
        counts["notify"] = counts["event"] = stated.event_count
    return {**counts, **limits}


def event_pool(chip: Chip) -> str:
    """Return the kind of id that events have: where entries name a register only, events and notifies share a table."""
    return "notify" if chip.traits.entries is EntryFormat.STARS_SMALL else "event"


def share_events(chip: Chip, *tables: dict[str, Any]) -> None:
    """Let events and notifies be the same in tables by kind, where a chip does not tell them apart."""
    for table in tables:
        table["event"] = table[event_pool(chip)]


class _Run:
    """Ids from a number on: those that were never taken begin at `fresh`, `returned` were given back."""

    __slots__ = ("fresh", "returned")

    def __init__(self, start: int) -> None:
        self.fresh = start
        self.returned: list[int] = []

    def lowest(self, end: int, used: set[int]) -> int | None:
        """Return the lowest id below `end` that is not used, or None; it is still free until it is in `used`."""
        while self.returned and self.returned[0] < end:
            number = self.returned[0]
            if number not in used:
                return number  # it stays here until it is found in use: an interrupt before that loses nothing
            heappop(self.returned)
        while self.fresh in used:
            self.fresh += 1
        return self.fresh if self.fresh < end else None


class IdPool:
    """Ids `first`..`limit - 1`, then those below; of each the lowest free one comes first."""

    def __init__(self, name: str, limit: int, first: int = 0) -> None:
        self.name = name
        self.limit = limit
        self.first = first
        self.used: set[int] = set()
        self.reserved: set[int] = set()
        """Ids of `used` that nothing has at the moment."""
        self._runs: dict[int, _Run] = {}

    @property
    def in_use(self) -> int:
        """How many ids are taken, by whomever; `used` are those of this process."""
        return len(self.used)

    @property
    def free(self) -> int:
        """How many ids are left."""
        return self.limit - self.in_use

    def taken(self, number: int) -> bool:
        """Whether an id is taken, by whomever."""
        return number in self.used

    def take(self, ceiling: int | None = None) -> int | None:
        """Return a free id below `ceiling`, or None."""
        top = self.limit if ceiling is None else min(self.limit, ceiling)
        number = self._lowest(self.first, top)
        if number is None and self.first:
            number = self._lowest(0, min(self.first, top))
        if number is not None:
            self._own(number)
        return number

    def _lowest(self, start: int, end: int) -> int | None:
        run = self._runs.get(start)
        if run is None:
            run = self._runs[start] = _Run(start)
        return run.lowest(end, self.used)

    def _own(self, number: int) -> None:
        self.used.add(number)

    def take_this(self, number: int) -> bool:
        """Take a given id; False when it is in use or out of range."""
        if number in self.reserved:
            self.reserved.discard(number)
            return True
        if number in self.used or not 0 <= number < self.limit:
            return False
        self.used.add(number)
        return True

    def reserve(self, number: int) -> None:
        """Keep an id from others although nothing has it any more: `take_this` alone gets it."""
        self.reserved.add(number)

    def give(self, number: int) -> bool:
        """Return an id; False when it was not taken."""
        if number not in self.used:
            return False
        self.reserved.discard(number)
        run = self._runs.get(self.first if number >= self.first else 0)
        if run is not None and number < run.fresh:
            heappush(run.returned, number)
        self.used.discard(number)  # last: until then an interrupt leaves the id taken, and it can be given again
        return True

    def occupy(self, count: int) -> None:
        """Let somebody else hold `count` ids from now on (limits and exhaustion in tests)."""
        for _ in range(count):
            if self.take() is None:
                break

    def reset(self) -> None:
        """Forget every id, as after a device reset."""
        self.used.clear()
        self.reserved.clear()
        self._runs.clear()
