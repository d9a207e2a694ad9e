"""The stream-ordered pools of the C API (soma): a reserved range cut into segments by address (core_spec 13.13).

A segment is free (no memory behind it), cached (given back, its memory kept) or busy. The design follows the vendor's;
its first revision never uses a cached segment again before a trim, ours does so for the stream that gave it back.
"""

from __future__ import annotations

import enum
import threading

from npuhal import constants as c
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.memory import MemoryDriver
from runtime.driver.pools import PoolDriver
from runtime.driver.vmm import PhysicalKind, VirtualDriver
from runtime.memory.ledger import ORDERED, InUse, Ledger

UNIT = 2 << 20
"""Granularity of sizes."""


class State(enum.IntEnum):
    """What a segment is."""

    FREE = 0
    CACHED = 1
    BUSY = 2


class PoolAttribute(enum.IntEnum):
    """What can be asked of a pool (acl_rt.h, aclrtMemPoolAttr); 1 to 3 are switches, the rest byte counts."""

    REUSE_FOLLOW_EVENTS = 1
    REUSE_OPPORTUNISTIC = 2
    REUSE_INTERNAL = 3
    RELEASE_THRESHOLD = 4
    RESERVED_CURRENT = 5
    RESERVED_HIGH = 6
    USED_CURRENT = 7
    USED_HIGH = 8


_SWITCHES = (PoolAttribute.REUSE_FOLLOW_EVENTS, PoolAttribute.REUSE_OPPORTUNISTIC, PoolAttribute.REUSE_INTERNAL)
_HIGHS = (PoolAttribute.RESERVED_HIGH, PoolAttribute.USED_HIGH)


@dataclass(slots=True, eq=False)
class Segment:
    """A stretch of the range; `stream` gave it back last."""

    address: int
    size: int
    state: State = State.FREE
    stream: int = 0


