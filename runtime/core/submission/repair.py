"""What a send that was left by an exception leaves behind: ring and driver are made to agree.

An interrupt (Ctrl-C) can come between any two steps of a send: before a position was taken, after the driver took the
entries and before its answer was looked at, or where the lock of the stream is not held.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from runtime import errors

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.submission.ring import Finished, TaskInfo
    from runtime.memory.arguments import ArgumentBlock


def was_sent(stream: StreamPort, submitted: int) -> bool:
    """Whether the driver has taken SQEs up to an absolute count; asked when a send was broken off."""
    try:
        return stream.device.queues.tail(stream.queues.sq_id) == submitted % stream.ring.depth
    except errors.RuntimeFault:
        return False


def repair(
    stream: StreamPort, infos: tuple[TaskInfo, ...], finished: Finished | None = None,
    block: ArgumentBlock | None = None,
) -> bool:
    """Make the ring agree with the driver when a prepared send was left by an exception.

    `finished` and `block` stay with tasks that have left; for others the one is pending at once, the other goes back.

    Args:
        infos: what the tasks are called, of one SQE each.

    Returns:
        Whether the tasks have left.
    """
    ring = stream.ring
    with _broken_off(stream, len(infos)) as left:
        if left:
            for info in infos:
                ring.arguments[ring.take(1, 0, info).position] = block
            return True
        if finished is not None:
            end, newest = ring.completion_callbacks[-1] if ring.completion_callbacks else (0, None)
            if end > ring.submitted:
                ring.completion_callbacks.pop()
            if end > ring.submitted or newest is not finished:
                ring.pending_callbacks.append(finished)
        if block is not None and not any(held is block for held in ring.arguments):
            stream.device.release_arguments([block])
        return False


@contextmanager
def _broken_off(stream: StreamPort, count: int) -> Iterator[bool]:
    """Hold the stream's lock to repair what a prepared send of so many SQEs has left behind; tells whether they left.

    Such a send calls `acquire` and `release`: an exception may come between them, or where the lock is not held.
    """
    ring = stream.ring
    try:
        with stream.lock:  # a second time, where it is held
            left = not stream.closed and was_sent(stream, ring.submitted + count)
            yield left
            ring.tidy()
            if left:
                ring.in_flight_start = None
            stream.senders.seek(ring.tail)
    finally:  # another interrupt, too, leaves no lock held
        with suppress(RuntimeError):  # it was not held
            stream.lock.release()


def repair_stored(stream: StreamPort) -> None:
    """Give the position back that a prepared send had taken for an entry which the host keeps."""
    ring = stream.ring
    try:
        with stream.lock:  # as above
            if ring.in_flight_start is not None:
                stream.own_sink.rollback(stream, 1)
    finally:
        with suppress(RuntimeError):
            stream.lock.release()
