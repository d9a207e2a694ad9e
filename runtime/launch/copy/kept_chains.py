"""DMA chains that a stream keeps for copies that come again: same addresses, same bytes.

To make and to free a chain of descriptors is most of what a copy to the 950 costs. A chain holds for as long as the
blocks at both ends are what they were when it was made. So it is kept only between blocks that this process has from
the driver, and given back before one of them is; memory that is mapped, registered or shared is left out.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal.changed import try_lock
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream

MOST = 64
"""Chains that one stream keeps; the oldest one goes first."""
_MOST_BLOCKS = 256
"""Where there are more blocks, none is looked for that an address lies inside of."""

Key = tuple[int, int, int]
"""From, to, bytes."""
Chain = tuple[int, int, Any]
"""What an entry names of a chain, and what the driver knows it by."""


class KeptChains:
    """The chains of one stream. All but `let_go` is called under the stream's lock.

    The device knows them, so they do not name the stream itself: it could not be dropped.
    """

    __slots__ = ("_chains", "_closed", "_lock", "_memory", "_ring", "_seen", "_stale")

    def __init__(self, stream: Stream) -> None:
        self._ring, self._lock, self._memory = stream.ring, stream.lock, stream.device.memory
        self._closed = False
        self._chains: dict[Key, Chain] = {}
        self._seen: set[Key] = set()
        """Copies without a kept chain: the next one of them gets one."""
        self._stale: list[tuple[Key, Chain]] = []
        """Chains that are not used again, but were not given back yet."""
        stream.resources.callback(self.close)
        self._memory.resource_table.followers.append(self)

    @classmethod
    def of(cls, stream: Stream) -> KeptChains:
        """Return those of a stream, made on first use."""
        for follower in stream.device.memory.resource_table.followers:
            if isinstance(follower, cls) and follower._ring is stream.ring:
                return follower
        return cls(stream)

    def find(self, key: Key) -> Chain | None:
        """Return the chain for a copy, a new one where it comes again; None where none is kept."""
        if self._stale:
            self._give_back()
        chain = self._chains.get(key)
        if chain is None:
            if key in self._seen:
                return self._keep(key)
            if len(self._seen) >= MOST:
                self._seen.clear()
            self._seen.add(key)
        return chain

    def _keep(self, key: Key) -> Chain | None:
        src, dst, count = key
        memory = self._memory
        if self._closed or not (self._in_block(src, count) and self._in_block(dst, count)):
            return None
        dma = memory.convert(src, dst, count)
        if dma.fixed_size not in (0, count):  # the driver had descriptors for a part only
            memory.destroy_dma(dma)
            return None
        if len(self._chains) >= MOST:
            self._drop(next(iter(self._chains)))
            self._give_back()
        chain = self._chains[key] = dma.phyAddr.src or 0, dma.phyAddr.len, dma
        return chain

    def _in_block(self, address: int, count: int) -> bool:
        """Whether a range lies in one block that this process has from the driver."""
        blocks = self._memory.resource_table.memory
        if (block := blocks.get(address)) is not None:
            return count <= block.size
        return len(blocks) <= _MOST_BLOCKS and any(
            base < address and address + count <= base + block.size for base, block in list(blocks.items())
        )

    def let_go(self, base: int, size: int) -> None:
        """Give back the chains from and to a block, which is about to be freed: now, or with the next copy or close.

        It waits for no lock, because whoever frees memory may hold others. One that the driver does not take back is
        asked for again by the next wait: it keeps nobody from freeing the memory.
        """
        for key in list(self._chains):
            if base <= key[0] < base + size or base <= key[1] < base + size:
                self._drop(key)
        if self._stale:
            for taken in try_lock(self._lock):
                if taken:
                    try:
                        with suppress(errors.RuntimeFault):
                            self._give_back()
                    finally:
                        self._lock.release()

    def _drop(self, key: Key) -> None:
        """Use a chain no more."""
        if (chain := self._chains.get(key)) is not None:
            self._stale.append((key, chain))
            self._chains.pop(key, None)

    def _give_back(self) -> None:
        """Free the chains that are not used again, behind what is in the stream: copies by them may be among that."""
        ring, stale, destroy = self._ring, self._stale, self._memory.destroy_dma
        while stale:
            key, chain = stale.pop()
            if self._chains.get(key) is chain:  # an interrupt came between the two steps of `_drop`
                del self._chains[key]
            if ring.pending:
                ring.attend(ring.submitted, partial(destroy, chain[2]))
            else:
                destroy(chain[2])

    def clear(self) -> None:
        """Give all chains back, as far as they were not: the stream is empty."""
        for key in list(self._chains):
            self._drop(key)
        self._give_back()

    def close(self) -> None:
        """The stream is closed."""
        self._closed = True
        followers = self._memory.resource_table.followers
        if self in followers:
            followers.remove(self)
        self.clear()
