"""Events and the signals they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from runtime.core.ports.streams import StreamPort
    from runtime.core.sync.event_flags import EventFlag


class SignalPort(Protocol):
    """What a record sets and a wait waits for (runtime.core.sync.signals)."""

    @property
    def number(self) -> int:
        """The id, or what stands for it."""

    @property
    def users(self) -> int:
        """How many use it."""

    def hold(self) -> bool:
        """Add a user; False where the last one has let go already."""

    def drop(self) -> None:
        """Take a user away; the last one gives the signal back."""

    def record(
        self, stream: StreamPort, finished: Callable[[], None], *, timeline: bool,
        reported: Callable[[Any], None] | None,
    ) -> None:  # fmt: skip
        """Queue a task that sets it."""

    def wait(self, stream: StreamPort, finished: Callable[[], None], timeout_s: int) -> None:
        """Queue a task that waits until it is set; 0 waits for ever."""

    def reset(self, stream: StreamPort, finished: Callable[[], None]) -> None:
        """Queue a task that takes the setting back."""


class EventInGraph(Protocol):
    """What stands for an event in the graph that it was last recorded into, while that is captured."""

    @property
    def capturing(self) -> bool:
        """Whether the graph is still being captured."""

    def wait(self, stream: StreamPort) -> None:
        """Let a stream wait for the record; one that is not captured joins the capture."""

    def reset(self, stream: StreamPort) -> None:
        """Take the record back when the graph gets there."""


class EventPort(Protocol):
    """An event, as captures and logs see it."""

    in_graph: EventInGraph | None

    @property
    def flags(self) -> EventFlag:
        """What it may be made for."""

    @property
    def renewed(self) -> bool:
        """Whether each record takes a new signal."""

    @property
    def name(self) -> str:
        """What its maker calls it."""

    @property
    def handle(self) -> int:
        """The number by which the C API knows it."""

    @property
    def signal(self) -> SignalPort | None:
        """What the newest record sets; None where there is none yet."""

    @property
    def latest(self) -> RecordingPort | None:
        """The newest record."""


class RecordingPort(Protocol):
    """One recording of an event."""

    @property
    def stream(self) -> StreamPort:
        """Where it was made."""

    @property
    def done(self) -> bool:
        """Whether the device has passed the record, as far as is known."""

    def look(self) -> None:
        """Read how far the stream is."""
