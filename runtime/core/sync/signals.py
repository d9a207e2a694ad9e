"""What an event is made of: the thing that a record sets and a wait looks at (core_spec 10.7.2).

One interface, several realisations: a hardware id, a count-notify of the recording stream, a byte of device memory,
and nothing at all where no stream can wait. (Words that processes share: `shared_event`.) A signal belongs
to the event and to the tasks that use it; the last one to let go gives it back.
"""

from __future__ import annotations

import collections
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import CaptureRecord, CaptureWait, EventRecord, EventReset, EventWait, MemWriteValue, Task, WaitFor
from npuhal.records import replace
from runtime.core.diagnostics import resource_report
from runtime.core.process.handles import Children
from runtime.core.submission.prepared import prepare
from runtime.core.sync import value
from runtime.core.sync.behind import free_behind
from runtime.core.sync.event_pool import EventBytes, EventIds
from runtime.core.sync.value import WaitSlots
from runtime.driver import resources as id_kinds
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort

_RECORD, _WAIT, _COUNT = "event record", "event wait", "counted event record"

Finished = Callable[[], None]
Report = Callable[[Any], None]
_BYTE = 0  # size code of one byte
NEVER = float("inf")


class Signal:
    """The interface, and the counting of users; made with one user.

    `finished` of each task is called exactly once, when the task was reclaimed or could not be sent.
    """

    __slots__ = ("_lock", "_users", "_uses", "device", "number")

    waitable = True
    """Whether a stream can wait for it."""

    def __init__(self, device: DevicePort, number: int) -> None:
        self.device, self.number = device, number
        self._users = 1
        self._uses: dict[StreamPort, int] | None = None
        """Per stream, the absolute place behind the last record that was sent without becoming a user."""
        self._lock: threading.Lock = device.signals.lock

    def hold(self) -> bool:
        """Add a user; False where the last one has let go already."""
        with self._lock:
            if self._users:
                self._users += 1
            return self._users > 0

    @property
    def users(self) -> int:
        """How many use it: the event, a record that is not known to be done, and waits."""
        return self._users

    def drop(self) -> None:
        """Take a user away; the last one gives the signal back."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._end()

    def _end(self) -> None:
        """Give it back when the records are done that are no users."""
        while self._uses:
            stream, end = self._uses.popitem()
            with stream.lock:
                if stream.ring.reclaimed < end:
                    stream.ring.attend(end, self._end)
                    return
        self._give_back()

    def mark(self, stream: StreamPort) -> int:
        """Queue a record by the fast path; returns the absolute place behind it, 0 where `record` is right."""
        return 0

    def await_mark(self, stream: StreamPort) -> int:
        """Queue a wait by the fast path; returns the absolute place behind it, 0 where `wait` is right.

        The caller holds it for the wait, which lets go.
        """
        return 0

    def _give_back(self) -> None:
        """Return what it is made of to where it came from; nothing by default."""

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue a task that sets it."""
        raise NotImplementedError

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue a task that waits until it is set; 0 waits for ever."""
        raise NotImplementedError

    def reset(self, stream: StreamPort, finished: Finished) -> None:
        """Queue a task that takes the setting back."""
        raise NotImplementedError


class IdSignal(Signal):
    """A hardware event id, or a notify id that stands for one."""

    __slots__ = ("_device_only",)

    def __init__(self, device: DevicePort, *, device_only: bool = False) -> None:
        """Take an id; ResourceExhausted 207007 when there is none.

        Args:
            device_only: code on the device uses it, and no stream records it.
        """
        super().__init__(device, device.signals.ids.take(device_only=device_only))
        self._device_only = device_only

    def mark(self, stream: StreamPort) -> int:
        """Queue the event record by a prepared send."""
        send = stream.sends.get(_RECORD)
        end = 0 if send is None else send(self.number)
        if not end:
            return 0
        if self._uses is None:
            self._uses = {stream: end}
        else:
            self._uses[stream] = end
        return end

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue the event record."""
        task = EventRecord(event_id=self.number, timeline=timeline, report=reported is not None)
        stream.submit(task, owner="event record", finished=finished, reported=reported)
        if reported is None and not timeline:
            prepare(stream, _RECORD, task, "event record", "event_id")

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the event wait."""
        task = EventWait(event_id=self.number, timeout_s=timeout_s)
        stream.submit(task, owner="event wait", finished=finished)
        if not timeout_s:
            prepare(stream, _WAIT, task, "event wait", "event_id")

    def await_mark(self, stream: StreamPort) -> int:
        """Queue the event wait by a prepared send."""
        send = stream.sends.get(_WAIT)
        return 0 if send is None else send(self.number, self.drop)

    def reset(self, stream: StreamPort, finished: Finished) -> None:
        """Queue the event reset."""
        stream.submit(EventReset(event_id=self.number), owner="event reset", finished=finished)

    def _give_back(self) -> None:
        self.device.signals.ids.give_back(self.number, device_only=self._device_only)


class Counter:
    """The count-notify of one stream: each record in the stream stores the next number in it (STARS v2)."""

    __slots__ = ("closed", "device", "number", "value", "wait_key")

    def __init__(self, device: DevicePort, number: int) -> None:
        self.device, self.number = device, number
        self.closed = False
        """Whether its stream has ended, with all of its records."""
        self.value = 0
        """The last number that was taken; it grows under the lock of the stream, so that the device sees it grow."""
        self.wait_key = f"{_WAIT} {number}"

    def next(self) -> int:
        """Take the next number."""
        self.value += 1
        return self.value

    def close(self) -> None:
        """Give the id back when the waits are over that other streams hold; no further one is sent."""
        self.closed, self.wait_key = True, ""
        free_behind(self.device, partial(self.device.ids.free, id_kinds.COUNT_NOTIFY, self.number))


class CountSignal(Signal):
    """A number that the counter of the recording stream reaches; the counter itself goes with its stream, but not
    before the waits that were queued for it are over.
    """

    __slots__ = ("_counter", "value")

    def __init__(self, counter: Counter) -> None:
        super().__init__(counter.device, counter.number)
        self._counter = counter
        self.value = 0

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue the record of the next number."""
        task = EventRecord(event_id=self.number, counted=True, timeline=timeline, report=reported is not None)

        def numbered(_: object) -> Task:
            return replace(task, count=self._take_number())

        stream.submit(task, owner="event record", finished=finished, reported=reported, prepare=numbered)
        if reported is None and not timeline:
            prepare(stream, _COUNT, task, "event record", "count", value_of=CountSignal._take_number)

    def _take_number(self) -> int:
        """Take the next number, when the place of the record is certain."""
        self.value = number = self._counter.next()
        return number

    def mark(self, stream: StreamPort) -> int:
        """Queue the record of the next number by a prepared send."""
        send = stream.sends.get(_COUNT)
        return 0 if send is None else send(self)

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the wait for the number or a later one; nothing is left to wait for when the recording stream ended."""
        if self._counter.closed:
            finished()
            return
        task = EventWait(event_id=self.number, counted=True, count=self.value, timeout_s=timeout_s)
        stream.submit(task, owner="event wait", finished=finished)
        if not timeout_s:
            prepare(stream, self._counter.wait_key, task, "event wait", "count")

    def await_mark(self, stream: StreamPort) -> int:
        """Queue the wait for the number by a prepared send."""
        send = stream.sends.get(self._counter.wait_key)
        return 0 if send is None else send(self.value, self.drop)

    def reset(self, stream: StreamPort, finished: Finished) -> None:
        """Send nothing: the next record stores another number, so there is nothing to take back."""
        finished()


class ByteSignal(Signal):
    """A byte of device memory: 1 when recorded. It keeps no time, and waits for it have no time limit."""

    __slots__ = ()

    @property
    def address(self) -> int:
        """Where the byte lies on the device."""
        return self.device.signals.bytes.address(self.number)

    @classmethod
    def cleared(cls, device: DevicePort) -> ByteSignal:
        """Return one that holds 0, so that a wait may look at it before the record."""
        signal = cls(device, device.signals.bytes.take())
        device.memory.write(signal.address, b"\0")
        return signal

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue the write of 1."""
        stream.submit(CaptureRecord(addr=self.address, value=1), owner="event record", finished=finished)

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the wait for 1."""
        task = CaptureWait(addr=self.address, value=1, flag=WaitFor.EQUAL)
        value.submit_wait(stream, task, owner="event wait", finished=finished)

    def reset(self, stream: StreamPort, finished: Finished) -> None:
        """Queue the write of 0."""
        task = MemWriteValue(addr=self.address, value=0, size_code=_BYTE)
        stream.submit(task, owner="event reset", finished=finished)

    def _give_back(self) -> None:
        self.device.signals.bytes.give_back(self.number)


class Mark(Signal):
    """Nothing but a place in the stream: only the host can ask for it and wait for it."""

    __slots__ = ()

    waitable = False

    def __init__(self, device: DevicePort) -> None:
        super().__init__(device, int(device.chip.prop("stubEventCount")) - 1)

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue a placeholder."""
        task = EventRecord(event_id=self.number, waited=False, timeline=timeline, report=reported is not None)
        stream.submit(task, owner="event record", finished=finished, reported=reported)


