"""Prepared sends of one queue."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.driver.queues import QueueDriver, QueuePair, Sender


class Senders:
    """Prepared sends by SQE count; the usual one exists from the start."""

    __slots__ = ("_by_count", "_make", "ring", "runs")

    def __init__(self, queues: QueueDriver, pair: QueuePair) -> None:
        self.ring = queues.mapped_ring(pair)
        """The ring that SQEs are built in, or None where the driver copies them."""
        self._make = partial(queues.sender, pair.sq_id, ring=self.ring)
        self._by_count = {1: self._make(1)}
        self.runs: object | None = None
        """What batches are sent with, once there was one."""

    @property
    def way(self) -> str:
        """How SQEs reach the queue."""
        return "copied by the driver" if self.ring is None else "built in the mapped ring"

    def seek(self, position: int) -> None:
        """Put the next SQEs at a ring position: a send that was broken off may have moved on, or not."""
        if self.ring is not None:
            self.ring.tail = position

    def restart(self, ring_base: int) -> None:
        """Go on with a queue that was created again, at position 0; the ring may have another address."""
        if self.ring is not None:
            self.ring.move(ring_base)

    def for_runs(self, longest: int) -> Sender:
        """Return a send of its own, with a staging buffer for so many SQEs; `info.sqe_num` says how many it sends."""
        return self._make(longest)

    def __getitem__(self, count: int) -> Sender:
        sender = self._by_count.get(count)
        if sender is None:
            sender = self._by_count[count] = self._make(count)
        return sender
