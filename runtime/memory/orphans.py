"""Blocks whose object was dropped without `close`: freed, but only when the work that may use them is over."""

from __future__ import annotations

from collections.abc import Callable

Fence = Callable[[], bool]


class Orphans:
    """Addresses left behind by the garbage collector.

    A kernel does not keep its arguments alive, so a dropped buffer may still be in use. Each address waits behind a
    fence taken after it was dropped: everything submitted until then must be done.
    """

    def __init__(self, free: Callable[[int], None], fence: Callable[[], Fence]) -> None:
        self._free, self._fence = free, fence
        self._dropped: list[int] = []
        self._waiting: list[tuple[Fence, list[int]]] = []

    def drop(self, address: int) -> None:
        """Take an address; called by finalizers, so it does nothing but remember."""
        self._dropped.append(address)

    def sweep(self) -> None:
        """Free what is over, and put a fence behind what was dropped since."""
        if self._dropped:
            taken, self._dropped = self._dropped, []
            self._waiting.append((self._fence(), taken))
        still = []
        for fence, addresses in self._waiting:
            if fence():
                for address in addresses:
                    self._free(address)
            else:
                still.append((fence, addresses))
        self._waiting = still

    def close(self) -> None:
        """Free everything; nothing runs any more."""
        for _, addresses in self._waiting:
            self._dropped += addresses
        self._waiting = []
        while self._dropped:
            self._free(self._dropped.pop())
