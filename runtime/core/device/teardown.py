"""Ending things in order: task, stream, context, device (core_spec 3.3, 5.7)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import Maintenance, MaintenanceKind
from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.callbacks.exceptions import ExceptionInfo, ExceptionKind
from runtime.core.callbacks.observers import StreamState
from runtime.core.submission import completion
from runtime.core.submission.ring import NO_TASK, run_callbacks
from runtime.driver import resources as id_kinds
from runtime.driver.queues import NO_ID
from runtime.errors.closing import Again, Steps

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

_TRIES = 3000
_TRY_S = 1e-3
LIMIT_S = _TRIES * _TRY_S
"""A plain close waits 3000 tries of 1 ms; the vendor's runtime would wait on for ever."""


def close_stream(stream: StreamPort, *, force: bool) -> None:
    """Drain or kill a stream's tasks, then free what it holds in reverse order of creation."""
    stream.device.runtime.stream_observers.notify(stream, StreamState.DESTROY_PRE)
    ended = stream.plugin.commands is None
    while True:
        if not stream.ring.pending:  # else its tasks are announced as going first, whether they are done or not
            _take_reports(stream)
            if not ended:
                ended = True
                _announce_end(stream, force=force)
        if release(stream):
            break
        end_tasks(stream, force=force)
    stream.device.runtime.logs.life("stream %d of device %d destroyed", stream.stream_id, stream.device.user_id)


def _announce_end(stream: StreamPort, *, force: bool) -> None:
    """Tell a scheduler of commands that a stream goes, and wait until it has read that; not where it reads no more."""
    from runtime.core.stream import commands  # for such chips only

    if force or stream.closed or stream.context.failure.first is not None or stream.device.health.lost is not None:
        return
    commands.end(stream)
    for attempt in range(_TRIES):
        stream.drain()
        if not stream.ring.pending:
            return
        if attempt:
            time.sleep(_TRY_S)


def end_tasks(stream: StreamPort, *, force: bool) -> None:
    """Wait for a stream's tasks, or end them; Timeout 507046 when waiting does not help.

    Tasks of a stream or context that has stopped for good are ended in any case, and so are those that only a model
    would execute, and those of a device that no longer answers.
    """
    if stream.ring.pending:
        if stream.never_waited or stream.device.health.lost is not None:
            _take_back(stream)
        elif force or stream.context.failure.first is not None:
            force_recycle(stream)
        else:
            _wait_idle(stream)


def _take_reports(stream: StreamPort) -> None:
    """Take the reports of tasks that are done: the queue that holds them is about to go."""
    taken = completion.reports_taken(stream)
    while not taken():
        completion.drain(stream)
        time.sleep(_TRY_S)


def _wait_idle(stream: StreamPort) -> None:
    if stream.env.separate_recycle:
        stream.drain()  # as far as the thread that recycles has come
    if stream.ring.pending:
        _announce(stream, force=False)
    for attempt in range(_TRIES):
        stream.drain()
        if not stream.ring.pending:
            return
        inside.check_wait(stream, "close")
        if attempt:
            stream.device.recycler.look_around()
            time.sleep(_TRY_S)
    raise errors.fault(
        "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
        f"stream {stream.stream_id} cannot be closed: {stream.ring.pending} SQEs do not finish",
        hint="close it with force=True, or find out what its tasks wait for",
    )


def force_recycle(stream: StreamPort) -> None:
    """Ask the task scheduler, over the control stream, to end the stream's tasks, then take all of them back.

    v100 gives the scheduler up to 3000 tries of 1 ms to end them, v2 takes them back at once (core_spec 5.7).
    """
    with contextlib.suppress(errors.RuntimeFault):  # a device that is gone cannot be asked, and ends nothing any more
        _announce(stream, force=True)
        _wait_killed(stream)
    _take_back(stream)


def _wait_killed(stream: StreamPort) -> None:
    queues, sq_id = stream.device.queues, stream.queues.sq_id
    for attempt in range(_TRIES if stream.counts_ids and not stream.device.runtime.leaving else 1):
        stream.drain()
        if not stream.ring.pending or queues.head(sq_id) == queues.tail(sq_id) or not queues.enabled(sq_id):
            break
        if attempt:
            time.sleep(_TRY_S)


def _announce(stream: StreamPort, *, force: bool) -> None:
    """Tell the task scheduler that a stream is about to go.

    A plain close puts the message behind the stream's own tasks, and does without where there is no space; by force it
    goes over the control stream, past what does not end.
    """
    over = stream.device.control_stream if force else stream
    if over.closed or (over is stream and (force or not stream.ring.fits(1))):
        return
    over.submit(Maintenance(kind=MaintenanceKind.STREAM_RECYCLE, target_id=stream.stream_id, flag=force))


