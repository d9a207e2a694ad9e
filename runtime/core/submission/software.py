"""Software SQs: streams that collect their SQEs in host memory, not in a hardware queue (core_spec 5.3 b and c, 5.9).

A model that is loaded, or a graph that is executed, takes the image over into device memory. The image grows; when the
largest queue is full another stream goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.env import TaskIds
from chips.tasks import TaskType
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.sink import OwnSink, Target
from runtime.core.submission.submit import stream_full
from runtime.driver.queues import SQE_BYTES

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import StreamPort

DEPTH = 32768
"""Entries a software SQ can have."""

GROWTH_BYTES = 128 * 1024
"""How much an image grows at a time: 2048 entries."""

RESERVED = 32
"""Entries kept free at the end for what chains and ends the stream."""

_LAST = frozenset({TaskType.STREAM_ACTIVE, TaskType.NOTIFY_RECORD})
"""Types of tasks that may use them."""


def has_space(stream: StreamPort, count: int) -> bool:
    """Whether a software SQ takes so many entries more and still has space for what chains it and ends it."""
    reserve = RESERVED + int(stream.env.chip.prop("expandStreamRsvTaskNum"))
    return stream.ring.submitted + count + reserve < DEPTH - 1


def annotate_entries(stream: StreamPort, position: int, count: int) -> None:
    """Tell tools that entries of a stream mean from now on what they say, whenever they reach the device."""
    device = stream.device
    device.hal.annotate(("entries", stream.stream_id), (device.device_id, position, count))


class SoftwareSink(OwnSink):
    """Keeps the SQEs of one stream at their positions in `image`."""

    __slots__ = ("image", "name")
    immediate = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.image = bytearray()

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Take everything."""
        return Target(stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take the next positions; the device never frees them.

        Raises:
            StreamError 507002: the stream is full (EE1019).
        """
        ring = stream.ring
        if not has_space(stream, count) and not (info.type in _LAST and ring.fits(count)):
            raise stream_full(stream, info)
        return ring.take(count, stream.device.next_serial(), info)

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Copy the SQEs to their positions; no driver call, no doorbell."""
        count = len(sqes) // SQE_BYTES
        position = stream.ring.submitted - count
        self.put(position, sqes)
        if stream.device.hal.follows_entries:
            annotate_entries(stream, position, count)

    def put(self, position: int, sqes: bytes) -> None:
        """Write SQEs at a position: the next, or those of a task that is there already."""
        start, end = position * SQE_BYTES, position * SQE_BYTES + len(sqes)
        while len(self.image) < end:
            self.image += bytes(GROWTH_BYTES)
        self.image[start:end] = sqes

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Give the positions back, if an interrupt has not come before they were taken."""
        stream.ring.undo(count)
        return True
