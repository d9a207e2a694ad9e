"""What an event is: its kind, what its newest record sets, that record, and the waits for it.

The event that users hold (`runtime.core.sync.event`) and what the host asks of it (`runtime.core.sync.event_queries`)
share one of these.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chips.traits import EventKind
from npuhal.records import replace
from runtime.core.process.handles import dead_handle
from runtime.core.sync.event_flags import EventFlag, traits
from runtime.core.sync.external_events import Outside, mixed
from runtime.core.sync.shared_event import SharedWords
from runtime.core.sync.signals import ByteSignal, CountSignal, IdSignal, MarkerSignal, Signal

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, EventInGraph, StreamPort
    from runtime.core.sync.recording import Recording, Waiting


class EventState:
    """One event, without the calls of users; whoever replaces signal and record holds `lock`."""

    __slots__ = (
        "closed",
        "device",
        "flags",
        "handle",
        "in_graph",
        "is_default",
        "kind",
        "latest",
        "lock",
        "means",
        "name",
        "outside",
        "per_record",
        "record_key",
        "renewed",
        "reset_in",
        "signal",
        "waits",
    )  # fmt: skip

    def __init__(self, device: DevicePort, flags: EventFlag, *, renewed: bool, name: str, shared: bytes) -> None:
        """See `Event`."""
        self.device, self.flags, self.renewed, self.name = device, flags, renewed, name
        self.closed = False
        self.handle = 0
        """The number by which the C API knows the event, once somebody has asked for it."""
        self.lock = threading.Lock()
        self.reset_in: StreamPort | None = None
        """The stream of a reset that came after the newest record."""
        self.in_graph: EventInGraph | None = None
        """What stands for the event in the graph that it was last recorded into, while that is captured."""
        self.outside: Outside | None = None
        """What graphs do with it from outside; its records set bytes of memory then."""
        self.latest: Recording | None = None
        """The newest record."""
        self.waits: dict[StreamPort, Waiting] | None = None if renewed else {}
        """Per stream the last wait, which may not be over yet; those before it are when it is. None: not kept, because
        nobody can ask a renewed event."""
        means = traits(flags)
        if means.device_only and device.chip.traits.events is EventKind.IDS:
            device.need_for_cores("an event")
        self.means = replace(means, short=False) if device.runtime.logs.launches else means
        self.is_default = not renewed and means.default
        self.per_record = (renewed or means.default) and not means.ipc
        """Whether each record takes a new signal."""
        self.signal: Signal | None = None
        """What the newest record sets; None where there is none yet."""
        if means.ipc:
            self.signal = SharedWords(device, shared)
        elif not self.per_record:
            self.signal = self._first_signal()
            self.name_for_tools(self.signal)
        kind = self._kind_of_records() if self.signal is None else type(self.signal)
        self.kind = kind
        """What each record sets, where that is a new signal."""
        self.record_key = kind.timed_key if means.timing else kind.record_key
        """What streams keep prepared records of it under, see `Signal.record_key`."""

    def _kind_of_records(self) -> type[IdSignal | CountSignal | MarkerSignal]:
        """Return the kind of the signal that each record takes."""
        if not self.means.waitable:
            return MarkerSignal
        return IdSignal if self.device.chip.traits.events is EventKind.IDS else CountSignal

    def _first_signal(self) -> Signal:
        """Return the signal of a plain event that keeps it for life."""
        device = self.device
        if self.means.external:
            return ByteSignal(device, device.signals.bytes.take())
        if not self.means.waitable:
            return MarkerSignal(device)
        return IdSignal(device, device_only=self.means.device_only)

    def signal_for(self, stream: StreamPort) -> Signal:
        """Return what the next record in a stream sets, with a user added for the event."""
        signal, device = self.signal, stream.device
        if not self.per_record:
            assert signal is not None
            if signal.device is device or self.means.ipc:
                signal.hold()
                return signal
            self.means = replace(self.means, short=False)
            return IdSignal(device) if self.means.waitable else MarkerSignal(device)  # ids are the recording device's
        if self.outside is not None and self.means.waitable:
            return ByteSignal.cleared(device)
        if (kind := self.kind) is IdSignal:
            return IdSignal(device)
        return MarkerSignal(device) if kind is MarkerSignal else CountSignal(device.signals.counter(stream))

    def replace(self, signal: Signal, record: Recording) -> None:
        """Make a record the newest one; the signal comes with a user for it."""
        with self.lock:
            before, self.signal = self.signal, signal
            self.latest, self.reset_in, self.in_graph = record, None, None
        if before is not None:
            before.drop()

    def hold_newest(self) -> Signal | None:
        """Return what the newest record sets, with a user added; None where no record stands."""
        with self.lock:
            signal = self.signal if self.latest is not None and self.reset_in is None else None
            return signal if signal is not None and signal.hold() else None

    def use_outside(self, *, records: bool) -> None:
        """Let executions of graphs record it, or wait for it, and nobody else.

        Raises:
            InvalidArgument 107000: graphs are to record it, and a stream has (EE1018).
        """
        outside = self.outside
        if records and self.latest is not None and (outside is None or not outside.records):
            raise mixed(self, "record")
        if outside is None:
            self.outside = outside = Outside()
            self.means = replace(self.means, short=False)
        outside.records |= records
        outside.waits |= not records

    def name_for_tools(self, signal: Signal) -> None:
        """Tell tools which id or byte stands for the event, if it has a name."""
        if self.name and isinstance(signal, (IdSignal, ByteSignal)):
            kind = self.device.signals.ids.kind.lower()
            key = ("mem", signal.address) if isinstance(signal, ByteSignal) else (kind, signal.number)
            self.device.hal.annotate(key, self)

    @property
    def set_id(self) -> int | None:
        """The hardware event that the newest record has set, and no reset has taken back; None where there is none."""
        is_set = self.latest is not None and self.reset_in is None and isinstance(self.signal, IdSignal)
        return self.signal.number if is_set and self.signal is not None else None

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return self.name or hex(self.handle or id(self))

    def standing(self) -> str:
        """Say in words what a wait for it depends on."""
        if self.latest is None:
            return f"{self!r}, which was never recorded"
        if self.reset_in is not None:
            return f"{self!r}, which was reset in stream {self.reset_in.stream_id} and not recorded since"
        return f"{self!r}, recorded in {self.latest.stream!r}"

    def check_open(self) -> None:
        """Raise where the event was closed, or its device was."""
        if self.closed:
            history = self.device.runtime.handles.history(self.handle) if self.handle else ""
            raise dead_handle("event", f"event {self.label}", history)

    def close(self) -> None:
        """Give everything up; tasks that are already queued keep the signal until they are done."""
        self.closed = True
        self.latest = None
        if self.waits:
            self.waits.clear()
        if self.signal is not None:
            self.signal.drop()
            self.signal = None

    def __repr__(self) -> str:
        record = self.latest
        if self.closed:
            state = "closed"
        elif record is None:
            state = "not recorded"
        else:
            state = "done" if record.done else "pending"
        return f"<event {self.label} of device {self.device.user_id}, {state}>"
