"""What a process has done on a device: calls and tasks by kind, for whoever looks why a host thread is the bottleneck.

Nothing counts on the way of a launch. A ring knows who stands at each of its positions, so tasks are counted from there
when somebody asks, and on every tick behind which more than half of a lap has not been counted.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from chips.tasks import TaskType
from npuhal.records import dataclass, field
from runtime.core.submission.ring import NO_TASK, RingV100, RingV200, TaskRing

if TYPE_CHECKING:
    from runtime.core.diagnostics.tally import Tally
    from runtime.core.ports import StreamPort
    from runtime.core.submission.ring import TaskInfo

VARIABLE = "NPUHAL_COUNTERS"
"""1: what was done on a device is written to standard error when it is closed."""

Counts = Sequence[tuple[str, int]]
"""How many tasks there are of each kind."""
_MAPPINGS = ("copies", "tasks")
_LAUNCHES = frozenset((
    TaskType.KERNEL_AICORE, TaskType.KERNEL_AIVEC, TaskType.KERNEL_AICPU, TaskType.KERNEL_MIX_AIC,
    TaskType.KERNEL_MIX_AIV, TaskType.FUSION_KERNEL, TaskType.FFTS_PLUS,
))  # fmt: skip
LAUNCHES, EXECUTIONS, OTHERS = "launches", "graph executions", "others"
_KINDS = {TaskType.MODEL_EXECUTE: EXECUTIONS, TaskType.MEMSET: "fill", **dict.fromkeys(_LAUNCHES, LAUNCHES)}
_NAMED = ("copy", "fill", "event record", "event wait", "notify record", "notify wait", "count-notify record",
          "count-notify wait", "value write", "value wait", "reduction")  # fmt: skip
"""Beginnings of the names of other tasks that are counted by them."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What was done on a device since it was opened.

    Attributes:
        set_device: calls of `set_device`, in C aclrtSetDevice.
        synchronizes: waits of the host for streams, events and the device.
        launches, graph_executions: kernels that were sent, one by one or many at once, and executions of graphs; what a
            graph executes is not among the launches.
        copies: copies by kind, those in streams by their direction, and "at once" those that the caller waits for.
        records, waits: tasks of streams that record events, notifies or values, and that wait for them.
        tasks: all tasks by name.
        allocations: requests to the driver for device, host and managed memory.
        pool_requests, pool_hits: blocks that the pool handed out, and those for which it needed nothing of the driver.
        captures: captures that were begun.
        retries: openings asked again of a busy driver, and requests for which the pool gave cached memory back.
    """

    set_device: int = 0
    synchronizes: int = 0
    launches: int = 0
    graph_executions: int = 0
    copies: Mapping[str, int] = field(default_factory=dict)
    records: int = 0
    waits: int = 0
    tasks: Mapping[str, int] = field(default_factory=dict)
    allocations: int = 0
    pool_requests: int = 0
    pool_hits: int = 0
    captures: int = 0
    retries: int = 0


class TaskCounts:
    """The tasks of one stream by kind."""

    __slots__ = ("_entries", "_lock", "_numbers", "_ring", "kinds")

    def __init__(self, ring: TaskRing) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self.kinds: Mapping[str, int] = {}
        self.skip()

    def skip(self) -> None:
        """Count from here on: what was sent before is the runtime's own, or the positions were given anew."""
        self._entries, self._numbers = self._ring.submitted, _numbers(self._ring)

    def ticking(self, tick: Callable[[], None]) -> Callable[[], None]:
        """Return a stream's tick that also counts before a lap is over."""
        ring, half = self._ring, self._ring.depth // 2

        def count_and_tick() -> None:
            if ring.submitted - self._entries >= half:
                self.look()
            tick()

        return count_and_tick

    def look(self) -> Mapping[str, int]:
        """Count what was sent since the last look; returns all counts."""
        with self._lock:
            self._count(self._ring.submitted, _numbers(self._ring))
            return self.kinds

    def sent(self, start: int, kinds: Counts) -> None:
        """Count what has been sent from an absolute count on: tasks of one entry each. The ring is not asked for them.

        Called under the stream's lock.
        """
        ring = self._ring
        with self._lock:
            if self._entries > start:
                return  # another thread has just looked
            end, numbers = ring.submitted, _numbers(ring)
            if self._entries != start:
                self._count(start, numbers - (end - start) if numbers >= 0 else -1)
            self._add(end, numbers, kinds)

    def _count(self, end: int, numbers: int) -> None:
        """Count what was sent before an absolute count; the ring says of what kinds that is."""
        entries = end - self._entries
        kinds: Counts = () if entries <= 0 else ((OTHERS, entries),)  # who they were has been overwritten
        if 0 < entries <= self._ring.depth:
            kinds = self._owners(end, entries, numbers - self._numbers if numbers >= 0 else -1)
        self._add(end, numbers, kinds)

    def _add(self, end: int, numbers: int, kinds: Counts) -> None:
        """Add tasks by their kinds; everything before an absolute count has been counted then."""
        counts = {**self.kinds}
        for kind, count in kinds:
            counts[kind] = counts.get(kind, 0) + count
        # all at once: no interrupt counts them twice
        self.kinds, self._entries, self._numbers = counts, end, numbers

    def _owners(self, end: int, entries: int, tasks: int) -> Counts:
        """Return what the ring has of the tasks before an absolute count."""
        ring, first = self._ring, (end - entries) % self._ring.depth
        owners = ring.owners[first : first + entries]
        owners += ring.owners[: entries - len(owners)]
        if tasks != entries:  # some take several entries, which all have their task's number
            ids = [ring.id_at((first + step) % ring.depth) for step in range(entries)]
            owners = [owner for step, owner in enumerate(owners) if not step or ids[step] != ids[step - 1]]
        halves = [half for half in (owners[::2], owners[1::2]) if half]
        if all(half.count(half[0]) == len(half) for half in halves):  # one or two, again and again
            return [(_kind(half[0]), len(half)) for half in halves]
        return counted(owners)


