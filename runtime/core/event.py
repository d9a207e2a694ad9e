"""Events: marks in a stream that other streams and the host can wait for (core_spec 10.7).

These are the newer kind of events: every record takes an id of its own, so recording again never disturbs a wait on
the record before. An id goes back when the record and all waits on it are done.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from chips.tasks import EventRecord, EventWait
from runtime import errors
from runtime.core import sync
from runtime.core.refs import dead_handle
from runtime.driver import ids as id_kinds

if TYPE_CHECKING:
    from runtime.core.device import Device
    from runtime.core.stream import Stream


class Event:
    """A mark that is recorded in one stream. Made by `device.create_event()`.

    With `timing` the device writes a time stamp, so that two events can be subtracted.
    """

    __slots__ = ("__weakref__", "_latest", "closed", "device", "handle", "name", "timing")

    def __init__(self, device: Device, *, timing: bool = False, name: str = "") -> None:
        self.device, self.timing, self.name = device, timing, name
        self.closed = False
        self._latest: _Record | None = None
        self.handle = device.runtime.handles.add(self)

    def record(self, stream: Stream | None = None) -> Event:
        """Mark the point that a stream has reached; the default stream if none is given. Returns the event."""
        self._check_open()
        target = self._stream(stream)
        record = _Record(self.device, target)
        target.submit(
            EventRecord(event_id=record.event_id, timeline=self.timing, report=self.timing), owner="event record",
            finished=record.finished, reported=record.reported if self.timing else None,
        )
        self._latest = record
        return self

    def wait(self, stream: Stream, timeout_s: int = 0) -> None:
        """Let a stream wait for the newest record; see `Stream.wait`."""
        self._check_open()
        if timeout_s < 0:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"Event.wait: timeout_s is {timeout_s}; it must not be negative",
                ee="EH0007", params=("Event.wait", timeout_s, "timeout_s", "0 or more"), hint="0 waits for ever",
            )
        stream.check_open()
        record = self._latest
        if record is None or record.stream is stream or record.done:
            return  # nothing to wait for: never recorded, already over, or ordered by the stream itself
        if stream.device is not self.device:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
                f"stream {stream.stream_id} of device {stream.device.user_id} cannot wait for an event of "
                f"device {self.device.user_id}: event ids mean something on their own device only",
                hint="wait on the host first: event.synchronize()",
            )
        if record.hold():
            stream.submit(
                EventWait(event_id=record.event_id, timeout_s=timeout_s), owner="event wait", finished=record.drop
            )

    def query(self) -> bool:
        """Return whether the newest record is done (True when never recorded); never waits."""
        self._check_open()
        record = self._latest
        if record is None:
            return True
        record.stream.drain()
        return record.done and (not self.timing or record.timestamp is not None)

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until the newest record is done; at once when never recorded.

        Raises:
            Timeout 507047: not done in time.
        """
        self._check_open()
        sync.check_timeout(timeout_ms, "Event.synchronize")
        record = self._latest
        if record is not None and not self.query():
            sync.wait(record.stream, self.query, timeout_ms, "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT")

    @property
    def timestamp_ticks(self) -> int:
        """The device's time stamp of the newest record.

        Raises:
            EventError 107006: made without timing, or not recorded and done yet.
        """
        record = self._latest
        if not self.timing:
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "this event keeps no time",
                hint="make it with create_event(timing=True)",
            )
        if record is None or not self.query():
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "the event has no time stamp yet",
                hint="record it and synchronize() before reading its time",
            )
        assert record.timestamp is not None
        return record.timestamp

    def __sub__(self, earlier: Event) -> float:
        """Return the milliseconds from another event to this one, by the device's clock."""
        if not isinstance(earlier, Event):
            return NotImplemented
        return (self.timestamp_ticks - earlier.timestamp_ticks) / float(self.device.chip.prop("eventTimestampFreq"))

    def close(self) -> None:
        """Give the event up; waits that are already queued keep its id until they are done."""
        if not self.closed:
            self.closed = True
            self.device.runtime.handles.remove(self.handle)
            self._latest = None

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise dead_handle("event", f"event {self.name or hex(self.handle)}")

    def _stream(self, stream: Stream | None) -> Stream:
        if stream is None:
            return self.device.context.default_stream
        stream.check_open()
        if stream.device is not self.device:
            raise errors.fault(
                "ACL_ERROR_RT_STREAM_CONTEXT",
                f"an event of device {self.device.user_id} cannot be recorded in a stream of "
                f"device {stream.device.user_id}",
                ee="EE1010", params=("Event.record", "stream", "it belongs to another device"),
                hint="record it in a stream of its own device",
            )
        return stream

    def __repr__(self) -> str:
        record = self._latest
        if self.closed:
            state = "closed"
        elif record is None:
            state = "not recorded"
        else:
            state = "done" if record.done else "pending"
        return f"<event {self.name or hex(self.handle)} of device {self.device.user_id}, {state}>"


class _Record:
    """One recording: its device id, who still needs it, and the time stamp when it comes."""

    __slots__ = ("_lock", "_users", "device", "done", "event_id", "kind", "stream", "timestamp")

    def __init__(self, device: Device, stream: Stream) -> None:
        self.device, self.stream = device, stream
        self.kind = id_kinds.EVENT if device.chip.generation == "v100" else id_kinds.NOTIFY
        self.event_id = device.ids.alloc(self.kind)
        self._users = 1
        self._lock = threading.Lock()
        self.done = False
        """Whether the device has passed the record."""
        self.timestamp: int | None = None

    def hold(self) -> bool:
        """One more task needs the id; False where it has been given back already."""
        with self._lock:
            if self._users:
                self._users += 1
            return self._users > 0

    def drop(self) -> None:
        """One task less; the last one gives the id back."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.device.ids.free(self.kind, self.event_id)

    def finished(self) -> None:
        """The record's own task was reclaimed."""
        self.done = True
        self.drop()

    def reported(self, cqe: Any) -> None:
        """The completion entry came, with the time."""
        self.timestamp = int(cqe.timestamp)
