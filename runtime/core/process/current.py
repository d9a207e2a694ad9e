"""Which context a thread works in, and the errors where there is none (core_spec 2.7)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core.sync.open_captures import CaptureMode

if TYPE_CHECKING:
    from runtime.core.device.slot import DeviceSlot
    from runtime.core.process.context import Context
    from runtime.core.process.threads import ThreadStates
    from runtime.core.stream.stream import Stream


class CurrentState(threading.local):
    """What each thread has set: a context by handle, or a device, whose primary context it then follows."""

    context: Context | None = None
    slot: DeviceSlot | None = None
    capture_mode = CaptureMode.GLOBAL
    """How far the thread lets captures of others hinder it."""

    def __init__(self, threads: ThreadStates | None = None) -> None:
        """Begin in a thread: called in each one when it first asks for anything here."""
        if threads is not None:
            threads.enter(self.__dict__)

    def use_context(self, context: Context) -> None:
        """Work in a context from now on."""
        self.context, self.slot = context, None

    def use_device(self, slot: DeviceSlot) -> None:
        """Work in a device's primary context, whenever there is one."""
        self.context, self.slot = None, slot

    def clear(self) -> None:
        """Work in no context."""
        self.context = self.slot = None

    def find(self) -> Context | None:
        """Return the context that the thread works in, or None; a context that has ended is let go."""
        if self.context is not None:
            if not self.context.closed:
                return self.context
            self.context = None
        return self.slot.primary if self.slot is not None else None


def no_context(slots: Sequence[DeviceSlot], *, destroyed: bool) -> errors.RuntimeFault:
    """Return the answer to a thread that needs a context: who it is, which contexts there are, and what to do.

    Args:
        destroyed: the thread had made one current, and it is gone.
    """
    thread = threading.current_thread()
    reason = "its context was destroyed by another thread" if destroyed else "it has no device set"
    there = [_named(slot.primary) for slot in slots if slot.primary is not None]
    there += [_named(context) for slot in slots for context in slot.contexts]
    others = f"the process has {', '.join(there)}" if there else "no device is in use in this process"
    return errors.fault(
        "RT_ERROR_CONTEXT_DEL" if destroyed else "ACL_ERROR_RT_CONTEXT_NULL",
        f"thread {thread.name!r} ({thread.ident}) cannot make this call, no valid context: {reason}; {others}",
        ee="EE1018", params=("call that needs a context", "no valid context bound to the thread"),
        hint=f"a new thread starts without a context: call runtime.set_device({_in_use(slots)}) in it, make a context "
        "of another thread current, or use the methods of a Device object",
    )


def _in_use(slots: Sequence[DeviceSlot]) -> int:
    """Return the device that the process works on, the first of several."""
    return next((slot.index for slot in slots if slot.primary is not None or slot.contexts), 0)


def foreign_stream(call: str, stream: Stream, context: Context) -> errors.RuntimeFault:
    """Return the answer to a call that needs a stream of the thread's context, and was given another context's."""
    theirs, ours = _named(stream.context), _named(context)
    return errors.fault(
        "ACL_ERROR_RT_STREAM_CONTEXT",
        f"{call}: stream {stream.stream_id}, made at {stream.site}, belongs to {theirs}; the thread works in {ours}",
        ee="EE1010", params=(call, "stream", f"made at {stream.site} in {theirs}, while the thread works in {ours}"),
        hint="make the stream's context the thread's first; methods of the Stream object work from anywhere",
    )


def _named(context: Context) -> str:
    kind = "the primary context" if context.primary else "context"
    return f"{kind} {context.handle:#x} of device {context.device.user_id}"
