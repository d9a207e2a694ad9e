"""A line in the log where an event is used in a way that is right here, and is a mistake with other runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.late import logger

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.sync.event_state import EventState

_LOG = logger(__name__)


def reused(event: EventState, stream: StreamPort) -> None:
    """Tell where an event is about to be recorded again although waits for its last record are pending.

    They go on waiting for that record; waits for the newest one would be over too early.
    """
    before, latest = event.signal, event.latest
    if before is None or latest is None:
        return
    latest.look()
    waits = before.users - 1 - (not latest.done)
    if waits > 0:
        _LOG.info(
            "%r is recorded again in stream %d while %d waits for its record in stream %d are pending: they keep "
            "waiting for that one", event, stream.stream_id, waits, latest.stream.stream_id,
        )
