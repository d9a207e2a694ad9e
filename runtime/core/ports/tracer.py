"""Who watches what streams do (runtime.core.diagnostics.tracing)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from runtime.core.ports.streams import StreamPort
    from runtime.core.submission.ring import TaskInfo


Call = Callable[..., Any]


class Tracer(Protocol):
    """Watches the streams of one runtime (runtime.core.diagnostics.tracing)."""

    def attach(self, stream: StreamPort) -> None:
        """Watch a stream that was just made."""

    def launcher(self, launch: Call, stream: StreamPort, label: TaskInfo, again: Callable[[], Call]) -> Call:
        """Return a prepared launch that is watched; `again` makes the one to use when this tracer has stopped."""

    def watching(self, stream: StreamPort) -> dict[str, Any]:
        """Return what the lines of a written send that note its phases close over: `here`, `clock`, `by_position`."""

    def writer(self, write: Call) -> Call:
        """Return the one step that brings a prepared block to the device, watched."""

    def waited(self, stream: StreamPort, began_ns: int, what: str) -> None:
        """A thread has waited for a stream since `began_ns` (time.perf_counter_ns), until now."""

    def reported(self, stream: StreamPort, position: int | None, ticks: int) -> None:
        """A completion entry came for the task at a ring position, with the device's time stamp."""

    def call_site(self, stream: StreamPort, position: int | None) -> str:
        """Return "file:line" of who submitted the task at a ring position, or "" when that is not known."""

    def span(self, name: str, **facts: Any) -> AbstractContextManager[object]:
        """Return a context manager around work of the host that is worth seeing."""

    def annotated(self, name: str, began_ns: int) -> None:
        """The program itself has named what happened since `began_ns` (time.perf_counter_ns), until now."""
