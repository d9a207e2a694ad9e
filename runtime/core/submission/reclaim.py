"""Who takes finished tasks back, and when (core_spec 11).

A position in a ring is free again when the head has passed it and its task was reclaimed. Whoever wants space or an
answer reclaims on its own: a full ring, synchronize, teardown, abort. In between every 64th entry that is submitted
is a *tick*. What a tick does is decided when the stream is made:

* A stream whose recycling is separate (`EncodeEnv.separate_recycle`) wakes the device's `Recycler`. That is a thread
  which sleeps until it is woken, makes one round over the streams that have something pending, and sleeps again. It is
  started by the first wake and joined when the device closes.
* Other streams look themselves, and only when the device is far behind: `try_recycle` takes at most 64 entries.

A backend whose machine moves only during calls (`HalApi.stepped`, every fake but free_run) has no use for a thread: who
polls decides how far the device gets, so a thread would make results depend on the scheduler of the host. There the
round is made inside the wake, by the thread that submits, for its own stream. The order of all HAL calls then follows
from the program alone; nothing but the program's own calls lets the device work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from npuhal.changed import start_thread
from runtime import errors
from runtime.core.modes import FailureMode
from runtime.core.submission import completion
from runtime.core.submission.ring import TICK, run_callbacks

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

_FAR_BEHIND = 512
"""Entries the device may be behind before a stream without a recycle thread looks (TASK_WAIT_EXECUTE_MAX_NUM)."""


class Recycler:
    """Reclaims for all streams of a device that ask for it."""

    def __init__(
        self, streams: Callable[[], Iterable[StreamPort]], name: str, *, threaded: bool,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Args:
            streams: returns the streams to look at.
            threaded: make rounds in a thread of their own, not in the thread that wakes.
            around: makes the context in which each round of that thread runs.
        """
        self._streams, self._name, self._around = streams, name, around
        self._threaded = threaded
        self._wanted: SimpleQueue[None] = SimpleQueue()
        """Holds something while a round is asked for; in C, so that Ctrl-C cannot come before the thread is woken."""
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False
        self.rounds = 0

    def tick(self, stream: StreamPort) -> Callable[[], None]:
        """Return what a stream calls every 64 entries."""
        return self.wake if self._threaded else partial(reclaim, stream)

    def wake(self) -> None:
        """Have a round made; waking again before it has begun changes nothing."""
        if self._wanted.empty():
            self._wanted.put(None)
        if self._thread is None:
            self._start()

    def look_around(self) -> None:
        """Have a round made for somebody who waits: what it waits for may stand behind another stream's failed task."""
        if self._threaded:
            self.wake()
        else:
            self._round()

    def _round(self) -> None:
        for stream in self._streams():
            if stream.ring.pending and not stream.closed:
                look(stream)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and self._threaded and not self._closed:
                self._thread = start_thread(self._run, self._name)

    def _run(self) -> None:
        me = threading.current_thread()
        with self._starting:
            forgotten = self._thread is not me
        while not forgotten:
            self._wanted.get()
            if self._closed:
                return
            self.rounds += 1
            with self._around():
                self._round()

    def close(self) -> None:
        """End the thread; what is pending is left to whoever closes the streams."""
        with self._starting:
            self._closed = True
            thread, self._thread = self._thread, None
        self._wanted.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join()


def look(stream: StreamPort) -> None:
    """Make one stream's part of a round; a failure is kept for the stream's next synchronize.

    A driver that cannot say now how far the stream is says nothing about its tasks: the next look asks again.
    """
    try:
        reclaim(stream)
    except errors.RuntimeFault as fault:
        if not (stream.closed or fault.hal_call):
            stream.failure.keep(fault)
    except Exception as raised:  # by a callback; the thread has to go on
        broken = errors.fault("ACL_ERROR_RT_INTERNAL_ERROR", f"stream {stream.stream_id}: a callback raised {raised!r}")
        broken.__cause__ = raised
        stream.failure.keep(broken)


def drain(stream: StreamPort, limit: int = 0) -> None:
    """Take completion entries that have arrived, then free what the head has passed, at most `limit` entries."""
    completion.drain(stream)
    with stream.lock:
        _take_back(stream, limit)
    if stream.ring.pending_callbacks:
        run_callbacks(stream.ring.pending_callbacks)


def _has_queue(stream: StreamPort) -> bool:
    """Whether the queue is the stream's still: another one may have its id by now. The lock is held."""
    return not stream.closed and stream.wanted_queues is None


def _take_back(stream: StreamPort, limit: int) -> None:
    """Read the head and free finished slots, all or at most `limit`; callbacks are then pending (see TaskRing).

    A stream in failure mode ABORT gives everything up: what it still holds is never executed.
    """
    ring = stream.ring
    if not _has_queue(stream):
        return
    if stream.failure_mode is FailureMode.ABORT:
        done = ring.pending
    elif stream.keeps_tasks or stream.traits.host_only or not stream.own_sink.immediate:
        done = 0
    else:
        done = ring.done(stream.read_head(), limit)
    if done:
        ring.reclaim(done, stream.device.release_arguments)


def reclaim(stream: StreamPort, limit: int = 0) -> None:
    """Drain a stream for the runtime's own needs: what it reads is not what the program goes by, and tools are told."""
    remark = stream.device.hal.remark
    remark("internal")
    try:
        stream.drain(limit)
    finally:
        remark("back")


def try_recycle(stream: StreamPort) -> None:
    """Reclaim at most 64 entries of a stream without a recycle thread, if it should (core_spec 11.2, 11.3)."""
    ring = stream.ring
    remark = stream.device.hal.remark
    remark("internal")
    try:
        with stream.lock:
            there = stream.own_sink.immediate and _has_queue(stream)
            behind = (ring.tail - stream.read_head()) % ring.depth if there else 0
    finally:
        remark("back")
    if behind > _FAR_BEHIND or ring.pending > ring.depth * 3 // 4:
        reclaim(stream, TICK)
