"""Blocks whose object was dropped without `close`: freed, but only when the work that may use them is over."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Fence = Callable[[], bool]


class Orphans:
    """Addresses left behind by the garbage collector.

    A kernel does not keep its arguments alive, so a dropped buffer may still be in use. Each address waits behind a
    fence taken after it was dropped: everything submitted until then must be done.
    """

    def __init__(self, free: Callable[[int], None], fence: Callable[[], Fence]) -> None:
        self._free, self._fence = free, fence
        self._dropped: deque[int] = deque()
        self._waiting: deque[tuple[Fence, list[int]]] = deque()
        self._sweeping = threading.Lock()

    def drop(self, address: int) -> None:
        """Take an address; called by finalizers, so it does nothing but remember: no lock, no call."""
        self._dropped.append(address)

    def sweep(self) -> None:
        """Free what is over, and put a fence behind what was dropped since; one thread at a time is enough."""
        if not (self._dropped or self._waiting) or not self._sweeping.acquire(blocking=False):
            return
        try:
            taken = [self._dropped.popleft() for _ in range(len(self._dropped))]
            if taken:
                self._waiting.append((self._fence(), taken))
            while self._waiting and self._waiting[0][0]():  # fences pass in the order in which they were put up
                self._free_all(self._waiting.popleft()[1])
        finally:
            self._sweeping.release()

    def close(self) -> None:
        """Free everything; nothing runs any more."""
        with self._sweeping:
            while self._waiting:
                self._free_all(self._waiting.popleft()[1])
            self._free_all(self._dropped)

    def _free_all(self, addresses: list[int] | deque[int]) -> None:
        while addresses:
            self._free(addresses.pop())