def counted(owners: Sequence[TaskInfo | None]) -> Counts:
    """Return how many tasks of each kind there are; few owners, however many tasks: names are asked once of each."""
    known = dict(zip(map(id, owners), owners, strict=True))
    return [(_kind(known[number]), count) for number, count in Counter(map(id, owners)).items()]


def _numbers(ring: TaskRing) -> int:
    """Return how many task numbers a ring has given out; -1 where it does not say."""
    if isinstance(ring, RingV100):
        return ring.flips * NO_TASK + ring.next_id
    return ring.allocations if isinstance(ring, RingV200) else -1


def _kind(owner: TaskInfo | None) -> str:
    if owner is None:
        return OTHERS
    if (kind := _KINDS.get(owner.type)) is not None:
        return kind
    return owner.name if owner.name.startswith(_NAMED) else OTHERS


@contextmanager
def uncounted(streams: Sequence[StreamPort]) -> Iterator[None]:
    """Leave out what is sent to streams meanwhile, and the waits for them: it is the runtime's own."""
    waited = [stream.synchronizes for stream in streams]
    for stream in streams:
        stream.counts.look()
    yield
    for stream, count in zip(streams, waited, strict=True):
        stream.synchronizes = count
        stream.counts.skip()


def gathered(streams: list[StreamPort], tally: Tally, **further: int) -> Counters:
    """Return the counters of a device.

    Args:
        streams: those that are open.
        further: what the memory of the device has counted.
    """
    tasks = Counter(tally.closed)
    synchronizes = tally.synchronizes
    for stream in streams:
        synchronizes += stream.synchronizes
        if not stream.keeps_tasks:
            tasks.update(stream.counts.look())
    copies = {name: count for name, count in tasks.items() if name.startswith("copy")}
    if tally.copies_at_once:
        copies["at once"] = tally.copies_at_once
    return Counters(
        set_device=tally.set_device, synchronizes=synchronizes, launches=tasks[LAUNCHES],
        graph_executions=tasks[EXECUTIONS], copies=MappingProxyType(copies),
        records=sum(count for name, count in tasks.items() if name.endswith((" record", "value write"))),
        waits=sum(count for name, count in tasks.items() if name.endswith(" wait")),
        tasks=MappingProxyType(dict(tasks)), captures=tally.captures,
        retries=tally.open_retries + further.pop("pool_retries", 0), **further,
    )


def write_out(device: int, counters: Callable[[], Counters]) -> None:
    """Write to standard error what was done on a device that is being closed, if the environment asks for it."""
    if os.environ.get(VARIABLE) != "1":
        return
    found = counters()
    rows = {name.replace("_", " "): getattr(found, name) for name in Counters.__slots__ if name not in _MAPPINGS}
    rows |= {"copies at once" if name == "at once" else name: count for name, count in found.copies.items()}
    rows |= {name: count for name, count in found.tasks.items() if name not in (*rows, OTHERS)}
    lines = [f"{count:12,}  {name}" for name, count in rows.items() if count]
    print(f"npuhal: done on device {device} until it was closed:", *lines or ["     nothing"], sep="\n",
          file=sys.stderr)  # fmt: skip
