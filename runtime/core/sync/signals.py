"""Signals: what a record of an event sets and a wait waits for (core_spec 10.7.2).

One interface, several realisations: a hardware id, a count-notify of the recording stream, a byte of device memory,
and nothing at all where no stream can wait. (Words that processes share: `shared_event`.) A signal belongs
to the event and to the tasks that use it; the last one to let go gives it back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.tasks import CaptureRecord, CaptureWait, EventRecord, EventReset, EventWait, MemWriteValue, Task, WaitFor
from npuhal.records import replace
from runtime.core.submission.prepared import REPORTED, prepare
from runtime.core.sync import value

if TYPE_CHECKING:
    from runtime.core.ports import CounterPort, DevicePort, StreamPort

_WAIT = "event wait"

Finished = Callable[[], None]
Report = Callable[[Any], None]
_BYTE = 0  # size code of one byte


class Signal:
    """The interface, and the counting of users; made with one user.

    `finished` of each task is called exactly once, when the task was reclaimed or could not be sent.
    """

    __slots__ = ("_lock", "_users", "_uses", "device", "number")

    waitable = True
    """Whether a stream can wait for it."""
    record_key = timed_key = ""
    """What a stream keeps prepared records of this kind under, without and with a time stamp; "": there are none."""

    def __init__(self, device: DevicePort, number: int) -> None:
        self.device, self.number = device, number
        self._users = 1
        self._uses: dict[StreamPort, int] | None = None
        """Per stream, the absolute position behind the last record that was sent without becoming a user."""
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
            ring = stream.ring
            if ring.reclaimed < end:
                with stream.lock:
                    if ring.reclaimed < end:
                        ring.attend(end, self._end if self._uses else self._give_back)
                        return
        self._give_back()

    def abandon(self, stream: StreamPort) -> None:
        """Let go after a record that was broken off, and may have left: whatever is in the stream by now comes before.
        """
        self._used(stream, stream.ring.submitted)
        self.drop()

    def record_fast(self, stream: StreamPort, send: Callable[..., int]) -> int:
        """Queue a record by a prepared send of this kind; returns the absolute position behind it, 0: not sent."""
        return 0

    def record_timed(self, stream: StreamPort, send: Callable[..., int], reported: Report) -> int:
        """Queue a record with a time stamp by a prepared send of this kind; as `record_fast`."""
        return 0

    def _used(self, stream: StreamPort, end: int) -> int:
        """Note that a record was sent without becoming a user; returns the position behind it."""
        if end:
            if self._uses is None:
                self._uses = {stream: end}
            else:
                self._uses[stream] = end
        return end

    def _prepare_record(
        self, stream: StreamPort, task: EventRecord, *varied: str, timeline: bool, reported: Report | None,
        value_of: Callable[[Any], int] | None = None,
    ) -> None:
        """Keep what sends such records again: with a time stamp where somebody hears of that, or with none at all."""
        if reported is not None:
            prepare(stream, self.timed_key, task, "event record", *varied, carries=REPORTED, value_of=value_of)
        elif not timeline:
            prepare(stream, self.record_key, task, "event record", *varied, value_of=value_of)

    def wait_fast(self, stream: StreamPort) -> int:
        """Queue a wait by the fast path; returns the absolute position behind it, 0 where `wait` is right.

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


def _send_record(stream: StreamPort, task: EventRecord, finished: Finished, reported: Report | None) -> bool:
    """Queue the record of an event; tells whether it is an entry like others, and does not store its time itself."""
    timelines = stream.device.signals.timelines
    if reported is None or timelines is None:
        stream.submit(task, owner="event record", finished=finished, reported=reported)
        return True
    timelines.record(stream, task, finished, reported)
    return False


