"""Contexts: who owns streams on a device, and in which order what they own ends (core_spec 3.3, 4)."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from contextlib import ExitStack
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from chips.memory_rules import internal_flags
from npuhal.words import count
from runtime import errors
from runtime.core.callbacks.observers import StreamState
from runtime.core.device import recycling, teardown
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.modes import StreamFlag
from runtime.core.process.handles import Children, dead_handle
from runtime.core.stream import creation
from runtime.core.stream.failure import ContextFailure
from runtime.core.sync import synchronize as sync
from runtime.core.sync.open_captures import OpenCaptures
from runtime.errors.not_copied import NotCopied

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.stream.dvpp_group import DvppGroup
    from runtime.core.stream.stream import Stream

_OVERFLOW_BYTES = 512


class ContextState(IntEnum):
    """Where a context stands; only an active one takes calls of users."""

    NOT_INITIALIZED = 0
    INITIALIZING = 1
    ACTIVE = 2
    FINALIZING = 3
    FINALIZED = 4
    DEINITIALIZING = 5


class Context(NotCopied):
    """Streams and their default stream on one device.

    The primary context comes with the device, uses its primary stream, and can be set up again after its end. A
    context of a user's own has a default stream of its own and lives once.
    """

    __slots__ = (
        "__weakref__",
        "_default",
        "collect_at",
        "device",
        "dropped",
        "dropped_models",
        "failure",
        "handle",
        "models",
        "open_captures",
        "overflow_address",
        "parameters",
        "primary",
        "resources",
        "site",
        "state",
        "streams",
    )  # fmt: skip

    def __init__(self, device: Device, *, primary: bool) -> None:
        self.device: Device = device
        self.primary = primary
        self.state = ContextState.NOT_INITIALIZED
        self.failure: ContextFailure = ContextFailure(self)
        """Whether the context stops at failures, and the one it has stopped at."""
        self.streams: Children = Children()
        self.models = Children()
        """Models made in the context: closed before its streams, with `close(force=...)`."""
        self.dropped: deque[Stream] = deque()
        """Streams that were dropped without `close`; they are closed when their work is done."""
        self.collect_at = recycling.FEW
        """How many streams are alive when dropped ones are looked for; see `recycling.collect_many`."""
        self.dropped_models: deque[Any] = deque()
        """Models that were, likewise."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the context: undone after its streams, last added first."""
        self.parameters: dict[int, int] = {}
        """System parameters of this context (aclrtCtxSetSysParamOpt)."""
        self.overflow_address = 0
        """Where kernels note overflows on chips that do so per context; 0 when there was no memory for it."""
        self.open_captures = OpenCaptures(device.runtime.current)
        """Whether captures forbid the calling thread what waits for the device."""
        self.handle = 0
        self.site = creation_site()
        self._default: Stream | None = None

    @property
    def closed(self) -> bool:
        """Whether the context takes no calls: not set up yet, ending, or gone."""
        return self.state is not ContextState.ACTIVE

    def check_open(self) -> None:
        """Raise where the context is gone."""
        if self.state is not ContextState.ACTIVE:
            self.device.check_open()
            raise dead_handle(
                "context", f"the {self._kind} of device {self.device.user_id}",
                self.device.runtime.handles.history(self.handle) if self.handle else "",
            )

    @property
    def default_stream(self) -> Stream:
        """The stream that calls without a stream use; for the primary context it is the device's primary stream."""
        if self.state is not ContextState.ACTIVE:
            self.check_open()
        assert self._default is not None
        return self._default

    # -- life ------------------------------------------------------------------------------------------------------

    def set_up(self) -> None:
        """Give the context its overflow buffer and its default stream, and let users in."""
        device = self.device
        self.state = ContextState.INITIALIZING
        self.failure.clear()
        try:
            self._take_overflow_buffer()
            if self.primary:
                self._default = device.primary_stream
                device.scheduler.set_up_primary()
            else:
                self._default = creation.create(self, flags=StreamFlag.PRIMARY_DEFAULT, name="default")
                self.resources.callback(teardown.drop, self._default)
        except BaseException:
            self._release()
            raise
        self.handle = device.runtime.handles.add(self)
        self.state = ContextState.ACTIVE
        self.notify_default(StreamState.CREATE_POST)

    def _take_overflow_buffer(self) -> None:
        memory = self.device.memory
        with contextlib.suppress(errors.OutOfMemory):  # only overflow detection suffers
            self.overflow_address = memory.alloc(_OVERFLOW_BYTES, internal_flags())
            self.resources.callback(memory.free, self.overflow_address)

    def notify_default(self, state: StreamState) -> None:
        """Tell observers that the default stream has come, or is about to go."""
        self.device.runtime.stream_observers.notify(self._default, state)

    def tear_down(self, *, force: bool) -> None:
        """End models, streams and resources, in this order; the caller sees to it that only one thread does.

        A stream that cannot be ended stays, the first such failure is raised, and the context remains usable. On a
        device that is lost everything ends without complaint.

        Args:
            force: end running tasks instead of waiting for them.
        """
        self.state = ContextState.FINALIZING
        try:
            for model in self.all_models():
                with contextlib.suppress(errors.RuntimeFault):  # its streams are ended below in any case
                    model.close(force=True)
            self._end_streams(force)
        except BaseException:
            self.state = ContextState.ACTIVE
            raise
        self.state = ContextState.FINALIZED
        self.device.runtime.handles.remove(self.handle)
        self._release()

    def _end_streams(self, force: bool) -> None:
        first: errors.RuntimeFault | None = None
        for stream in self.streams:
            try:
                stream.close(force=force)
            except errors.RuntimeFault as fault:
                first = first or fault
        if first is not None and self.device.health.lost is None:
            raise first
        if self._default is not None:
            teardown.end_tasks(self._default, force=force)

    def _release(self) -> None:
        self.state = ContextState.DEINITIALIZING
        try:
            self.resources.close()
        finally:
            self._default, self.overflow_address = None, 0
            self.parameters.clear()
            self.state = ContextState.NOT_INITIALIZED

    def default_handle(self) -> int:
        """Return the handle of the default stream, a new one when the last was given up by its user."""
        stream, handles = self.default_stream, self.device.runtime.handles
        if not handles.holds(stream.handle):
            stream.handle = handles.add(stream)
        return stream.handle

    # -- use -------------------------------------------------------------------------------------------------------

    def create_stream(self, *, priority: int = 0, flags: int = StreamFlag.DEFAULT, name: str = "",
                      group: DvppGroup | None = None) -> Stream:
        """Create a stream; see `creation.create_for_user`."""
        self.check_open()
        return creation.create_for_user(self, priority=priority, flags=flags, name=name, group=group)

    def all_models(self) -> tuple[Any, ...]:
        """Return the models that are not closed, those included that nobody has any more."""
        return (*self.models, *self.dropped_models)

    def all_streams(self) -> tuple[Stream, ...]:
        """Return the streams that users made here and, last, the default one."""
        default = () if self._default is None else (self._default,)
        return (*self.streams.alive(), *self.dropped, *default)

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait for all streams, the default one last; raises the first failure after all of them are done."""
        self.check_open()
        for stream in self.streams:
            stream.check_not_captured("synchronize of a device or context", posted=False)
        first: errors.RuntimeFault | None = None
        sync.check_timeout(timeout_ms, "synchronize")
        self.device.tally.synchronizes += 1
        deadline = time.monotonic() + timeout_ms / 1000
        for stream in self.all_streams():
            if stream.closed:
                continue  # it was dropped, and given back while another one was waited for
            left_ms = timeout_ms if timeout_ms < 0 else max(1, math.ceil((deadline - time.monotonic()) * 1000))
            try:
                sync.synchronize(stream, left_ms)
            except errors.Timeout:
                raise
            except errors.RuntimeFault as fault:
                if self.failure.first is not None:
                    raise  # a stopped context answers everything with this
                first = first or fault
        if first is not None:
            raise first

    @property
    def _kind(self) -> str:
        return "primary context" if self.primary else "context"

    def __repr__(self) -> str:
        state = count(len(self.streams), "stream") if not self.closed else self.state.name.lower().replace("_", " ")
        return f"<{self._kind} of device {self.device.user_id}, {state}>"
