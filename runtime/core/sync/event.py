"""Events: marks in a stream that other streams and the host can wait for (core_spec 10.7).

There are two kinds. A *renewed* event (aclrtCreateEventExWithFlag, and what Python makes) takes a new signal for every
record, so recording again never disturbs a wait on the record before. A plain one keeps the signal that it got when it
was made, and can be reset; the plain default event takes a new one for every record all the same.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chips.traits import EventKind
from npuhal.records import replace
from runtime import errors
from runtime.core.process.handles import dead_handle
from runtime.core.sync import event_notes, value
from runtime.core.sync.event_flags import EventFlag, traits
from runtime.core.sync.event_queries import EventQueries
from runtime.core.sync.external_events import Outside, mixed
from runtime.core.sync.shared_event import SharedWords
from runtime.core.sync.signals import ByteSignal, CountSignal, IdSignal, Mark, Recording, Signal, Waiting
from runtime.errors.mixing import check_same_runtime

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.ports import EventInGraph
    from runtime.core.stream.stream import Stream


class Event(EventQueries):
    """A mark that is recorded in one stream. Made by `device.create_event()`.

    With TIME_LINE the device writes a time stamp, so that two events can be subtracted.
    """

    __slots__ = ("__weakref__", "_handle", "_is_default", "_latest", "_lock", "_means", "_per_record", "_signal",
                 "_waits", "closed", "device", "flags", "name", "outside", "renewed", "reset_in", "shadow",
                 "site")  # fmt: skip

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
        self.closed = True
        if device is None:
            raise TypeError("Event() needs a device: events are made by device.create_event()")
        self.device, self.flags, self.renewed, self.name = device, flags, renewed, name
        self.reset_in: Stream | None = None
        """The stream of a reset that came after the newest record."""
        self.shadow: EventInGraph | None = None
        """What stands for the event in the graph that it was last recorded into, while that is captured."""
        self.outside: Outside | None = None
        """What graphs do with it from outside; its records set bytes of memory then."""
        self._latest: Recording | None = None
        self._waits: dict[Stream, Waiting] = {}
        """Per stream the last wait, which may not be over yet; those before it are when it is."""
        self._lock = threading.Lock()
        means = traits(flags)
        self._means = replace(means, short=False) if device.runtime.logs.launches else means
        self._is_default = not renewed and means.default
        self._per_record = (renewed or means.default) and not means.ipc
        """Whether each record takes a new signal."""
        self._signal: Signal | None = None
        if means.ipc:
            self._signal = SharedWords(device, shared)
        elif not self._per_record:
            self._signal = self._first_signal()
            self._name_for_tools(self._signal)
        self._handle = 0
        self.closed = False
        device.signals.adopt(self)

    @property
    def handle(self) -> int:
        """The number by which the C API knows the event; whoever has asked for it must close the event."""
        if not self._handle and not self.closed:
            with self._lock:
                self._handle = self._handle or self.device.runtime.handles.add(self)
        return self._handle

    # -- what it is made of ----------------------------------------------------------------------------------------

    def _first_signal(self) -> Signal:
        """Return the signal of a plain event that keeps it for life."""
        device = self.device
        if self._means.external:
            return ByteSignal(device, device.signals.bytes.take())
        if not self._means.waitable:
            return Mark(device)
        return IdSignal(device, device_only=self._means.device_only)

    def _signal_for(self, stream: Stream) -> Signal:
        """Return what the next record in a stream sets, with a user added for the event."""
        signal = self._signal
        if not self._per_record:
            assert signal is not None
            signal.hold()
            return signal
        device = stream.device
        if not self._means.waitable:
            return Mark(device)
        if self.outside is not None:
            return ByteSignal.cleared(device)
        if device.chip.traits.events is EventKind.IDS:
            return IdSignal(device)
        return CountSignal(device.signals.counter(stream))

    @property
    def signal(self) -> Signal | None:
        """What the newest record sets; None where there is none yet."""
        return self._signal

    @property
    def latest(self) -> Recording | None:
        """The newest record."""
        return self._latest

    @property
    def id_kind(self) -> str:
        """The kind of device id that it holds, "" for none."""
        return self.device.signals.ids.kind if isinstance(self._signal, IdSignal) else ""

    def standing(self) -> str:
        """Say in words what a wait for it depends on."""
        if self._latest is None:
            return f"{self!r}, which was never recorded"
        if self.reset_in is not None:
            return f"{self!r}, which was reset in stream {self.reset_in.stream_id} and not recorded since"
        return f"{self!r}, recorded in {self._latest.stream!r}"

    @property
    def event_id(self) -> int:
        """The device id of the newest record, or of the event itself.

        Raises:
            EventError 507000: it has none; most kinds get one with their first record.
        """
        self.check_open()
        if self._signal is None or not self._signal.waitable or self._means.ipc:
            raise errors.fault(
                "RT_ERROR_EVENT_RECORDER_NULL", f"{self!r} has no device id", hint="record it first",
            )
        return self._signal.number

    # -- recording and waiting -------------------------------------------------------------------------------------

    def record(self, stream: Stream | None = None) -> Event:
        """Mark the point that a stream has reached; the default stream if none is given. Returns the event.

        Raises:
            InvalidArgument 107000: the event only holds an id for code on the device.
            ResourceExhausted 207007: no id is left for the record.
        """
        target = self.device.context.default_stream if stream is None else stream
        usable = not (self.closed or target.closed) and target.device is self.device
        if usable and self._means.short and self._marked(target):
            return self
        self.check_open()
        target.check_open()
        check_same_runtime("record of an event", target.device, self)
        self.check_recordable(target)
        if target.branch is not None:
            target.branch.record(self)
            return self
        signal = self._signal_for(target)
        self._name_for_tools(signal)
        if self.device.runtime.logs.launches:
            event_notes.reused(self, target)
        record = Recording(target, signal)
        try:
            signal.record(
                target, record.finished, timeline=self.timing, reported=record.reported if self.timing else None
            )
        except BaseException:
            signal.drop()
            raise
        self._replace(signal, record)
        return self

    def _marked(self, stream: Stream) -> bool:
        """Record by a prepared send, where the stream has one."""
        signal = self._signal
        if self._per_record:
            signal = self._signal_for(stream)
            if end := signal.mark(stream):
                self._replace(signal, Recording(stream, None, end))
            else:
                signal.drop()
            return end > 0
        assert signal is not None
        if end := signal.mark(stream):
            self._latest, self.reset_in, self.shadow = Recording(stream, None, end), None, None
        return end > 0

    def _replace(self, signal: Signal, record: Recording) -> None:
        """Make a record the newest one; the signal comes with a user for it."""
        with self._lock:
            before, self._signal = self._signal, signal
            self._latest, self.reset_in, self.shadow = record, None, None
        if before is not None:
            before.drop()

    # -- graphs from outside ---------------------------------------------------------------------------------------

    def use_outside(self, *, records: bool) -> None:
        """Let executions of graphs record it, or wait for it, and nobody else.

        Raises:
            InvalidArgument 107000: a stream has recorded it (EE1018).
        """
        outside = self.outside
        if self._latest is not None and (outside is None or (records and not outside.records)):
            raise mixed(self, "record")
        if outside is None:
            self.outside = outside = Outside()
            self._means = replace(self._means, short=False)
        outside.records |= records
        outside.waits |= not records

    def hold_newest(self) -> Signal | None:
        """Return what the newest record sets, with a user added; None where no record stands."""
        with self._lock:
            signal = self._signal if self._latest is not None and self.reset_in is None else None
            return signal if signal is not None and signal.hold() else None

    def publish(self, signal: Signal, stream: Stream) -> None:
        """Make the record of an execution that was just queued in a stream the newest one."""
        signal.hold()
        self._name_for_tools(signal)
        self._replace(signal, Recording(stream, None, stream.ring.submitted))

    def _name_for_tools(self, signal: Signal) -> None:
        """Tell tools which id or byte stands for the event, if it has a name."""
        if self.name and isinstance(signal, (IdSignal, ByteSignal)):
            key = ("mem", signal.address) if isinstance(signal, ByteSignal) else (self._id_key, signal.number)
            self.device.hal.annotate(key, self)

    @property
    def _id_key(self) -> str:
        """What tools call ids of the kind that stand for events."""
        return self.device.signals.ids.kind.lower()

    def _check_model(self, stream: Stream) -> None:
        """Refuse events that change their signal in a stream of a model, whose tasks run again and again."""
        if stream.bound is not None and self._per_record:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} takes a new id with each record, which the tasks of "
                f"stream {stream.stream_id}, bound to a model, would not learn of",
                hint="make a plain event with the flag SYNC for streams of models",
            )

    def check_recordable(self, stream: Stream) -> None:
        """Raise where a stream cannot record it, as `record` would."""
        self._check_model(stream)
        if self.outside is not None:
            self.outside.check_record(self)
        if self._means.device_only:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self!r} is for code on the device and cannot be recorded by a stream",
                ee="EE1006", params=("record of an event", "event with the flag DEVICE_USE_ONLY", "not recordable"),
                hint="make another event with the flag SYNC",
            )
        if stream.device is not self.device and not self._is_default:
            raise errors.fault(
                "ACL_ERROR_RT_STREAM_CONTEXT",
                f"an event of device {self.device.user_id} cannot be recorded in a stream of "
                f"device {stream.device.user_id}",
                ee="EE1010", params=("record of an event", "stream", "it belongs to another device"),
                hint="record it in a stream of its own device",
            )

    def wait(self, stream: Stream, timeout_s: int | None = None) -> None:
        """Let a stream wait for the newest record; see `Stream.wait`. A task is sent only where it is needed.

        Args:
            timeout_s: seconds, 0 for ever; by default what `Runtime.timeouts` says.

        Raises:
            NotSupported 207000: the event only marks progress.
            InvalidArgument 107000: a plain event that was never recorded, unless made to be waited for first.
        """
        if timeout_s is None and self._means.short and self._awaited(stream):
            return
        self.check_open()
        stream.check_open()
        check_same_runtime("wait for an event", stream.device, self)
        if self.shadow is not None:
            self.shadow.wait(stream)
            return
        if stream.branch is not None:
            stream.branch.wait_outside(self, recorded=self._latest is not None)
            return
        if self.outside is not None:
            self.outside.check_wait(self)
        timeout = stream.device.runtime.timeouts.wait_s(stream.env.chip, timeout_s)
        self.check_waitable()
        self._check_model(stream)
        with self._lock:
            signal = self._signal if self._needs_wait(stream) else None
            if signal is not None and not signal.hold():
                signal = None
        if signal is not None:
            self._send_wait(signal, stream, timeout)
        if self.timing and self._latest is not None:
            self._latest.look()  # its report will be wanted

    def check_waitable(self) -> None:
        """Raise where no stream can wait for it: NotSupported 207000."""
        if not self._means.waitable:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} only marks progress; no stream can wait for it",
                hint="make the event with the flag SYNC or DDSYNC",
            )

    @property
    def set_id(self) -> int | None:
        """The hardware event that the newest record has set, and no reset has taken back; None where there is none."""
        is_set = self._latest is not None and self.reset_in is None and isinstance(self._signal, IdSignal)
        return self._signal.number if is_set and self._signal is not None else None

    @property
    def shared(self) -> bool:
        """Whether other processes can use it."""
        return self._means.ipc

    def _needs_wait(self, stream: Stream) -> bool:
        """Decide in the order of core_spec 10.7.5 whether a wait sends a task."""
        record = self._latest
        if stream.bound is not None or self._means.ipc:
            return self._signal is not None
        if record is None:
            if self.renewed:
                return False
            if not self._means.waits_first:
                raise self._never_recorded()
            return True
        if record.stream is stream and not self._is_default:
            return False
        done = record.done
        if done:
            record.stream.relied()
        if self.renewed and done:
            return False
        return not done or self.reset_in is not None or self._means.waits_first

    def _awaited(self, stream: Stream) -> bool:
        """Wait by a prepared send for a record in another stream that is pending, where the stream has one."""
        record, signal, device = self._latest, self._signal, stream.device
        if (record is None or signal is None or record.stream is stream or record.stream.device is not device
                or record.done or self.closed or stream.closed or self.shadow is not None or stream.bound is not None
                or device.runtime.timeouts.wait_limit_s or not signal.hold()):
            return False
        end = signal.await_mark(stream)
        if not end:
            signal.drop()
        elif not self.renewed:
            self._waits[stream] = Waiting(stream, signal, end)
        return end > 0

    def _send_wait(self, signal: Signal, stream: Stream, timeout_s: int) -> None:
        """Send a wait for a signal that is held for it."""
        record, at_home = self._latest, signal.device is stream.device
        if at_home and not timeout_s and (end := signal.await_mark(stream)):
            wait = Waiting(stream, signal, end)
        else:
            wait = Waiting(stream, signal)
            if at_home:
                signal.wait(stream, wait.finished, timeout_s)
            else:
                assert record is not None
                value.bridge(record.stream, stream, wait.finished)
        if not self.renewed:
            self._waits[stream] = wait

    def _never_recorded(self) -> errors.RuntimeFault:
        reason = f"{self!r} was never recorded"
        early = self.device.chip.traits.posts_early_calls
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"wait for an event: {reason}", ee="EE1018" if early else "EE1001",
            params=("wait for an event", reason) if early else (reason,),
            hint="record the event before the wait, or make it with the flag SYNC",
        )

    def reset(self, stream: Stream) -> None:
        """Take the newest record back when the stream gets there; waits sent after that wait for the next record.

        Raises:
            NotSupported 207000: the event is renewed by each record, or only marks progress.
        """
        self.check_open()
        stream.check_open()
        if self.renewed or not self._means.waitable:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} cannot be reset",
                hint="events that take a new id with each record need no reset: record them again",
            )
        if self.shadow is not None:
            self.shadow.reset(stream)
            return
        if stream.branch is not None:
            stream.branch.reset_outside(self, recorded=self._latest is not None)
            return
        signal = self._signal
        if signal is not None and signal.hold():
            signal.reset(stream, signal.drop)
        self.reset_in = stream

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the event up; tasks that are already queued keep its signal until they are done."""
        if not self.closed:
            self.closed = True
            self.device.runtime.handles.remove(self._handle)
            self.device.signals.events.remove(self)
            self._latest = None
            self._waits.clear()
            if self._signal is not None:
                self._signal.drop()
                self._signal = None

    def __del__(self) -> None:
        if not getattr(self, "closed", True):
            self.device.signals.abandoned.append(self)

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_open(self) -> None:
        """Raise where the event was closed, or its device was."""
        if self.closed:
            raise dead_handle("event", f"event {self.name or hex(self._handle or id(self))}")

    def __repr__(self) -> str:
        record = self._latest
        if self.closed:
            state = "closed"
        elif record is None:
            state = "not recorded"
        else:
            state = "done" if record.done else "pending"
        return f"<event {self.name or hex(self._handle or id(self))} of device {self.device.user_id}, {state}>"
