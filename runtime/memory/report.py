"""Who a device's memory belongs to: the user's buffers, the pool, graphs, and what is left for everybody else."""

from __future__ import annotations

from collections.abc import Mapping

from npuhal.records import dataclass
from runtime.memory.statistics import amount


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """One device's memory by owner, in bytes as the driver counts them.

    Attributes:
        total, free: what the driver says, for all processes together.
        user: buffers that this process has asked the driver for (`device.alloc`, aclrtMalloc).
        pool: what `device.pool` holds and no graph needs: in use and cached.
        graphs: model id of a graph -> what was taken from the pool for it while it was captured; it is kept until the
            graph is closed.
        ordered_pools: memory behind the pools of the C API.
        physical: what this process has created without addresses (`device.create_physical`).
        components: (name, bytes now, peak) as the driver counts by component; empty where it does not.
    """

    total: int
    free: int
    user: int
    pool: int
    graphs: Mapping[int, int]
    ordered_pools: int
    components: tuple[tuple[str, int, int], ...] = ()
    physical: int = 0

    @property
    def used(self) -> int:
        """All that is in use on the device."""
        return self.total - self.free

    @property
    def graph(self) -> int:
        """What all graphs keep."""
        return sum(self.graphs.values())

    @property
    def rest(self) -> int:
        """What is left: queues, arguments and code of this runtime, libraries, and other processes."""
        return self.used - self.user - self.pool - self.graph - self.ordered_pools - self.physical

    def __str__(self) -> str:
        rows = [("user", self.user), ("pool", self.pool), ("ordered pools", self.ordered_pools),
                ("physical", self.physical)]
        rows += [(f"graph {number}", size) for number, size in self.graphs.items()]
        rows += [("runtime, libraries, other processes", self.rest), ("free", self.free), ("total", self.total)]
        return "\n".join(f"{name:<36}{amount(size):>12}" for name, size in rows)
