"""Waits inside a host function: its stream goes on when it has returned, so that some of them could never end.

Whoever is about to pause asks here. What leads back to the function is refused: its own stream, a stream that waits
for an event recorded behind it, a stream whose own host function is the same thread's to make, an execution of a graph
that calls one. A wait for anything else is none of this module's business.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from npuhal.records import dataclass
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.callbacks.subscription import Group, Subscription
    from runtime.core.ports import StreamPort
    from runtime.driver.queues.callbacks import CallbackReport


OWNER = "host callback"
"""What the tasks of a call are called."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call that a thread makes now."""

    name: str
    stream: StreamPort
    group: Group
    holds: bool
    """Whether the stream stands still until it has returned."""
    outer: HostCall | None
    """The call inside of which the thread has taken this one."""

    def __str__(self) -> str:
        return f"host function {self.name} of stream {self.stream.stream_id} of device {self.stream.device.user_id}"


class _Thread(threading.local):
    call: HostCall | None = None


_thread = _Thread()


def enter(name: str, subscription: Subscription | None, group: Group, report: CallbackReport) -> HostCall | None:
    """Note that this thread makes a call from now on; returns it, None for one whose stream has gone."""
    if subscription is not None:
        _thread.call = HostCall(name, subscription.stream, group, bool(report.block), _thread.call)
    return _thread.call


def leave(outer: HostCall | None) -> None:
    """Note that this thread is back in the call around, or in none."""
    _thread.call = outer


def check_wait(stream: StreamPort, call: str, code: str = "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT") -> None:
    """Refuse a wait for a stream that would end only after the host function that this thread is in.

    Raises:
        Timeout 507046, or `code`.
    """
    made = _thread.call
    while made is not None:
        if _leads_back(stream, made, set()):
            raise refused(made, f"{call} of stream {stream.stream_id} of device {stream.device.user_id}", code)
        made = made.outer


def check_model(model: Any, call: str) -> None:
    """Refuse a wait for executions of a model that makes the host function which this thread is in; 507046."""
    made = _thread.call
    while made is not None:
        if made.stream.bound is not None and made.stream.bound.root is model:
            raise refused(made, f"{call} of {model!r}", "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT")
        made = made.outer


def refused(made: HostCall, what: str, code: str) -> errors.RuntimeFault:
    """Return the fault of a wait that only the return of a call could end."""
    return errors.fault(
        code, f"{what} inside the {made} would never end: what it waits for goes on when that function has returned",
        hint="return from the host function, and wait in another thread",
    )


def _leads_back(stream: StreamPort, made: HostCall, seen: set[StreamPort]) -> bool:
    """Whether a stream that has work left stands behind a call, as far as is known."""
    if stream is made.stream:
        return made.holds
    if stream in seen or stream.closed:
        return False
    seen.add(stream)
    stream.drain()
    ring = stream.ring
    with stream.lock:
        if not ring.pending:
            return False
        owner = ring.owners[ring.reclaimed % ring.depth]
        awaited = next((callback for _, callback in list(ring.completion_callbacks)[:1]), None)
    signal = getattr(awaited, "__self__", None)
    signal = getattr(signal, "signal", signal)
    calls = stream.device.runtime.callbacks
    called = owner is not None and owner.name == OWNER
    if called or (signal is not None and calls.group_of(stream, signal) is not None):
        return calls.group_of(stream) is made.group
    if any(each.calls_in(stream) for each in list(made.group.streams.values())):
        return True
    for event in stream.device.signals.events:
        latest = getattr(event, "latest", None)
        if latest is not None and event.signal is signal:
            latest.look()
            return not latest.done and _leads_back(latest.stream, made, seen)
    return False
