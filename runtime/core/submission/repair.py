"""What a send that was left by an exception leaves behind: ring and driver are made to agree.

An interrupt (Ctrl-C) can come between any two steps of a send: before a position was taken, after the driver took the
entries and before its answer was looked at, or where the lock of the stream is not held.
"""

from __future__ import annotations

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
    try:
        return _repair(stream, infos, finished, block)
    finally:  # another interrupt, too, leaves no lock held: it comes behind a call, and this one is the first
        try:  # noqa: SIM105
            stream.lock.release()
        except RuntimeError:  # it was not held
            pass


def _repair(
    stream: StreamPort, infos: tuple[TaskInfo, ...], finished: Finished | None, block: ArgumentBlock | None
) -> bool:
    ring = stream.ring
    with stream.lock:  # a second time, where it is held: a prepared send calls `acquire` and `release`
        left = not stream.closed and was_sent(stream, ring.submitted + len(infos))
        if left:
            for info in infos:
                ring.arguments[ring.take(1, 0, info).position] = block
        else:
            if finished is not None:
                end, newest = ring.completion_callbacks[-1] if ring.completion_callbacks else (0, None)
                if end > ring.submitted:
                    ring.completion_callbacks.pop()
                if end > ring.submitted or newest is not finished:
                    ring.pending_callbacks.append(finished)
            if block is not None and not any(held is block for held in ring.arguments):
                stream.device.release_arguments([block])
        ring.tidy()
        if left:
            ring.in_flight_start = None
        stream.senders.seek(ring.tail)
        return left


def repair_stored(stream: StreamPort) -> None:
    """Give the position back that a prepared send had taken for an entry which the host keeps."""
    ring = stream.ring
    try:
        with stream.lock:  # as above
            if ring.in_flight_start is not None:
                stream.own_sink.rollback(stream, 1)
    finally:
        try:  # noqa: SIM105
            stream.lock.release()
        except RuntimeError:
            pass
