"""Waiting: poll the SQ head, take reports, throttle, and end in a result or a time-out (core_spec 5.6)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core import submit

if TYPE_CHECKING:
    from runtime.core.stream import Stream

_FREE_POLLS = 170
"""Polls before the first pause: a short task is over sooner than a sleeping thread wakes up."""

_FIRST_PAUSE_S = 20e-6
_LONGEST_PAUSE_S = 1e-3
_POLLS_PER_CHECK = 1000


def check_timeout(timeout_ms: int, call: str) -> None:
    """Refuse time-outs that mean nothing: 0, and anything below -1."""
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


def synchronize(stream: Stream, timeout_ms: int) -> None:
    """Wait for all of a stream's tasks and raise its first failure, once."""
    stream.check_open()
    check_timeout(timeout_ms, "Stream.synchronize")
    target = stream.ring.submitted
    wait(stream, lambda: stream.ring.reclaimed >= target, timeout_ms, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT")
    if failure := stream.failure.take():
        raise failure


def wait(stream: Stream, finished: Callable[[], bool], timeout_ms: int, timeout_code: str) -> None:
    """Drain a stream until `finished()`; interruptible, and without burning a core while nothing moves."""
    deadline = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
    polls, pause, seen = 0, _FIRST_PAUSE_S, -1
    while True:
        stream.drain()
        if finished():
            return
        if stream.closed:
            stream.check_open()
        if deadline is not None and time.monotonic() >= deadline:
            raise errors.fault(
                timeout_code,
                f"stream {stream.stream_id} of device {stream.device.user_id} is not done after {timeout_ms} ms: "
                f"{stream.ring.pending} SQEs pending, running {running_task(stream)}",
                ee="EE1002" if timeout_code == "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT" else "",
                params=(f"stream {stream.stream_id}, {timeout_ms} ms",)
                if timeout_code == "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT" else (),
            )
        polls += 1
        if polls % _POLLS_PER_CHECK == 0:
            submit.check_device(stream)
        if stream.ring.reclaimed != seen:
            seen, pause = stream.ring.reclaimed, _FIRST_PAUSE_S
        elif polls > _FREE_POLLS:
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)


def running_task(stream: Stream) -> str:
    """Name the oldest unfinished task, for messages."""
    if not stream.ring.pending:
        return "nothing"
    position = stream.ring.reclaimed % stream.ring.depth
    return f"{stream.ring.owners[position]} at ring position {position}"
