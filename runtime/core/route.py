"""Where a task goes: the small protocol behind which capture, update and splitting install their own way.

The normal route takes a slot of the stream's ring and hands the SQEs to the driver. Features replace `stream.route`;
launchers read it once, when they are built, and are built again when it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from chips.env import TaskIds
from runtime.core import submit

if TYPE_CHECKING:
    from runtime.core.stream import Stream


class Route(Protocol):
    """How one task gets a place, leaves, or is undone. All three run under the stream's lock."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    @property
    def immediate(self) -> bool:
        """Whether a committed task reaches the device at once (False while recording)."""

    def alloc(self, stream: Stream, count: int, owner: Any) -> TaskIds:
        """Take `count` consecutive places."""

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Send what was encoded for the places just taken."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo `alloc` when encoding or sending failed; False where the task has left all the same."""


class NormalRoute:
    """Straight to the stream's own hardware queue."""

    __slots__ = ()
    name = "hardware SQ"
    immediate = True

    def alloc(self, stream: Stream, count: int, owner: Any) -> TaskIds:
        """Take ring positions, waiting for the device while the ring is full."""
        ring = stream.ring
        if not ring.fits(count):
            submit.make_room(stream, count)
        return ring.take(count, stream.device.next_serial(), owner)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Copy the SQEs to the staging buffer and ring the driver."""
        count = len(sqes) // 64
        sender = stream.senders[count]
        sender.buffer[:] = sqes
        if rc := sender.send(sender.device_id, sender.reference):
            submit.send_again(stream, sender, rc)

    def rollback(self, stream: Stream, count: int) -> bool:
        """Give the places back, unless an interrupt came when the driver had the SQEs already."""
        if submit.was_sent(stream, stream.ring.submitted):
            return False
        stream.ring.give_back(count)
        return True


NORMAL = NormalRoute()