class Recording:
    """One recording: where it was made, how far that is passed, and the time stamp when it comes.

    A record that was sent by a prepared send is known by its place; any other one is a user of its signal until it is
    told that it is over.
    """

    __slots__ = ("_end", "_signal", "stream", "timeless", "timestamp")

    def __init__(self, stream: StreamPort, signal: Signal | None, end: float = NEVER) -> None:
        """Args:
            signal: becomes held until `finished`; None for a record that is known by its place.
            end: the absolute place behind it.
        """
        self.stream, self._signal, self._end = stream, signal, end
        self.timestamp: int | None = None
        self.timeless = False
        """Whether it is over and its time will never come: it was ended by force, or its report got lost."""
        if signal is not None:
            signal.hold()

    @property
    def done(self) -> bool:
        """Whether the device has passed the record, as far as is known."""
        return self.stream.ring.reclaimed >= self._end

    def look(self) -> None:
        """Read how far the stream is."""
        if not self.stream.closed:
            self.stream.drain()

    def finished(self) -> None:
        """The record's own task was reclaimed."""
        self._end = 0
        if self._signal is not None:
            self._signal.drop()

    def reported(self, cqe: Any) -> None:
        """The completion entry came, with the time; None when there will be none."""
        if cqe is None:
            self.timeless = True
        else:
            self.timestamp = int(cqe.timestamp)


