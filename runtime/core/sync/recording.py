"""Records of events and waits for them, one by one: where each was queued, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.sync.signals import Signal

NEVER = float("inf")


class Recording:
    """One recording: where it was made, how far that is passed, and the time stamp when it comes.

    A record that was sent by a prepared send is known by its position; any other one is a user of its signal until
    it is told that it is over.
    """

    __slots__ = ("_signal", "end", "stream", "timeless", "timestamp")

    def __init__(self, stream: StreamPort, signal: Signal | None, end: float = NEVER) -> None:
        """Args:
            signal: becomes held until `finished`; None for a record that is known by its position.
            end: the absolute position behind it.
        """
        self.stream, self._signal, self.end = stream, signal, end
        self.timestamp: int | None = None
        self.timeless = False
        """Whether it is over and its time will never come: it was ended by force, or its report got lost."""
        if signal is not None:
            signal.hold()

    @property
    def done(self) -> bool:
        """Whether the device has passed the record, as far as is known."""
        return self.stream.ring.reclaimed >= self.end

    def look(self) -> None:
        """Read how far the stream is."""
        if not self.stream.closed:
            self.stream.drain()

    def finished(self) -> None:
        """The record's own task was reclaimed."""
        self.end = 0
        if self._signal is not None:
            self._signal.drop()

    def reported(self, cqe: Any) -> None:
        """The completion entry came, with the time; None when there will be none."""
        if cqe is None:
            self.timeless = True
        else:
            self.timestamp = int(cqe.timestamp)


class Waiting:
    """One wait of a stream: known by its position where it was sent by a prepared send, else told when it is over."""

    __slots__ = ("_end", "signal", "stream")

    def __init__(self, stream: StreamPort, signal: Signal, end: float = NEVER) -> None:
        self.stream, self.signal, self._end = stream, signal, end

    @property
    def done(self) -> bool:
        """Whether the stream has passed the wait, as far as is known."""
        return self.stream.ring.reclaimed >= self._end

    def finished(self) -> None:
        """The wait's own task was reclaimed."""
        self._end = 0
        self.signal.drop()
