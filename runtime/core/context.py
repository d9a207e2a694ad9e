"""Contexts: who owns streams on a device, and which one a thread works in."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core import stream as streams
from runtime.core.refs import Children, dead_handle

if TYPE_CHECKING:
    from runtime.core.device import Device
    from runtime.core.stream import Stream


class Context:
    """Streams and their default stream on one device. The primary context comes with the device."""

    __slots__ = ("__weakref__", "_default", "closed", "device", "handle", "primary", "streams")

    def __init__(self, device: Device, *, primary: bool) -> None:
        self.device, self.primary = device, primary
        self.streams = Children()
        self.closed = False
        self.handle = device.runtime.handles.add(self)
        self._default: Stream | None = None

    def check_open(self) -> None:
        """Raise where the context is gone."""
        if self.closed:
            raise dead_handle("context", f"context {self.handle:#x}")

    @property
    def default_stream(self) -> Stream:
        """The stream that calls without a stream use; for the primary context it is the device's primary stream."""
        self.check_open()
        if self._default is None:
            raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "this context has no default stream")
        return self._default

    def adopt_default(self, stream: Stream) -> None:
        """Make a stream the default one; called once, while the context is set up."""
        self._default = stream

    def create_stream(self, *, priority: int = 0, flags: streams.StreamFlag = streams.StreamFlag.DEFAULT,
                      name: str = "") -> Stream:
        """Create a stream; see `Device.create_stream`."""
        self.check_open()
        stream = streams.create(self, flags=flags, priority=max(0, min(priority, 7)), name=name)
        self.streams.add(stream)
        return stream

    def __repr__(self) -> str:
        kind = "primary context" if self.primary else "context"
        return f"<{kind} of device {self.device.user_id}, {len(self.streams)} streams>"


class CurrentState(threading.local):
    """What each thread has set: a device, or a context of its own."""

    context: Context | None = None


def need_context(state: CurrentState) -> Context:
    """Return the thread's context; a thread without one is told how to get it."""
    if state.context is None or state.context.closed:
        state.context = None
        raise errors.fault(
            "ACL_ERROR_RT_CONTEXT_NULL", "this thread has no device set",
            ee="EE1018", params=("current context", "no valid context bound to the thread"),
            hint="call runtime.set_device(0) in this thread, or use the methods of a Device object",
        )
    return state.context