class Waiting:
    """One wait of a stream: known by its place where it was sent by a prepared send, else told when it is over."""

    __slots__ = ("_end", "signal", "stream")

    def __init__(self, stream: StreamPort, signal: Signal, end: float = NEVER) -> None:
        self.stream, self.signal, self._end = stream, signal, end

    @property
    def done(self) -> bool:
        """Whether the stream has passed the wait, as far as is known."""
        return self.stream.ring.reclaimed >= self._end

    def finished(self) -> None:
        """The wait's own task was reclaimed."""
        self._end = 0
        self.signal.drop()


class Signals:
    """What signals are made of on one device, and the events that use them."""

    __slots__ = ("_counters", "_device", "_lock", "abandoned", "bytes", "events", "ids", "lock", "traces", "wait_slots")

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self.ids = EventIds(device)
        self.bytes = EventBytes(device.memory)
        self.wait_slots = WaitSlots(device.memory)
        self.lock: threading.Lock = threading.Lock()
        """Held while users of a signal are counted."""
        self.events: Children = Children()
        """Events and notifies that are alive; they end with the device."""
        self.abandoned: deque[Any] = deque()
        """Those that nobody has closed or knows any more, until somebody makes another one; see `adopt`."""
        self.traces = device.runtime.trace_creation or os.environ.get(VARIABLE) == "1"
        """Whether it is noted where events and notifies are created."""
        self._counters: dict[int, Counter] = {}
        self._lock = threading.Lock()

    def adopt(self, event: Any) -> None:
        """Take a new event or notify in, and close those that were dropped without a close.

        The collector may drop one in the middle of anything, under any lock, so that its end is left to a later call.
        """
        event.site = resource_report.creation_site() if self.traces else ""
        self.events.add(event)
        self.bury()

    def sites(self, kind: str) -> collections.Counter[str]:
        """Count the events and notifies that hold an id of a kind by where they were created."""
        return collections.Counter(event.site for event in self.events if event.id_kind == kind)

    def bury(self) -> bool:
        """Close what was dropped without a close; tells whether there was any."""
        found = bool(self.abandoned)
        while self.abandoned:
            try:
                event = self.abandoned.popleft()
            except IndexError:
                break  # another thread took the last one
            event.close()
        return found

    def counter(self, stream: StreamPort) -> Counter:
        """Return the counter of a stream: made with the first record in it, given back with the stream."""
        with self._lock:
            counter = self._counters.get(stream.stream_id)
            if counter is None:
                counter = Counter(self._device, self._device.ids.alloc(id_kinds.COUNT_NOTIFY))
                self._counters[stream.stream_id] = counter
                stream.resources.callback(counter.close)
                stream.resources.callback(self._counters.pop, stream.stream_id)
            return counter

    def set_again(self) -> None:
        """Set what was set before ids and counters were taken again on another card; all streams are idle.

        Bytes are memory and come back with it. Hardware events of STARS v1 stay set when they are waited for.
        """
        device = self._device
        if self.ids.kind == id_kinds.EVENT:
            for event in self.events:
                if (number := getattr(event, "set_id", None)) is not None:
                    device.ids.fire(id_kinds.EVENT, number)
        control = device.control_stream
        for counter in list(self._counters.values()):
            if counter.value:
                task = EventRecord(event_id=counter.number, counted=True, count=counter.value)
                control.submit(task, owner="event record")
        control.synchronize()

    def close(self) -> None:
        """Close events and notifies that are still alive, then free everything; all streams are idle."""
        for event in self.events:
            event.close()
        self.bury()
        self.ids.trim()
        self.bytes.close()
        self.wait_slots.close()
