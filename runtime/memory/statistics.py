"""Counters of a pool, under the names that users of torch.npu know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(slots=True)
class Counter:
    """One quantity: now, at most, and everything ever added and taken away."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0

    def add(self, amount: int) -> None:
        """Count an increase."""
        self.current += amount
        self.allocated += amount
        self.peak = max(self.peak, self.current)

    def take(self, amount: int) -> None:
        """Count a decrease."""
        self.current -= amount
        self.freed += amount


@dataclass(slots=True)
class Statistics:
    """All counters; sizes in bytes. `active`: in use, or freed but not yet known to be done with."""

    allocation: Counter = field(default_factory=Counter)
    segment: Counter = field(default_factory=Counter)
    active: Counter = field(default_factory=Counter)
    allocated_bytes: Counter = field(default_factory=Counter)
    reserved_bytes: Counter = field(default_factory=Counter)
    active_bytes: Counter = field(default_factory=Counter)
    requested_bytes: Counter = field(default_factory=Counter)
    num_alloc_retries: int = 0
    """How often the pool had to give cached memory back to get more."""
    num_ooms: int = 0
    num_driver_allocs: int = 0
    num_driver_frees: int = 0

    def took(self, size: int, requested: int) -> None:
        """Count a block that was taken; one function, because it runs with every request."""
        for counter, amount in (
            (self.allocation, 1), (self.active, 1), (self.allocated_bytes, size), (self.active_bytes, size),
            (self.requested_bytes, requested),
        ):  # fmt: skip
            counter.allocated += amount
            counter.current = current = counter.current + amount
            if current > counter.peak:
                counter.peak = current

    def gave(self, size: int, requested: int, *, rests: bool) -> None:
        """Count a block that was given back; `rests` says that no other stream uses it any more."""
        for counter, amount in (
            (self.allocation, 1), (self.allocated_bytes, size), (self.requested_bytes, requested),
        ):  # fmt: skip
            counter.freed += amount
            counter.current -= amount
        if rests:
            self.rested(size)

    def rested(self, size: int) -> None:
        """Count a block that no stream but, in order, its own uses any more."""
        for counter, amount in ((self.active, 1), (self.active_bytes, size)):
            counter.freed += amount
            counter.current -= amount

    def counters(self) -> Iterator[tuple[str, Counter]]:
        """Return the counters with their names."""
        for name in ("allocation", "segment", "active", "allocated_bytes", "reserved_bytes", "active_bytes",
                     "requested_bytes"):  # fmt: skip
            yield name, getattr(self, name)

    def as_dict(self) -> dict[str, int]:
        """Return everything flat: "allocated_bytes.all.peak" and so on."""
        found = {
            f"{name}.all.{part}": getattr(counter, part)
            for name, counter in self.counters()
            for part in ("current", "peak", "allocated", "freed")
        }
        found.update(
            num_alloc_retries=self.num_alloc_retries, num_ooms=self.num_ooms,
            num_device_alloc=self.num_driver_allocs, num_device_free=self.num_driver_frees,
        )
        return found

    def reset_peaks(self) -> None:
        """Let peaks start again at what is used now."""
        for _, counter in self.counters():
            counter.peak = counter.current

    def reset_accumulated(self) -> None:
        """Let totals and event counts start again at zero."""
        for _, counter in self.counters():
            counter.allocated = counter.freed = 0
        self.num_alloc_retries = self.num_ooms = self.num_driver_allocs = self.num_driver_frees = 0

    def table(self, title: str) -> str:
        """Return a table for people."""
        rows = [f"{title}", f"{'':<20}{'current':>12}{'peak':>12}{'total':>12}{'freed':>12}"]
        for name, counter in self.counters():
            show = amount if name.endswith("bytes") else str
            parts = (counter.current, counter.peak, counter.allocated, counter.freed)
            rows.append(f"{name.replace('_', ' '):<20}" + "".join(f"{show(part):>12}" for part in parts))
        rows.append(f"retries after giving memory back: {self.num_alloc_retries}, out of memory: {self.num_ooms}")
        return "\n".join(rows)


def amount(size: int) -> str:
    """Write a number of bytes for people: 2.0 MiB."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