class IdSignal(Signal):
    """A hardware event id, or a notify id that stands for one."""

    __slots__ = ("_device_only",)
    record_key, timed_key = "event record", "timed event record"

    def __init__(self, device: DevicePort, *, device_only: bool = False) -> None:
        """Take an id; ResourceExhausted 207007 when there is none.

        Args:
            device_only: code on the device uses it, and no stream records it.
        """
        super().__init__(device, device.signals.ids.take(device_only=device_only))
        self._device_only = device_only

    def record_fast(self, stream: StreamPort, send: Callable[..., int]) -> int:
        """Queue the event record by a prepared send."""
        return self._used(stream, send(self.number))

    def record_timed(self, stream: StreamPort, send: Callable[..., int], reported: Report) -> int:
        """Queue the event record with a time stamp by a prepared send."""
        return self._used(stream, send(self.number, reported))

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue the event record."""
        task = EventRecord(event_id=self.number, timeline=timeline, report=reported is not None)
        if _send_record(stream, task, finished, reported):
            self._prepare_record(stream, task, "event_id", timeline=timeline, reported=reported)

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the event wait."""
        task = EventWait(event_id=self.number, timeout_s=timeout_s)
        stream.submit(task, owner="event wait", finished=finished)
        if not timeout_s:
            prepare(stream, _WAIT, task, "event wait", "event_id")

    def wait_fast(self, stream: StreamPort) -> int:
        """Queue the event wait by a prepared send."""
        send = stream.sends.get(_WAIT)
        return 0 if send is None else send(self.number, self.drop)

    def reset(self, stream: StreamPort, finished: Finished) -> None:
        """Queue the event reset."""
        stream.submit(EventReset(event_id=self.number), owner="event reset", finished=finished)

    def _give_back(self) -> None:
        self.device.signals.ids.give_back(self.number, device_only=self._device_only)


class CountSignal(Signal):
    """A number that the counter of the recording stream reaches; the counter itself goes with its stream, but not
    before the waits that were queued for it are over.
    """

    __slots__ = ("_counter", "value")
    record_key, timed_key = "counted event record", "timed counted event record"

    def __init__(self, counter: CounterPort) -> None:
        super().__init__(counter.device, counter.number)
        self._counter = counter
        self.value = 0

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue the record of the next number."""
        task = EventRecord(event_id=self.number, counted=True, timeline=timeline, report=reported is not None)

        def numbered(_: object) -> Task:
            return replace(task, count=self._take_number())

        stream.submit(task, owner="event record", finished=finished, reported=reported, prepare=numbered)
        self._prepare_record(
            stream, task, "count", timeline=timeline, reported=reported, value_of=CountSignal._take_number
        )

    def _take_number(self) -> int:
        """Take the next number, when the position of the record is certain."""
        self.value = number = self._counter.next()
        return number

    def record_fast(self, stream: StreamPort, send: Callable[..., int]) -> int:
        """Queue the record of the next number by a prepared send."""
        return send(self)

    def record_timed(self, stream: StreamPort, send: Callable[..., int], reported: Report) -> int:
        """Queue the record of the next number, with a time stamp, by a prepared send."""
        return send(self, reported)

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the wait for the number or a later one; nothing is left to wait for when the recording stream ended."""
        if self._counter.closed:
            finished()
            return
        task = EventWait(event_id=self.number, counted=True, count=self.value, timeout_s=timeout_s)
        stream.submit(task, owner="event wait", finished=finished)
        if not timeout_s:
            prepare(stream, self._counter.wait_key, task, "event wait", "count")

    def wait_fast(self, stream: StreamPort) -> int:
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
        """Return one that holds 0, so that a wait may be queued before the record."""
        signal = cls(device, device.signals.bytes.take())
        try:
            device.memory.write(signal.address, b"\0")
        except BaseException:
            signal.drop()
            raise
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


class MarkerSignal(Signal):
    """Nothing but a position in the stream: only the host can ask for it and wait for it."""

    __slots__ = ()
    record_key, timed_key = "progress mark", "timed progress mark"

    waitable = False

    def __init__(self, device: DevicePort) -> None:
        number = int(device.chip.prop("stubEventCount")) - 1
        super().__init__(device, number if device.plugin.commands is None else int(device.chip.prop("timelineEventId")))

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Queue a placeholder."""
        task = EventRecord(event_id=self.number, waited=False, timeline=timeline, report=reported is not None)
        if _send_record(stream, task, finished, reported):
            self._prepare_record(stream, task, timeline=timeline, reported=reported)

    def record_fast(self, stream: StreamPort, send: Callable[..., int]) -> int:
        """Queue the placeholder by a prepared send."""
        return send()

    def record_timed(self, stream: StreamPort, send: Callable[..., int], reported: Report) -> int:
        """Queue the placeholder, with a time stamp, by a prepared send."""
        return send(reported)
