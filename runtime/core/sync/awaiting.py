"""Waiting in an asyncio program: the same polling as `sync`, with the pauses given to the event loop.

No thread is used and nothing is left behind: `asyncio.timeout` and cancelling end such a wait at once, and what was
waited for goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.core.sync import synchronize as sync

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.sync.event_queries import EventQueries

_FREE_TURNS = 20
"""Looks, one per turn of the event loop, before the first pause."""
_SLICE_MS = 1
"""Longest single wait in the driver, which holds the event loop up."""


async def finish(stream: StreamPort) -> None:
    """Wait until everything submitted so far is done; raises what `Stream.synchronize` raises."""
    stream.check_not_captured("await of a stream")
    stream.check_status()
    if stream.never_waited:
        return
    await _until(stream, sync.all_done(stream), sync.STREAM_TIMEOUT)
    sync.raise_failure(stream)


async def reach(event: EventQueries) -> None:
    """Wait until the newest record of an event is done, as `Event.synchronize` does."""
    if not event.query():
        await _until(event.last_stream, event.reached(), sync.EVENT_TIMEOUT)


async def _until(stream: StreamPort, finished: Callable[[], bool], timeout_code: str) -> None:
    import asyncio

    looks = sync.pauses(stream, finished, -1, timeout_code, free_polls=0, slice_ms=_SLICE_MS)
    for turn, pause in enumerate(looks):
        await asyncio.sleep(0 if turn < _FREE_TURNS else pause)
