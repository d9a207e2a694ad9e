"""Waiting: poll the SQ head, take reports, throttle, and end in a result or a time-out (core_spec 5.6)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.callbacks.exceptions import ExceptionInfo, ExceptionKind
from runtime.core.device import time_limits
from runtime.core.diagnostics import hang
from runtime.core.submission import completion, submit
from runtime.core.submission.ring import run_callbacks
from runtime.errors.arguments import whole

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

_FREE_POLLS = 170
"""Polls before the first pause: a short task is over sooner than a sleeping thread wakes up."""

_FAST_SYNC_POLLS = 2000
"""The same for streams made with FAST_SYNC."""

_REPORT_EVERY_S = 180.0
_SLICE_MS = 200
"""Longest single wait in the driver: Ctrl-C must work."""

_SETTLE_TRIES = 100
_FIRST_PAUSE_S = 20e-6
_LONGEST_PAUSE_S = 1e-3
_PAUSE_SHARE, _LONGEST_LATE_PAUSE_S = 0.02, 5e-3
"""Who has waited long may be told a little later: by this share of the time waited, up to a limit."""
_POLLS_PER_CHECK = 250
_POLLS_PER_ROUND = 16
"""Polls of a waiting thread between two rounds over all streams."""

STREAM_TIMEOUT = "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT"
EVENT_TIMEOUT = "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT"


def check_timeout(timeout_ms: int, call: str) -> None:
    """Refuse time-outs that mean nothing: 0, anything below -1, and what is no whole number."""
    whole(call, "timeout_ms", timeout_ms)
    if timeout_ms == 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: timeout_ms is 0; it must be at least 1, or -1 for no limit",
            ee="EE1003", params=(call, timeout_ms, "timeout", "-1 or (0, 2147483647]"),
            hint="use query() to look without waiting",
        )
    if timeout_ms < -1:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: timeout_ms is {timeout_ms}; only -1 is allowed below zero",
            ee="EH0007", params=(call, timeout_ms, "timeout", "-1 or (0, 2147483647]"),
            hint="pass a positive number of milliseconds, or -1 to wait for ever",
        )


def synchronize(stream: StreamPort, timeout_ms: int) -> None:
    """Wait for all of a stream's tasks and raise its first failure, once; a stopped context raises its own for ever."""
    ring = stream.ring
    if timeout_ms == -1 and ring.reclaimed == ring.submitted and not stream.epoch.now.blocked:
        if callbacks := completion.take(stream):  # whoever asks whether there are reports must take them
            run_callbacks(callbacks)
        if not (stream.failure.first or ring.pending_callbacks or stream.reports.expected):
            device = stream.device
            if device.dropped:
                device.give_back_dropped()
            if device.hal.listens:  # a call saved where nobody does
                stream.observed()  # the runtime may have read it for itself, at a tick
            return  # nothing to wait for, and nothing to tell
    stream.check_open()
    check_timeout(timeout_ms, "Stream.synchronize")
    stream.check_status()
    if stream.never_waited:
        return
    wait(stream, all_done(stream), timeout_ms, STREAM_TIMEOUT)
    stream.device.give_back_dropped()
    raise_failure(stream)


def settle(stream: StreamPort, timeout_ms: int = -1) -> None:
    """Wait as `synchronize` until messages to the task scheduler were read, also where the driver cannot say so once.

    Nobody counts it: it is the runtime's own wait. What follows a message relies on it: whoever left while it is still
    to be read would take away what it speaks of.
    """
    for tries_left in reversed(range(_SETTLE_TRIES)):
        try:
            stream.check_not_captured("synchronize of a stream")
            synchronize(stream, timeout_ms)
            return
        except errors.RuntimeFault as fault:
            refused_by_driver = bool(fault.hal_call) and stream.ring.pending
            if not (refused_by_driver and tries_left) or stream.device.health.lost is not None:
                raise
        time.sleep(_FIRST_PAUSE_S)


def all_done(stream: StreamPort) -> Callable[[], bool]:
    """Return what tells whether everything submitted until now is done, and its reports were taken (5.6)."""
    ring, target, reported = stream.ring, stream.ring.submitted, completion.reports_taken(stream)
    return lambda: ring.reclaimed >= target and reported()


def raise_failure(stream: StreamPort) -> None:
    """Raise a stream's first failure, once, or what its context has stopped for, each time.

    This frame does not keep it: with the traceback it would keep what the callers drop until the collector comes.
    """
    if failure := stream.failure.take():
        try:
            raise failure
        finally:
            del failure
    stream.context.failure.check(stream)


