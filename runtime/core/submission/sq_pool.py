"""What software SQs run on: queues without memory of their own, and device memory for entries (core_spec 5.3, 5.9).

A queue is lent to a stream by binding it to the stream's memory. The memory stays with the stream; the queue can be
taken back while the stream is idle, and lent to another one.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from npuhal import constants as c
from npuhal.records import dataclass, replace
from runtime import errors
from runtime.core.diagnostics import resource_report
from runtime.core.modes import SaturationMode
from runtime.driver import resources as id_kinds
from runtime.driver.queues import NO_ID, SQE_BYTES, QueueOptions
from runtime.errors.closing import each

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort

MAX_QUEUES = 1024
"""Queues that the pool of a device holds at most, lent and free ones together."""
RESERVE = 4
"""Spare queues that are kept for the next graph when one ends."""
_PAGE = 2 << 20
_SMALLEST = 32 << 10
_TRIES = 10


@dataclass(frozen=True, slots=True)
class SqMemory:
    """Device memory for the entries of one software SQ."""

    address: int
    size_bytes: int

    @property
    def entries(self) -> int:
        """Entries that fit."""
        return self.size_bytes // SQE_BYTES


class SqMemoryPool:
    """Memory in sizes of 32 KiB to 2 MiB, cut from huge pages: a ring must not cross one."""

    __slots__ = ("_device", "_free", "_lock", "_pages")

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self._free: dict[int, list[int]] = {}
        self._pages: list[int] = []
        self._lock = threading.Lock()

    def take(self, entries: int) -> SqMemory:
        """Return memory for so many entries.

        Raises:
            OutOfMemory 207001: the device has no page left.
        """
        size = _SMALLEST
        while size < entries * SQE_BYTES:
            size *= 2
        with self._lock:
            free = self._free.setdefault(size, [])
            if not free:
                page = self._device.memory.alloc(_PAGE, internal_flags(hbm=True, huge=True, p2p=True))
                self._pages.append(page)
                free += range(page + _PAGE - size, page - 1, -size)
            return SqMemory(free.pop(), size)

    def give_back(self, memory: SqMemory) -> None:
        """Take memory back for the next who asks for its size."""
        with self._lock:
            self._free[memory.size_bytes].append(memory.address)

    def close(self) -> None:
        """Free all pages; nothing is bound to them any more."""
        with self._lock:
            self._free.clear()
            pages, self._pages = self._pages, []
        each(map(self._device.memory.freeing, reversed(pages)))


@dataclass(frozen=True, slots=True)
class SpareQueue:
    """A hardware SQ without memory, its CQ, and where its registers are; another object for each time it is lent."""

    sq_id: int
    cq_id: int
    register_base: int


class SqPool:
    """Queues that are lent to software SQs; those given back are kept for the next."""

    __slots__ = ("_device", "_free", "_lent", "_lock")

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self._free: deque[SpareQueue] = deque()
        self._lent: dict[int, SpareQueue] = {}
        """By SQ id: what whoever has the queue now was given."""
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Queues the pool holds, lent and free ones together."""
        return len(self._free) + len(self._lent)

    @property
    def spare(self) -> int:
        """Queues that are free now."""
        return len(self._free)

    def take(self, count: int, into: list[SpareQueue]) -> None:
        """Lend queues; all of them, or none where there are too few.

        Args:
            into: gets them one by one: where an interrupt ends the call, those that are in it were lent.

        Raises:
            ResourceExhausted 207005: the driver has none left, or the pool holds MAX_QUEUES.
        """
        with self._lock:
            self._top_up(count)
            self._lend(count, into)

    def _lend(self, count: int, into: list[SpareQueue]) -> None:
        for _ in range(count):
            queue = replace(self._free[0])
            # nothing from here on can be interrupted
            self._lent[queue.sq_id] = queue
            del self._free[0]
            into.append(queue)

    def reserve(self) -> None:
        """Hold a queue ready, if the driver has one."""
        with self._lock:
            if self.size < MAX_QUEUES:
                try:
                    self._free.append(self._allocate(tries=1))
                except errors.ResourceExhausted:
                    return

    def give_back(self, queues: list[SpareQueue]) -> None:
        """Take queues back that are bound to nothing; those that were given back before are passed over."""
        with self._lock:
            self._put_back(queues)

    def _put_back(self, queues: list[SpareQueue]) -> None:
        for queue in queues:
            if self._lent.get(queue.sq_id) is queue:
                # nothing from here on can be interrupted
                del self._lent[queue.sq_id]
                self._free.append(queue)

    def find_registers(self) -> None:
        """Ask again where the registers of the free queues are: they were created again, and none is lent."""
        device = self._device
        with self._lock:
            for index, queue in enumerate(self._free):
                base = device.queues.register_base(queue.sq_id)
                device.sq_registers.write(queue.sq_id, base)
                self._free[index] = replace(queue, register_base=base)

    def release_one(self) -> bool:
        """Give a free queue back to the driver; False when there is none."""
        with self._lock:
            if not self._free:
                return False
            queue = self._free.popleft()
            each([self._device.queues.freeing(queue.sq_id, queue.cq_id)])
            return True

    def trim(self) -> None:
        """Give spare queues back to the driver but for a few, so that others who share the card find some."""
        while self.spare > RESERVE and self.release_one():
            pass

    def close(self) -> None:
        """Give all free queues back to the driver."""
        with self._lock:
            queues = list(self._free)
            self._free.clear()
        each(self._device.queues.freeing(queue.sq_id, queue.cq_id) for queue in queues)

    def _top_up(self, count: int) -> None:
        missing = count - len(self._free)
        if missing > 0 and self.size + missing > MAX_QUEUES:
            raise self._exhausted(f"{count} queues are asked for, and the pool holds {self.size} of {MAX_QUEUES}")
        for _ in range(missing):
            self._free.append(self._allocate(tries=_TRIES))

    def _allocate(self, tries: int) -> SpareQueue:
        device = self._device
        chip, queues = device.chip, device.queues
        options = QueueOptions(NO_ID, inf_nan=device.saturation is SaturationMode.INF_NAN)
        depth = chip.limits.rtsq_depth
        while True:
            tries -= 1
            try:
                sq_id, cq_id = queues.create(
                    options, depth=depth, cqe_bytes=chip.limits.cqe_size, cq_depth=chip.limits.rtcq_depth or depth,
                    extended=chip.traits.extended_queue_info, flags=c.TSDRV_FLAG_NO_SQ_MEM,
                )
                break
            except errors.ResourceExhausted:
                if not tries:
                    raise
        try:
            base = queues.register_base(sq_id)
            device.sq_registers.write(sq_id, base)
        except BaseException:
            queues.free(sq_id, cq_id)
            raise
        return SpareQueue(sq_id, cq_id, base)

    def _exhausted(self, reason: str) -> errors.RuntimeFault:
        fault = errors.fault("ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", reason, layer="core")
        resource_report.explain(self._device, id_kinds.SQ, fault, "execution of a graph")
        return fault
