"""Allocation by the chip's rules: what a request becomes, which pages are tried, what an empty device answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from chips import Chip
from chips.memory_rules import Allocation, BadAllocation, allocation, rounded_size
from npuhal.errors import HalError
from runtime import errors
from runtime.driver.memory import MemoryDriver
from runtime.memory.ledger import Held, Ledger
from runtime.memory.location import Location

HUGE_FIRST = 0
"""Page policy: 2 MiB pages above 1 MiB, normal ones below or when there are none (aclrtMemMallocPolicy)."""

_LIMIT = 1 << 64
_MOST_PLANS = 1024
"""Kinds of requests of which it is remembered what they become."""
MANAGED_UNIT = 2 << 20
"""Managed memory comes in multiples of this."""


def below(fault: errors.RuntimeFault | None) -> HalError | None:
    """Return the driver's answer that a fault was made of."""
    return fault.__cause__ if fault is not None and isinstance(fault.__cause__, HalError) else None


class Allocator:
    """Blocks of one device from the driver, entered in its ledger. Addresses go in and out; objects are made above.

    Attributes:
        trim: gives cached memory back to the driver; called before a request that failed is repeated.
    """

    def __init__(self, memory: MemoryDriver, chip: Chip, ledger: Ledger, trim: Callable[[], object]) -> None:
        self.memory, self._chip, self._ledger = memory, chip, ledger
        self._padding = chip.padding_size
        self._allocation = lru_cache(_MOST_PLANS, typed=True)(partial(allocation, chip=chip))
        self.trim = trim

    def plan(self, size: int, policy: int, call: str, module: int | None = None) -> Allocation:
        """Return what a request becomes.

        Raises:
            InvalidArgument 100000: the size is not positive, or leaves 64 bits on the way.
            NotSupported 207000: the chip has no such pages.
        """
        try:
            return self._allocation(size, policy, call=call, module=module)
        except (BadAllocation, TypeError) as error:
            lacking = isinstance(size, int) and 0 < size < _LIMIT - (1 << 10)
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT" if lacking else "ACL_ERROR_INVALID_PARAM",
                f"{call}({size!r}): {error}",
                hint="use another page policy" if lacking else "pass a positive number of bytes",
            ) from error

    def padded(self, size: int) -> int:
        """Return the bytes that a request for device memory takes by the chip's rule; faults as in `plan`."""
        if not isinstance(size, int) or not 0 < size < _LIMIT >> 1:
            return self.plan(size, HUGE_FIRST, "malloc").size_bytes
        return rounded_size(size, self._padding)

    def device(self, size: int, policy: int = HUGE_FIRST, call: str = "malloc", module: int | None = None) -> int:
        """Return the address of new device memory.

        Raises:
            InvalidArgument 100000, NotSupported 207000: see `plan`.
            OutOfMemory 207001: there is not that much; the message says what is free, and who holds the rest.
        """
        plan = self.plan(size, policy, call, module)
        try:
            address = self.first(plan)
        except errors.OutOfMemory:
            self.trim()
            try:
                address = self.first(plan)
            except errors.OutOfMemory as empty:
                if "first" in empty.details:  # not because there is none
                    raise
                raise self._exhausted(size, plan, empty) from empty
        return self._enter(address, plan.size_bytes, Location.DEVICE, size)

    def first(self, plan: Allocation) -> int:
        """Return memory on the first kind of pages that has that much; the last kind's fault is raised."""
        *others, last = plan.attempts
        for flags in others:
            try:
                return self.memory.alloc(plan.size_bytes, flags)
            except errors.OutOfMemory:
                continue
        return self.memory.alloc(plan.size_bytes, last)

    def _exhausted(self, size: int, plan: Allocation, empty: errors.OutOfMemory) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_MEMORY_ALLOCATION",
            f"device {self.memory.device_id} has no {size} bytes left (asked the driver for {plan.size_bytes} on "
            f"{plan.page} pages, policy {plan.policy}): {self.shortage()}",
            hint=self.cure(plan.size_bytes), details={"asked": size, "padded": plan.size_bytes}, hal=below(empty),
        )

    def cure(self, size: int) -> str:
        """Say who has to give what, where the device has not so many bytes left."""
        pages = self.memory.pages()
        total = max(pages.total, pages.huge_total, pages.giant_total)
        if 0 < total < size:
            return f"ask for less: the device has {total} bytes of one kind of pages at most"
        held = self._ledger.total(Location.DEVICE, Location.MANAGED)
        if held >= size:
            return "close buffers that are no longer used; `npuhal info` shows what other processes hold"
        holds = "holds no memory that it could give" if not held else f"holds only {held} bytes"
        return f"this process {holds}: end other processes that use the device (`npuhal info`), or ask for less"

    def shortage(self) -> str:
        """Say in words what the driver has left, by page kind, who in this process holds most, and what others hold."""
        pages = self.memory.pages()
        kinds = (
            ("normal", pages.free, pages.total), ("huge", pages.huge_free, pages.huge_total),
            ("giant", pages.giant_free, pages.giant_total),
        )  # fmt: skip
        parts = [f"{free} of {total} bytes of {kind} pages are free" for kind, free, total in kinds if total]
        if not parts:
            return f"the driver does not say what is free; {self._ledger.largest()}"
        used, physical = sum(total - free for _, free, total in kinds), self.physical()
        others = max(used - self._ledger.total(Location.DEVICE, Location.MANAGED) - physical, 0)
        own = f"{physical} bytes are physical memory of this process; " if physical else ""
        return (
            f"{', '.join(parts)}; {self._ledger.largest()}; {own}"
            f"the runtime, libraries and other processes hold {others} bytes"
        )

    def physical(self) -> int:
        """Return the bytes of the device that this process has created as physical memory (`create_physical`)."""
        table = self.memory.resource_table.virtual
        return sum(each.size for each in table.of(self.memory.device_id) if not each.foreign)

    def no_physical(self, size: int, empty: errors.OutOfMemory) -> errors.RuntimeFault:
        """Return the fault where the driver has not so many bytes of physical memory left."""
        return errors.fault(
            "ACL_ERROR_RT_MEMORY_ALLOCATION", f"device {self._ledger.device} has no {size} bytes of physical memory "
            f"left: {self.shortage()}", hal=below(empty),
            hint="close physical memory and buffers that are no longer used; `npuhal info` shows what other "
            "processes hold",
        )

    def host(self, size: int, call: str = "malloc_host", module: int | None = None) -> int:
        """Return the address of new pinned host memory; faults as in `plan`.

        Raises:
            OutOfMemory 207001: no more can be pinned; the message says who in this process holds most.
        """
        plan = self.plan(size, HUGE_FIRST, call, module)
        try:
            address = self.memory.alloc(plan.size_bytes, plan.flags)
        except errors.OutOfMemory as empty:
            if "first" in empty.details:
                raise
            pinned = self._ledger.total(Location.HOST)
            raise errors.fault(
                "ACL_ERROR_RT_MEMORY_ALLOCATION", f"no {size} bytes of host memory can be pinned for device "
                f"{self.memory.device_id}: {self._ledger.largest(Location.HOST)}",
                hint="close host buffers that are no longer used; the system limits what can be pinned" if pinned else
                "this process has pinned nothing: raise what the system lets be pinned (ulimit -l, the container's "
                "memory), free host memory, or ask for less",
                details={"asked": size, "padded": plan.size_bytes}, hal=below(empty),
            ) from empty
        return self._enter(address, plan.size_bytes, Location.HOST, size)

    def managed(self, size: int) -> int:
        """Return the address of new memory that host and device share, in units of 2 MiB.

        Raises:
            NotSupported 207000: the chip's driver has none.
        """
        rounded = -(-size // MANAGED_UNIT) * MANAGED_UNIT
        address = self.memory.alloc_managed(rounded)
        return self._enter(address, rounded, Location.MANAGED, size)

    def _enter(self, address: int, size: int, location: Location, asked: int) -> int:
        """Enter a block in the ledger, and tell tools how much of it the user has asked for."""
        held = self._ledger.add(address, size, location, asked)
        if self.memory.hal.listens:
            self.memory.hal.annotate(("mem", address), Held(asked, location, held.site))
        return address

    def free(self, address: int) -> None:
        """Give a block back, whatever it is."""
        self.memory.free(address, held=True)
        self._ledger.remove(address)


class SegmentSource:
    """Where a pool's segments come from: driver memory that no user asked for, so no ledger has it."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._note = allocator.memory.hal.annotate
        self.annotate = self._annotate if allocator.memory.hal.listens else None

    def take(self, size: int) -> int:
        """Return new memory, on huge pages where there are some."""
        return self._allocator.first(self._allocator.plan(size, HUGE_FIRST, "malloc_align32"))

    def give(self, address: int) -> None:
        """Take memory back."""
        self._allocator.memory.free(address)

    def shortage(self) -> str:
        """Say in words what is left and who holds it."""
        return self._allocator.shortage()

    def _annotate(self, address: int, size: int | None, graph: int = -1) -> None:
        part = None if size is None else Held(size, Location.DEVICE, graph=graph)
        self._note(("block", address), part)