def wait(stream: StreamPort, finished: Callable[[], bool], timeout_ms: int, timeout_code: str) -> None:
    """Drain a stream until `finished()`; interruptible, and without burning a core while nothing moves.

    A stream that belongs to a DVPP group gets a report for every task and waits for the next one in slices; the others
    poll the head. Whoever has waited for 180 s tells the exception callbacks, and again after each further 180 s; a
    wait that passes `Runtime.hang_s` has the stream described, once.
    """
    tracer = stream.tracer  # another thread may end its watch meanwhile
    if tracer is None:
        stream.drain()
        if not finished():
            for pause in pauses(stream, finished, timeout_ms, timeout_code):
                time.sleep(pause)
        return
    began_ns = time.perf_counter_ns()
    try:
        for pause in pauses(stream, finished, timeout_ms, timeout_code):
            time.sleep(pause)
    finally:
        tracer.waited(stream, began_ns, "event" if timeout_code == EVENT_TIMEOUT else "stream")


def pauses(
    stream: StreamPort, finished: Callable[[], bool], timeout_ms: int, timeout_code: str, free_polls: int | None = None,
    slice_ms: int = _SLICE_MS,
) -> Iterator[float]:
    """Wait as `wait` does, and yield each time for how many seconds whoever waits is to pause.

    Args:
        free_polls: looks before the first pause; by default what suits the stream.
        slice_ms: longest wait inside the driver, for streams of a DVPP group.
    """
    began = time.monotonic()
    deadline = None if timeout_ms < 0 else began + timeout_ms / 1000
    report_at, aborts = began + _REPORT_EVERY_S, stream.aborts
    hang_at = began + stream.device.runtime.hang_s
    if free_polls is None:
        free_polls = _FAST_SYNC_POLLS if stream.traits.fast_sync else _FREE_POLLS
    inside_after = max(free_polls, 1)
    polls, pause, seen, at_limit = 0, _FIRST_PAUSE_S, -1, False
    hal = stream.device.hal
    worked = hal.progress
    while True:
        stream.drain()
        if finished():
            if stream.aborts != aborts:
                raise submit.aborted(stream, "ACL_ERROR_RT_STREAM_ABORT")
            return
        if stream.blocked:
            stream.check_status()
        now = time.monotonic()
        if now >= report_at:
            report_at += _REPORT_EVERY_S
            _report_waiting(stream)
        if now >= hang_at:
            hang_at = math.inf
            hang.report(stream, now - began)
        if deadline is not None and now >= deadline:
            if not at_limit:  # a short wait, too, leaves behind it what is done on other streams reclaimed
                at_limit = True
                stream.device.recycler.look_around()
                continue
            raise errors.fault(
                timeout_code,
                f"stream {stream.stream_id} of device {stream.device.user_id} is not finished in "
                f"{timeout_ms} ms; still running: {running_task(stream)}, {stream.ring.pending} SQEs pending"
                + "".join(f"; waiting for {text}" for text in hang.awaited(stream)),
                ee="EE1002" if timeout_code == STREAM_TIMEOUT else "",
                params=(f"stream {stream.stream_id}, {timeout_ms} ms",) if timeout_code == STREAM_TIMEOUT else (),
                hint=time_limits.hint(stream, timeout_ms),
            )
        if polls % inside_after == 0:
            inside.check_wait(stream, "a wait for an event" if timeout_code == EVENT_TIMEOUT else "synchronize",
                              timeout_code)
        polls += 1
        if polls % _POLLS_PER_CHECK == 0:
            submit.check_device(stream)
        if stream.ring.reclaimed != seen:
            seen, pause = stream.ring.reclaimed, _FIRST_PAUSE_S
        elif polls > free_polls:
            if polls % _POLLS_PER_ROUND == 0 and stream.ring.pending:  # else only a report is on its way
                stream.device.recycler.look_around()
            if stream.group is not None:
                left_ms = slice_ms if deadline is None else int((deadline - now) * 1000)
                run_callbacks(completion.take(stream, max(1, min(left_ms, slice_ms))))
                yield 0
                continue
            if worked != (progress := hal.progress):  # by the looks alone: to pause would gain nothing
                worked, pause = progress, _FIRST_PAUSE_S
                yield 0
                continue
            yield pause
            pause = min(pause * 1.5, max(_LONGEST_PAUSE_S, min((now - began) * _PAUSE_SHARE, _LONGEST_LATE_PAUSE_S)))


def _report_waiting(stream: StreamPort) -> None:
    """Tell the exception callbacks that a stream is waited for very long."""
    position = stream.ring.reclaimed % stream.ring.depth
    stream.device.runtime.exceptions.notify(ExceptionInfo(
        ExceptionKind.TASK_TIMEOUT, stream.device.user_id, stream.stream_id, stream.ring.id_at(position),
        threading.get_ident(), errors.public_code("RT_ERROR_STREAM_SYNC_TIMEOUT"),
    ))


def running_task(stream: StreamPort) -> str:
    """Name the oldest unfinished task, for messages."""
    if not stream.ring.pending:
        return "nothing"
    position = stream.ring.reclaimed % stream.ring.depth
    owner = stream.ring.owners[position]
    return f"{owner} at ring position {position} (task id {stream.ring.id_at(position)})"
