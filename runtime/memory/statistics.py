"""Counters of a pool, under the names that users of torch.npu know."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from runtime.memory.blocks import Block

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
    """All counters; sizes in bytes.

    What is in use changes with every request, so it is kept as plain numbers; `counters` makes the rest of them.

    Attributes:
        segment, reserved_bytes: what the pool has of the driver.
        blocks, bytes, requested: in use: blocks, their bytes, and the bytes that were asked for.
        pending_blocks, pending_bytes: freed, but not yet known to be done with.
    """

    segment: Counter = field(default_factory=Counter)
    reserved_bytes: Counter = field(default_factory=Counter)
    blocks: int = 0
    bytes: int = 0
    requested: int = 0
    peak_blocks: int = 0
    peak_bytes: int = 0
    peak_requested: int = 0
    freed_blocks: int = 0
    freed_bytes: int = 0
    freed_requested: int = 0
    pending_blocks: int = 0
    pending_bytes: int = 0
    peak_active_blocks: int = 0
    """The most that was in use or pending while something was pending."""
    peak_active_bytes: int = 0
    num_alloc_retries: int = 0
    """How often the pool had to give cached memory back to get more."""
    num_ooms: int = 0
    num_driver_allocs: int = 0
    num_driver_frees: int = 0
    _before: tuple[int, ...] = (0, 0, 0, 0, 0)
    """What there was of `_now` when totals started."""

    def took(self, size: int, requested: int) -> None:
        """Count a block that was taken; straight on, because it runs with every request."""
        self.blocks = now = self.blocks + 1
        if now > self.peak_blocks:
            self.peak_blocks = now
        self.bytes = now = self.bytes + size
        if now > self.peak_bytes:
            self.peak_bytes = now
        self.requested = now = self.requested + requested
        if now > self.peak_requested:
            self.peak_requested = now
        if self.pending_blocks:
            self.peak_active_blocks = max(self.peak_active_blocks, self.blocks + self.pending_blocks)
            self.peak_active_bytes = max(self.peak_active_bytes, self.bytes + self.pending_bytes)

    def gave(self, size: int, requested: int) -> None:
        """Count a block that was given back."""
        self.blocks -= 1
        self.bytes -= size
        self.requested -= requested
        self.freed_blocks += 1
        self.freed_bytes += size
        self.freed_requested += requested

    def pends(self, size: int) -> None:
        """Count a block that was given back while further streams may use it."""
        self.pending_blocks += 1
        self.pending_bytes += size

    def rested(self, size: int) -> None:
        """Count a block that no stream but, in order, its own uses any more."""
        self.pending_blocks -= 1
        self.pending_bytes -= size

    def count_again(self, used: list[Block], pending: list[Block], reserved: int, segments: int) -> None:
        """Take what there is now from the blocks themselves."""
        self.blocks, self.bytes = len(used), sum(block.size for block in used)
        self.requested = sum(block.requested for block in used)
        self.pending_blocks, self.pending_bytes = len(pending), sum(block.size for block in pending)
        self.reserved_bytes.current, self.segment.current = reserved, segments

    def _now(self) -> tuple[int, ...]:
        return (self.blocks, self.bytes, self.requested, self.pending_blocks, self.pending_bytes)

    def counters(self) -> Iterator[tuple[str, Counter]]:
        """Return the counters with their names. `active`: in use, or freed but not yet known to be done with."""
        blocks, size, requested, pending, pending_size = self._before

        def counter(current: int, peak: int, freed: int, before: int) -> Counter:
            return Counter(current, peak, current + freed - before, freed)

        yield "allocation", counter(self.blocks, self.peak_blocks, self.freed_blocks, blocks)
        yield "segment", self.segment
        yield "active", counter(
            self.blocks + self.pending_blocks, max(self.peak_blocks, self.peak_active_blocks),
            self.freed_blocks + pending - self.pending_blocks, blocks + pending,
        )  # fmt: skip
        yield "allocated_bytes", counter(self.bytes, self.peak_bytes, self.freed_bytes, size)
        yield "reserved_bytes", self.reserved_bytes
        yield "active_bytes", counter(
            self.bytes + self.pending_bytes, max(self.peak_bytes, self.peak_active_bytes),
            self.freed_bytes + pending_size - self.pending_bytes, size + pending_size,
        )  # fmt: skip
        yield "requested_bytes", counter(self.requested, self.peak_requested, self.freed_requested, requested)

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
        for counter in (self.segment, self.reserved_bytes):
            counter.peak = counter.current
        self.peak_blocks, self.peak_bytes, self.peak_requested = self.blocks, self.bytes, self.requested
        self.peak_active_blocks = self.blocks + self.pending_blocks
        self.peak_active_bytes = self.bytes + self.pending_bytes

    def reset_accumulated(self) -> None:
        """Let totals and event counts start again at zero."""
        for counter in (self.segment, self.reserved_bytes):
            counter.allocated = counter.freed = 0
        self.freed_blocks = self.freed_bytes = self.freed_requested = 0
        self._before = self._now()
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


class PoolCounters:
    """The counters of one pool; all methods may be called from any thread."""

    def __init__(self) -> None:
        """Start at zero."""
        self.statistics = Statistics()
        self._lock = threading.RLock()

    def memory_allocated(self) -> int:
        """Return the bytes of blocks in use."""
        return self.statistics.bytes

    def max_memory_allocated(self) -> int:
        """Return the most bytes that were in use since the last `reset_peak_memory_stats`."""
        return self.statistics.peak_bytes

    def memory_reserved(self) -> int:
        """Return the bytes that the pool holds of the driver's memory."""
        return self.statistics.reserved_bytes.current

    def max_memory_reserved(self) -> int:
        """Return the most bytes that the pool has held since the last `reset_peak_memory_stats`."""
        return self.statistics.reserved_bytes.peak

    def memory_stats(self) -> dict[str, int]:
        """Return all counters by name: "allocated_bytes.all.current" and so on."""
        return self.statistics.as_dict()

    def memory_summary(self) -> str:
        """Return a table of all counters for people."""
        return self.statistics.table("memory pool")

    def reset_peak_memory_stats(self) -> None:
        """Let peaks start again at what is used now."""
        with self._lock:
            self.statistics.reset_peaks()

    def reset_accumulated_memory_stats(self) -> None:
        """Let totals and event counts start again at zero."""
        with self._lock:
            self.statistics.reset_accumulated()