def _take_back(stream: StreamPort) -> None:
    with stream.lock:
        stream.ring.reclaim(stream.ring.pending, stream.device.release_arguments)
    stream.reports.give_up(stream.ring.reclaimed)
    run_callbacks(stream.ring.pending_callbacks)
    stream.failure.take()


def empty(stream: StreamPort) -> None:
    """Take back what a stream keeps for a model that is not being executed; it goes on at position 0."""
    _take_back(stream)
    with stream.lock:
        if not stream.own_sink.immediate:
            stream.ring.start_over()
            return
        queues, sq_id = stream.device.queues, stream.queues.sq_id
        queues.set_tail(sq_id, 0)
        queues.set_head(sq_id, 0)
        stream.ring.restart()
        stream.senders.seek(0)


def close_dropped(stream: StreamPort) -> None:
    """Close a stream that nobody has any more; called when what was queued at its end is done."""
    if stream.bound is not None:
        stream.bound.give_up()
    if stream.bound is not None:  # the model is being closed just now
        stream.device.dropped.append(partial(close_dropped, stream))
        return
    if not stream.closed:
        close_stream(stream, force=False)
    with contextlib.suppress(ValueError):
        stream.context.dropped.remove(stream)


def drop(stream: StreamPort) -> None:
    """Release a stream with tasks in it: they were ended, or cannot be waited for."""
    _take_back(stream)
    release(stream)


def release(stream: StreamPort) -> bool:
    """Give a stream's queue and ids back, once; False, and nothing is done, while it has tasks.

    Where an interrupt comes between the steps, the next wait on the device makes those that are left.
    """
    dropped = stream.device.dropped
    with stream.lock:
        if stream.closed:
            return True
        if stream.ring.pending:
            return False
        rest = Steps(_ending(stream))  # of the queues that it has now: an abort makes them again
        dropped += (rest,)  # no call, and none behind it: an interrupt comes before both or behind both
        stream.closed = True
        stream.blocked = True
    rest.finish(dropped)
    return True


def _ending(stream: StreamPort) -> Iterator[Callable[[], object]]:
    """Return the steps in which a closed stream gives back what it has."""
    device, queues, ids = stream.device, stream.queues, stream.device.ids
    yield Again(partial(_part, stream))
    yield partial(_count, stream)
    yield Again(stream.ring.forget)
    yield Again(stream.resources.close)
    if stream.flags & stream.flags.HOST_ONLY:
        yield partial(device.host_stream_ids.discard, stream.stream_id)
        return
    yield Again(partial(_free_word, stream))
    if queues.logic_cq_id != NO_ID:
        yield ids.unbinding(stream.stream_id)
    if stream.group is None and queues.logic_cq_id != NO_ID:
        yield device.queues.freeing_logic_cq(queues.logic_cq_id)
    if stream.has_queue:
        yield device.queues.freeing(queues.sq_id, queues.cq_id)
    yield ids.freeing(id_kinds.STREAM, stream.stream_id, partial(_free_id, stream))


def _part(stream: StreamPort) -> None:
    """Let everybody know that the stream is closed."""
    stream.blocked = True
    with stream.reports.lock:
        pass  # whoever was taking completion entries is through; the next one sees that the stream is closed
    stream.context.streams.remove(stream)
    stream.device.runtime.handles.remove(stream.handle)
    stream.reports.give_up(stream.ring.reclaimed)
    stream.reports.expected.clear()  # of tasks that only models execute
    stream.drop_prepared()  # kernels that only these hold end now, not with the collector


def _count(stream: StreamPort) -> None:
    """Take what the stream has counted over to the device."""
    tally = stream.device.tally
    if not stream.keeps_tasks:
        tally.closed.update(stream.counts.look())
    tally.synchronizes += stream.synchronizes


def _free_word(stream: StreamPort) -> None:
    words = stream.device.executed_words
    if words.holds(stream.stream_id):
        words.give_back(stream.stream_id)


def _free_id(stream: StreamPort) -> None:
    """Give the stream id back; exception callbacks are called when the driver refuses."""
    device = stream.device
    try:
        device.ids.free(id_kinds.STREAM, stream.stream_id)
    except errors.RuntimeFault as fault:
        device.runtime.exceptions.notify(ExceptionInfo(
            ExceptionKind.STREAM_ID_FREE_FAILED, device.user_id, stream.stream_id, NO_TASK, threading.get_ident(),
            fault.code, fault,
        ))
        raise
