"""What a pool counts, under the names that users of torch.npu know."""

from __future__ import annotations

import threading

from runtime.memory.statistics import Statistics


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
