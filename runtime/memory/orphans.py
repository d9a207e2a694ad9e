"""Blocks and the objects that stand for them; a dropped one's block is freed when the work that may use it is over."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.memory.fences import Fence

if TYPE_CHECKING:
    from runtime.memory.buffer import Buffer

Release = Callable[[], None]


class Lease(weakref.ref["Buffer"]):
    """The tie between a block and the buffer that stands for it: what is left when the buffer is dropped.

    Attributes:
        number: under which it is kept; none is used twice.
        address: where the block begins.
        free: gives the block back by its address, when nothing uses it any more.
    """

    __slots__ = ("address", "free", "number")
    number: int
    address: int
    free: Callable[[int], None]

    def release(self) -> None:
        """Give the block back."""
        self.free(self.address)


class Orphans:
    """The leases of a device, and what the garbage collector has left behind.

    A kernel does not keep its arguments alive, so a dropped buffer may still be in use. Each one waits behind a fence
    put up after it was dropped: everything submitted until then must be done.

    Attributes:
        leases: those of buffers that were neither closed nor, after they were dropped, found by a sweep; by number.
    """

    def __init__(self, fence: Callable[[], Fence]) -> None:
        self._fence = fence
        self.leases: dict[int, Lease] = {}
        self._numbers = itertools.count(1)
        self._dropped: deque[Lease] = deque()
        self._drop = self._dropped.append
        """What the collector calls with the lease of a dropped buffer: it runs no code of ours, and takes no lock."""
        self._left: deque[Release] = deque()
        """What other dropped objects want done."""
        self._waiting: deque[tuple[Fence, list[Release]]] = deque()
        self._sweeping = threading.RLock()  # one that an interrupt has left locked must not stop `close` by its thread

    def adopt(self, buffer: Buffer, free: Callable[[int], None]) -> None:
        """Keep a buffer in view, and call `free` with its address some time after it was dropped without `close`."""
        lease = Lease(buffer, self._drop)
        lease.number = buffer.lease = number = next(self._numbers)
        lease.address, lease.free = buffer.address, free
        self.leases[number] = lease

    def buffers(self) -> dict[int, Buffer]:
        """Return what is alive and was not closed, by address."""
        found = ((lease.address, lease()) for lease in list(self.leases.values()))
        return {address: buffer for address, buffer in found if buffer is not None}

    def leave(self, release: Release) -> None:
        """Call a function when everything that is queued is done; for finalizers: this takes no lock and calls nothing.
        """
        self._left.append(release)

    def wait(self, fence: Fence, release: Release) -> None:
        """Take one that was closed while work was queued; `fence` is behind that work."""
        with self._sweeping:
            self._waiting.append((fence, [release]))

    def sweep(self) -> None:
        """Free what is over, and put a fence behind what was dropped since; one thread at a time is enough."""
        if not (self._dropped or self._left or self._waiting) or not self._sweeping.acquire(blocking=False):
            return
        try:
            taken = [self._forget(self._dropped.popleft()) for _ in range(len(self._dropped))]
            taken += [self._left.popleft() for _ in range(len(self._left))]
            if taken:
                self._waiting.append((self._fence(), taken))
            while self._waiting and self._waiting[0][0]():  # fences pass in the order in which they were put up
                _call_all(self._waiting.popleft()[1])
        finally:
            self._sweeping.release()

    def close(self) -> None:
        """Free everything; nothing runs any more."""
        with self._sweeping:
            while self._waiting:
                _call_all(self._waiting.popleft()[1])
            while self._dropped:
                self._forget(self._dropped.popleft())()
            while self._left:
                self._left.popleft()()

    def _forget(self, lease: Lease) -> Release:
        """Strike a dropped buffer's lease out, and return what gives the block back."""
        del self.leases[lease.number]
        return lease.release


def _call_all(releases: list[Release]) -> None:
    while releases:
        releases.pop()()
