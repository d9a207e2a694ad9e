"""The pool of a device as users see it: buffers in the order of streams, and of graphs while those are captured."""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.errors.arguments import STREAMS, check_instance, check_same_runtime, whole
from runtime.errors.not_copied import NotCopied
from runtime.memory.allocator import SegmentSource
from runtime.memory.device import PooledBuffer
from runtime.memory.fences import Lifetime, Timeline
from runtime.memory.pool import CachingPool
from runtime.memory.statistics import amount

if TYPE_CHECKING:
    from runtime.api.memory import DeviceMemory
    from runtime.core.stream.stream import Stream

_FIRST_GRAPH_HOME = -2  # -1 is that of blocks which several streams use


class Pool(CachingPool, NotCopied):
    """`device.pool`: buffers without driver calls, in the order of streams.

    >>> with device.pool.alloc(1 << 20, stream) as scratch:
    ...     kernel[8](scratch, stream=stream)

    A buffer may be closed while work that uses it is still queued in its stream; the memory is used again in order.

    What is taken for a stream that is being captured belongs to the graph: closed buffers serve later requests of the
    same capture and stream, and nobody else before the graph is closed, because each execution uses them again.
    """

    def __init__(self, device: DeviceMemory) -> None:
        super().__init__(SegmentSource(device.allocator), device.allocator.padded, device.ledger)
        self._device = device
        self._give_back = self._take_back  # bound once: every buffer has it
        self._homes = itertools.count(_FIRST_GRAPH_HOME, -1)
        self._captures: dict[int, tuple[weakref.ref[Any], Lifetime]] = {}
        """By id: the branches of captures that have taken blocks, and how long those blocks are theirs."""

    def __repr__(self) -> str:
        used, reserved = amount(self.memory_allocated()), amount(self.memory_reserved())
        return f"<pool of device {self._device.user_id}: {used} in use, {reserved} reserved>"

    def alloc(self, size: int, stream: Stream | None = None) -> PooledBuffer:
        """Return a buffer for work of a stream, the default stream by default; its contents are undefined.

        `buffer.record_stream(other)` tells that a further stream uses it.

        Raises:
            InvalidArgument 100000: the size is not positive.
            OutOfMemory 207001: neither the pool nor, within `limit`, the device has that much left.
        """
        device = self._device
        if device.closed:
            device.check_open()
        if type(size) is not int:
            size = whole("pool.alloc", "size", size)
        deferred_frees = device.deferred_frees
        if deferred_frees.dropped or deferred_frees.waiting:
            deferred_frees.sweep()
        user = device.context.default_stream if stream is None else stream
        try:
            if user.closed:
                user.check_open()
        except AttributeError:
            check_instance("pool.alloc", "stream", stream, device.stream_type, STREAMS)
            raise
        if user.device is not device:
            check_same_runtime("pool.alloc", device, user)
        owner: Timeline = user if user.branch is None else self._of_capture(user.branch)
        block = self.take(size, owner)
        buffer = PooledBuffer(device, block.address, size, self._give_back)
        block.used = deferred_frees.adopt(buffer, self._give_back)
        return buffer

    def _take_back(self, address: int) -> None:
        if not self._device.closed:
            self.give(self._blocks[address])

    # -- graphs ----------------------------------------------------------------------------------------------------

    def _of_capture(self, branch: Any) -> Lifetime:
        """Return the timeline of what a stream takes while it is captured: it lasts as long as the graph."""
        with self._lock:
            known = self._captures.get(id(branch))
            if known is not None and known[0]() is branch:
                return known[1]
            self._forget_graphs()
            lifetime = Lifetime(next(self._homes), _ended(branch.graph), getattr(branch.graph, "model_id", -1))
            self._captures[id(branch)] = (weakref.ref(branch), lifetime)
            return lifetime

    def _forget_graphs(self) -> None:
        """Let go of graphs that were closed."""
        for key, (_, lifetime) in list(self._captures.items()):
            if lifetime.closed:
                del self._captures[key]

    def graph_bytes(self) -> dict[int, int]:
        """Return the bytes that each graph keeps, by model id."""
        found: Counter[int] = Counter()
        with self._lock:
            self._forget_graphs()
            for _, lifetime in self._captures.values():
                found[lifetime.graph] += self.held_for(lifetime.handle)
        return dict(found)

    def trim(self, keep: int = 0) -> int:
        """Give segments that are free as a whole back to the driver until at most `keep` bytes are held.

        Buffers, streams and graphs that were dropped without `close` go back first, as far as their work is done.

        Returns the bytes given back.
        """
        self._device.give_back_dropped()
        return super().trim(keep)


def _ended(graph: Any) -> Callable[[], bool]:
    """Return whether a graph is gone; a block does not keep it."""
    known = weakref.ref(graph)

    def ended() -> bool:
        graph = known()
        return graph is None or bool(graph.closed)

    return ended
