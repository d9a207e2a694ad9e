"""Software SQs: streams that collect their SQEs in host memory, not in a hardware queue (core_spec 5.3 b and c, 5.9).

A model that is loaded takes the image over into device memory. The image of a stream made by a capture has its full
size from the start; that of an auto-split stream grows, and when it reaches the largest queue a slave stream goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from chips.env import TaskIds
from chips.tasks import TaskType
from runtime.core import stream as streams
from runtime.core.ring import Label
from runtime.core.route import RouteRank, Verdict, stream_full

DEPTH = 32768
"""Entries a software SQ can have."""

GROWTH_BYTES = 128 * 1024
"""How much the image of an auto-split stream grows at a time: 2048 entries."""

RESERVED = 32
"""Entries kept free at the end for what chains and ends the stream."""

Extend = Callable[["streams.Stream"], None]


class SoftwareRoute:
    """Keeps the SQEs of one stream, `SQE_BYTES` each, at their positions in `image`."""

    __slots__ = ("extend", "image", "name", "rank")
    immediate = False

    def __init__(self, name: str, rank: RouteRank, size_bytes: int, extend: Extend | None = None) -> None:
        """Args:
            rank: SPLIT for a stream that is split when it is full, NORMAL for one of a capture.
            size_bytes: size of the image at the start.
            extend: called when the stream is full, to make room elsewhere; without it a full stream is an error.
        """
        self.name, self.rank, self.extend = name, rank, extend
        self.image = bytearray(size_bytes)

    def verdict(self, task_type: TaskType) -> Verdict:
        """Take everything."""
        return Verdict.TAKES

    def alloc(self, stream: streams.Stream, count: int, owner: Label) -> TaskIds:
        """Take the next places; they are never given free by the device.

        Raises:
            StreamError 507002: the stream is full (EE1019).
        """
        ring = stream.ring
        if ring.submitted + count + RESERVED + stream.env.chip.prop("expandStreamRsvTaskNum") >= DEPTH - 1:
            if self.extend is None:
                raise stream_full(stream, owner)
            self.extend(stream)
        return ring.take(count, stream.device.next_serial(), owner)

    def commit(self, stream: streams.Stream, sqes: bytes) -> None:
        """Copy the SQEs to their place; no driver call, no doorbell."""
        end = stream.ring.submitted * 64
        while len(self.image) < end:
            self.image += bytes(GROWTH_BYTES)
        self.image[end - len(sqes) : end] = sqes

    def rollback(self, stream: streams.Stream, count: int) -> bool:
        """Give the places back."""
        stream.ring.give_back(count)
        return True