class OrderedPool:
    """One pool. Sizes are multiples of 2 MiB inside; the range has `size` bytes in all."""

    def __init__(self, memory: MemoryDriver, device_id: int, maximum: int, call: str, ledger: Ledger | None = None,
                 ) -> None:
        """Reserve the range and make the driver's pool.

        Args:
            maximum: bytes of the range; 0: all of the device's memory.
            ledger: whose journals are told of the blocks.

        Raises:
            InvalidArgument 107000: more than the device has (EE1011).
        """
        total = memory.space()[1] // UNIT * UNIT
        size = -(-maximum // UNIT) * UNIT or total
        if size > total:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: maxSize is {maximum}, the device has {total} bytes",
                ee="EE1011", params=(call, maximum, "maxSize", f"the device has {total} bytes"),
                hint="pass 0 for all there is",
            )
        self.size = size
        self.device_id = device_id
        self._driver = PoolDriver(memory.hal, device_id)
        self._addresses = VirtualDriver(memory.hal, device_id)
        self.address = self._addresses.reserve(size, 0, 1)
        self.number = self.address
        try:
            kind = PhysicalKind(c.MEM_DEV_SIDE, device_id, c.MEM_HUGE_PAGE_TYPE)
            self._driver.create(self.number, self.address, size, kind)
        except BaseException:
            self._addresses.release(self.address)
            raise
        self._segments = [Segment(self.address, size)]
        self._lock = threading.RLock()
        self._values = dict.fromkeys(PoolAttribute, 0)
        self._sites: dict[int, str] = {}
        """Call sites of the blocks that were taken while somebody looked."""
        self.closed = False
        self._ledger = ledger
        if ledger is not None:
            ledger.parts.append(self)

    # -- who looks -------------------------------------------------------------------------------------------------

    def listen(self, wanted: bool) -> None:
        """Nothing is to be done: the ledger is asked at each call."""

    def in_use(self) -> list[InUse]:
        """Return the blocks in use."""
        return [InUse(ORDERED, address, size, size, self._sites.get(address, "")) for address, size in self.busy()]

    def _note(self, taken: bool, segment: Segment) -> None:
        if self._ledger is not None and self._ledger.journals:
            site = self._ledger.call_site() if taken else self._sites.pop(segment.address, "")
            if taken:
                self._sites[segment.address] = site
            self._ledger.note(taken, InUse(ORDERED, segment.address, segment.size, segment.size, site))

    # -- allocation ------------------------------------------------------------------------------------------------

    def alloc(self, size: int, stream: int) -> tuple[int, bool]:
        """Return the address of `size` bytes, and whether they were used before by the same stream.

        Raises:
            OutOfMemory 207001: no segment is large enough.
        """
        wanted = max(-(-size // UNIT), 1) * UNIT
        with self._lock:
            segment = self._best(wanted, State.CACHED, stream) or self._best(wanted, State.FREE, stream)
            if segment is None:
                raise errors.fault(
                    "ACL_ERROR_RT_MEMORY_ALLOCATION", f"the pool has no {wanted} bytes in one piece: of {self.size} "
                    f"bytes {self._values[PoolAttribute.USED_CURRENT]} are used, "
                    f"{self._values[PoolAttribute.RESERVED_CURRENT]} held",
                    hint="free blocks, trim the pool, or make it larger",
                )
            reused = segment.state is State.CACHED
            self._split(segment, wanted)
            if not reused:
                self._driver.use(self.number, segment.address, wanted, taken=True)
                self._count(PoolAttribute.RESERVED_CURRENT, wanted)
            segment.state, segment.stream = State.BUSY, stream
            self._count(PoolAttribute.USED_CURRENT, wanted)
            self._note(True, segment)
            return segment.address, reused

    def _best(self, wanted: int, state: State, stream: int) -> Segment | None:
        fitting = [
            segment for segment in self._segments
            if segment.state is state and segment.size >= wanted and (state is State.FREE or segment.stream == stream)
        ]  # fmt: skip
        return min(fitting, key=lambda segment: (segment.size, segment.address), default=None)

    def _split(self, segment: Segment, size: int) -> None:
        if segment.size > size:
            rest = Segment(segment.address + size, segment.size - size, segment.state, segment.stream)
            self._segments.insert(self._segments.index(segment) + 1, rest)
            segment.size = size

    def holds(self, address: int) -> bool:
        """Whether a busy block starts at an address."""
        with self._lock:
            return any(segment.address == address and segment.state is State.BUSY for segment in self._segments)

    def busy(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of every block in use."""
        with self._lock:
            return [(segment.address, segment.size) for segment in self._in_state(State.BUSY)]

    def _in_state(self, state: State) -> list[Segment]:
        return [segment for segment in self._segments if segment.state is state]

    def free(self, address: int, stream: int = 0, *, keep: bool = True) -> None:
        """Take a block back; with `keep` its memory stays for the stream.

        Raises:
            InvalidArgument 107000: no block in use starts there.
        """
        with self._lock:
            segment = next((s for s in self._segments if s.address == address and s.state is State.BUSY), None)
            if segment is None:
                reason = f"{address:#x} is no block in use of this pool"
                raise errors.fault(
                    "ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1011", params=("free", f"{address:#x}", "ptr", reason),
                    hint="free what the pool has given out, and once",
                )
            self._count(PoolAttribute.USED_CURRENT, -segment.size)
            self._note(False, segment)
            segment.state, segment.stream = State.CACHED, stream
            if not keep:
                self._release(segment, segment.size)
            self._join()

    def _release(self, segment: Segment, size: int) -> None:
        """Let the driver have the memory of the last `size` bytes of a cached segment."""
        if size < segment.size:
            self._split(segment, segment.size - size)
            segment = self._segments[self._segments.index(segment) + 1]
        self._driver.use(self.number, segment.address, segment.size, taken=False)
        segment.state, segment.stream = State.FREE, 0
        self._count(PoolAttribute.RESERVED_CURRENT, -segment.size)

    def _join(self) -> None:
        """Make one segment of neighbours that are the same."""
        joined: list[Segment] = []
        for segment in self._segments:
            last = joined[-1] if joined else None
            if last and last.state is segment.state is not State.BUSY and last.stream == segment.stream:
                last.size += segment.size
            else:
                joined.append(segment)
        self._segments = joined

    def trim(self, keep: int, call: str) -> None:
        """Give cached memory back until `keep` bytes are held.

        Raises:
            InvalidArgument: less than what is used, or more than the pool has.
        """
        with self._lock:
            used, held = self._values[PoolAttribute.USED_CURRENT], self._values[PoolAttribute.RESERVED_CURRENT]
            if not used <= keep <= self.size and (keep or used):
                raise errors.fault(
                    "RT_ERROR_POOL_OP_INVALID", f"{call}: {keep} bytes cannot be kept: {used} are used, the pool has "
                    f"{self.size}", hint=f"keep between {used} and {self.size} bytes",
                )
            if keep >= held:
                return
            self._driver.trim(self.number, held, used, keep)
            for segment in sorted(self._in_state(State.CACHED), key=lambda segment: segment.size):
                surplus = self._values[PoolAttribute.RESERVED_CURRENT] - keep
                if surplus <= 0:
                    break
                self._release(segment, min(-(-surplus // UNIT) * UNIT, segment.size))
            self._join()

    # -- attributes ------------------------------------------------------------------------------------------------

    def _count(self, attribute: PoolAttribute, amount: int) -> None:
        self._values[attribute] += amount
        high = PoolAttribute(attribute + 1)
        self._values[high] = max(self._values[high], self._values[attribute])

    def get(self, attribute: int, call: str) -> int:
        """Return an attribute; 107000 with EE1001 for one that does not exist."""
        return self._values[self._known(attribute, call)]

    def reserved(self) -> int:
        """Return how many bytes of the device the pool holds."""
        return self._values[PoolAttribute.RESERVED_CURRENT]

    def set(self, attribute: int, value: int, call: str) -> None:
        """Set a switch (0 or 1), the release threshold (up to the size), or a high-water mark to 0.

        Raises:
            InvalidArgument 107000: another attribute or value (EE1001), or one that is only read (EE1011).
        """
        known = self._known(attribute, call)
        if known in (PoolAttribute.RESERVED_CURRENT, PoolAttribute.USED_CURRENT):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {known.name} is counted, not set", ee="EE1011",
                params=(call, attribute, "attr", "it can only be read"), hint="aclrtMemPoolGetAttr reads it",
            )
        most = 1 if known in _SWITCHES else self.size if known is PoolAttribute.RELEASE_THRESHOLD else 0
        if known not in (*_SWITCHES, *_HIGHS, PoolAttribute.RELEASE_THRESHOLD) or not 0 <= value <= most:
            raise _bad(call, f"attribute {known.name} cannot be set to {value}")
        if known in _HIGHS:
            value = self._values[PoolAttribute(known - 1)]
        self._values[known] = value

    @staticmethod
    def _known(attribute: int, call: str) -> PoolAttribute:
        if attribute not in tuple(PoolAttribute):
            raise _bad(call, f"pool attribute {attribute} does not exist")
        return PoolAttribute(attribute)

    def close(self) -> None:
        """Give everything back; twice does nothing."""
        if self.closed:
            return
        self.closed = True
        if self._ledger is not None:
            for block in self.in_use():
                self._ledger.note(False, block)
            if self in self._ledger.parts:
                self._ledger.parts.remove(self)
        try:
            self._driver.destroy(self.number)
        finally:
            self._addresses.release(self.address)


def _bad(call: str, reason: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"{call}: {reason}", ee="EE1001", params=(f"{call}: {reason}",))
