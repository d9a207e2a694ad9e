"""Blocks whose object was dropped without `close`: freed, but only when the work that may use them is over."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from runtime.memory.fences import Fence

Release = Callable[[], None]


class Orphans:
    """What the garbage collector has left behind, as functions that give a block back.

    A kernel does not keep its arguments alive, so a dropped buffer may still be in use. Each one waits behind a fence
    put up after it was dropped: everything submitted until then must be done.
    """

    def __init__(self, fence: Callable[[], Fence]) -> None:
        self._fence = fence
        self._dropped: deque[Release] = deque()
        self._waiting: deque[tuple[Fence, list[Release]]] = deque()
        self._sweeping = threading.RLock()  # one that an interrupt has left locked must not stop `close` by its thread

    def drop(self, release: Release) -> None:
        """Take one; called by finalizers, so it does nothing but remember: no lock, no call."""
        self._dropped.append(release)

    def wait(self, fence: Fence, release: Release) -> None:
        """Take one that was closed while work was queued; `fence` is behind that work."""
        with self._sweeping:
            self._waiting.append((fence, [release]))

    def sweep(self) -> None:
        """Free what is over, and put a fence behind what was dropped since; one thread at a time is enough."""
        if not (self._dropped or self._waiting) or not self._sweeping.acquire(blocking=False):
            return
        try:
            taken = [self._dropped.popleft() for _ in range(len(self._dropped))]
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
            _call_all(self._dropped)


def _call_all(releases: list[Release] | deque[Release]) -> None:
    while releases:
        releases.pop()()
