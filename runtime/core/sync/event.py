"""Events: marks in a stream that other streams and the host can wait for (core_spec 10.7).

There are two kinds. A *renewed* event (aclrtCreateEventExWithFlag, and what Python makes) takes a new signal for every
record, so recording again never disturbs a wait on the record before. A plain one keeps the signal that it got when it
was made, and can be reset; the plain default event takes a new one for every record all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.core.sync import awaiting, event_notes, event_waits
from runtime.core.sync.event_flags import EventFlag
from runtime.core.sync.event_queries import EventQueries
from runtime.core.sync.event_state import EventState
from runtime.core.sync.recording import Recording
from runtime.core.sync.signals import IdSignal, Signal
from runtime.errors.arguments import STREAMS, check_instance, check_same_runtime
from runtime.errors.not_copied import NotCopied

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.ports import EventInGraph
    from runtime.core.stream.stream import Stream


class Event(NotCopied):
    """A mark that is recorded in one stream. Made by `device.create_event()`.

    With TIME_LINE the device writes a time stamp, so that two events can be subtracted.
    """

    __slots__ = ("__weakref__", "_state", "device", "site")

    def __init__(
        self, device: Device = None,  # type: ignore[assignment]
        flags: EventFlag = EventFlag.DDSYNC, *, renewed: bool = True, name: str = "",
        shared: bytes = b"",
    ) -> None:
        """Make an event; `check_flags` says which flags a kind may have.

        Args:
            shared: open the event that another process has shared under this name, with the flag IPC.

        Raises:
            ResourceExhausted 207007: a plain event takes its id now, and there is none left.
        """
        if device is None:
            raise TypeError("Event() needs a device: events are made by device.create_event()")
        self.device: Device = device
        self._state = EventState(device, flags, renewed=renewed, name=name, shared=shared)
        device.signals.adopt(self)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> EventQueries:
        """All that the host can ask of it."""
        return EventQueries(self._state)

    @property
    def flags(self) -> EventFlag:
        """What it may be made for."""
        return self._state.flags

    @property
    def renewed(self) -> bool:
        """Whether each record takes a new signal."""
        return self._state.renewed

    @property
    def name(self) -> str:
        """What its maker calls it."""
        return self._state.name

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._state.closed

    @property
    def timing(self) -> bool:
        """Whether the device keeps the time of records."""
        return self._state.means.timing

    @property
    def handle(self) -> int:
        """The number by which the C API knows the event, for as long as somebody has the event."""
        state = self._state
        if not state.handle and not state.closed:
            with state.lock:
                state.handle = state.handle or self.device.runtime.handles.add(self, weak=True)
        return state.handle

    @property
    def signal(self) -> Signal | None:
        """What the newest record sets; None where there is none yet."""
        return self._state.signal

    @property
    def latest(self) -> Recording | None:
        """The newest record."""
        return self._state.latest

    @property
    def in_graph(self) -> EventInGraph | None:
        """What stands for it in the graph that it was last recorded into, while that is captured."""
        return self._state.in_graph

    @in_graph.setter
    def in_graph(self, in_graph: EventInGraph | None) -> None:
        self._state.in_graph = in_graph

    @property
    def id_kind(self) -> str:
        """The kind of device id that it holds, "" for none."""
        return self.device.signals.ids.kind if isinstance(self._state.signal, IdSignal) else ""

    @property
    def set_id(self) -> int | None:
        """The hardware event that the newest record has set, and no reset has taken back; None where there is none."""
        return self._state.set_id

    @property
    def event_id(self) -> int:
        """The device id of the newest record, or of the event itself.

        Raises:
            EventError 507000: it has none; most kinds get one with their first record.
        """
        self.check_open()
        signal = self._state.signal
        if signal is None or not signal.waitable or self._state.means.ipc:
            raise errors.fault(
                "RT_ERROR_EVENT_RECORDER_NULL", f"{self!r} has no device id", hint="record it first",
            )
        return signal.number

    def standing(self) -> str:
        """Say in words what a wait for it depends on."""
        return self._state.standing()

    # -- recording and waiting -------------------------------------------------------------------------------------

    def record(self, stream: Stream | None = None) -> Event:
        """Mark the point that a stream has reached; the default stream if none is given. Returns the event.

        Raises:
            InvalidArgument 107000: the event only holds an id for code on the device.
            ResourceExhausted 207007: no id is left for the record.
        """
        state = self._state
        target = self.device.context.default_stream if stream is None else stream
        try:
            usable = not (state.closed or target.closed) and target.device is self.device
        except AttributeError:
            check_instance("Event.record", "stream", stream, self.device.stream_type, STREAMS)
            raise
        send = target.sends.get(state.record_key) if usable and state.means.short else None
        if send is not None and self._try_record(target, send):
            return self
        state.check_open()
        target.check_open()
        check_same_runtime("record of an event", target.device, self)
        event_waits.check_recordable(state, target)
        if target.branch is not None:
            target.branch.record(self)
            return self
        signal = state.signal_for(target)
        state.name_for_tools(signal)
        if self.device.runtime.logs.launches:
            event_notes.reused(state, target)
        record, timing = Recording(target, signal), state.means.timing
        try:
            signal.record(target, record.finished, timeline=timing, reported=record.reported if timing else None)
        except BaseException:
            signal.drop()
            raise
        state.replace(signal, record)
        return self

    def _try_record(self, stream: Stream, send: Callable[..., int]) -> bool:
        """Record by a prepared send of the stream's; False where it must not send."""
        state = self._state
        signal, timing = state.signal, state.means.timing
        if state.per_record or timing:
            signal, record = state.signal_for(stream), Recording(stream, None)
            try:
                end = signal.record_timed(stream, send, record.reported) if timing else signal.record_fast(stream, send)
            except BaseException:
                signal.abandon(stream)
                raise
            if end:
                record.end = end
                state.replace(signal, record)
            else:
                signal.drop()
            return end > 0
        assert signal is not None
        if end := signal.record_fast(stream, send):
            state.latest, state.reset_in, state.in_graph = Recording(stream, None, end), None, None
        return end > 0

    def check_recordable(self, stream: Stream) -> None:
        """Raise where a stream cannot record it, as `record` would."""
        event_waits.check_recordable(self._state, stream)

    def check_waitable(self) -> None:
        """Raise where no stream can wait for it: NotSupported 207000."""
        event_waits.check_waitable(self._state)

    def wait(self, stream: Stream, timeout_s: int | None = None) -> None:
        """Let a stream wait for the newest record; see `Stream.wait`. A task is sent only where it is needed.

        Args:
            timeout_s: seconds, 0 for ever; by default what `Runtime.timeouts` says.

        Raises:
            NotSupported 207000: the event only marks progress.
            InvalidArgument 107000: a plain event that was never recorded, unless made to be waited for first.
        """
        state = self._state
        try:
            sent = timeout_s is None and state.means.short and event_waits.try_wait(state, stream)
        except AttributeError:
            check_instance("Event.wait", "stream", stream, self.device.stream_type, STREAMS)
            raise
        if sent:
            if state.means.timing and state.latest is not None:
                state.latest.look()  # as below
            return
        check_instance("Event.wait", "stream", stream, self.device.stream_type, STREAMS)
        state.check_open()
        stream.check_open()
        check_same_runtime("wait for an event", stream.device, self)
        if state.in_graph is not None:
            state.in_graph.wait(stream)
            return
        if stream.branch is not None:
            stream.branch.wait_outside(self, recorded=state.latest is not None)
            return
        if state.outside is not None:
            state.outside.check_wait(state)
        timeout = stream.device.runtime.timeouts.wait_s(stream.env.chip, timeout_s)
        event_waits.check_waitable(state)
        event_waits.check_model(state, stream)
        with state.lock:
            signal = state.signal if event_waits.needs_wait(state, stream) else None
            if signal is not None and not signal.hold():
                signal = None
        if signal is not None:
            event_waits.send_wait(state, signal, stream, timeout)
        if state.means.timing and state.latest is not None:
            state.latest.look()  # its report will be wanted

    def reset(self, stream: Stream) -> None:
        """Take the newest record back when the stream gets there; waits sent after that wait for the next record.

        Raises:
            NotSupported 207000: the event is renewed by each record, or only marks progress.
        """
        state = self._state
        check_instance("Event.reset", "stream", stream, self.device.stream_type, STREAMS)
        state.check_open()
        stream.check_open()
        if state.renewed or not state.means.waitable:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} cannot be reset",
                hint="events that take a new id with each record need no reset: record them again",
            )
        if state.in_graph is not None:
            state.in_graph.reset(stream)
            return
        if stream.branch is not None:
            stream.branch.reset_outside(self, recorded=state.latest is not None)
            return
        signal = state.signal
        if signal is not None and signal.hold():
            signal.reset(stream, signal.drop)
        state.reset_in = stream

    # -- graphs from outside ---------------------------------------------------------------------------------------

    def use_outside(self, *, records: bool) -> None:
        """Let executions of graphs record it, or wait for it, and nobody else.

        Raises:
            InvalidArgument 107000: graphs are to record it, and a stream has (EE1018).
        """
        self._state.use_outside(records=records)

    def hold_newest(self) -> Signal | None:
        """Return what the newest record sets, with a user added; None where no record stands."""
        return self._state.hold_newest()

    def wait_newest(self, signal: Signal, stream: Stream) -> None:
        """Let a stream wait for what `hold_newest` has returned, and take the user over."""
        event_waits.send_wait(self._state, signal, stream, 0)

    def publish(self, signal: Signal, stream: Stream) -> None:
        """Make the record of an execution that was just queued in a stream the newest one."""
        signal.hold()
        self._state.name_for_tools(signal)
        self._state.replace(signal, Recording(stream, None, stream.ring.submitted))

    # -- questions -------------------------------------------------------------------------------------------------

    def query(self) -> bool:
        """Return whether the newest record is done (True when never recorded); never waits."""
        return EventQueries(self._state).query()

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until the newest record is done; at once when never recorded. A failed task before it is no matter.

        Raises:
            Timeout 507047: not done in time.
        """
        EventQueries(self._state).synchronize(timeout_ms)

    def __await__(self) -> Generator[Any, None, None]:
        """`await event`: `synchronize` for asyncio, without a thread; cancelling only ends the wait."""
        return awaiting.reach(EventQueries(self._state)).__await__()

    @property
    def timestamp_ticks(self) -> int:
        """The device's time stamp of the newest record; see `EventQueries.timestamp_ticks` for the errors."""
        return EventQueries(self._state).timestamp_ticks

    def __sub__(self, earlier: Event) -> float:
        """Return the milliseconds from another event to this one, by the device's clock.

        Raises:
            InvalidArgument 107000: the events are of two devices, whose clocks have nothing in common.
        """
        if not isinstance(earlier, Event):
            return NotImplemented
        return self.queries.milliseconds_since(earlier.queries)

    def share(self) -> bytes:
        """Return the name by which other processes open an IPC event, at most 64 bytes.

        Raises:
            InvalidArgument 107000: it was made without the flag IPC.
        """
        return EventQueries(self._state).share()

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the event up; tasks that are already queued keep its signal until they are done."""
        state, device = self._state, self.device
        if not state.closed:
            if state.handle:
                device.runtime.handles.remove(state.handle)
            device.signals.events.remove(self)
            state.close()

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None and not state.closed:
            self.device.signals.abandoned.append(self)

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_open(self) -> None:
        """Raise where the event was closed, or its device was."""
        self._state.check_open()

    def __repr__(self) -> str:
        return repr(self._state)
