"""What the host asks of an event: whether it is done, when it was, and waiting for it (core_spec 10.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chips.traits import EventKind
from runtime import errors
from runtime.core.submission import completion
from runtime.core.sync import synchronize as sync
from runtime.core.sync.shared_event import SharedWords

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.sync.event_state import EventState
    from runtime.core.sync.recording import Recording


class EventQueries:
    """What the host asks of one event; nothing of it is kept here, so that one can be made for each question."""

    __slots__ = ("_state",)

    def __init__(self, state: EventState) -> None:
        self._state = state

    # -- questions -------------------------------------------------------------------------------------------------

    def query(self) -> bool:
        """Return whether the newest record is done (True when never recorded); never waits."""
        self._state.check_open()
        self._refuse_captured()
        record = self._state.latest
        if isinstance(self._state.signal, SharedWords):
            return self._state.signal.done()
        if record is None:
            return True
        record.look()
        return self._complete(record) or self._reported(record)

    def status(self) -> bool:
        """Return what the runtime knows of the newest record (aclrtQueryEventStatus).

        A record with a time is complete once its report was read, as synchronizing its stream does; this call reads
        it for the next one. Never recorded is complete for a renewed event and not for a plain one.

        Raises:
            NotSupported 207000: the state is not the runtime's to know (EXTERNAL).
            InternalError 507000: it was recorded on another device.
        """
        self._state.check_open()
        self._refuse_captured()
        self._refuse_external()
        record = self._state.latest
        if isinstance(self._state.signal, SharedWords):
            return self._state.signal.done()
        if record is None:
            return self._state.renewed
        if record.stream.device is not self._state.device:
            raise errors.fault(
                "ACL_ERROR_RT_INTERNAL_ERROR", f"{self._state!r} was recorded on device {record.stream.device.user_id}",
                hint="record an event on the device it was made on",
            )
        if not self._state.means.timing:
            record.look()
        complete = self._complete(record)
        if complete:
            record.stream.observed()
        else:
            record.look()
        return complete

    def waits_done(self) -> bool:
        """Return whether all waits of streams for it are over.

        Raises:
            NotSupported 207000: a renewed event, which does not know its waits, or an external one.
        """
        self._state.check_open()
        self._refuse_captured()
        self._refuse_external()
        waits = self._state.waits
        if waits is None:
            raise self._no_old_query()
        for stream, wait in list(waits.items()):
            if wait.done:
                stream.observed()
            elif not stream.closed:
                stream.drain()
            if wait.done:
                waits.pop(stream, None)
        return not waits

    def recorded(self) -> bool:
        """Return whether nothing is being recorded, as the older query has it (rtEventQuery).

        Raises:
            NotSupported 207000: a renewed or an external event.
        """
        self._state.check_open()
        self._refuse_captured()
        self._refuse_external()
        if self._state.renewed:
            raise self._no_old_query()
        if self._state.latest is None:
            return True
        self._state.latest.look()
        return self._state.latest.done

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until the newest record is done; at once when never recorded. A failed task before it is no matter.

        Raises:
            Timeout 507047: not done in time.
        """
        state = self._state
        if state.closed or state.in_graph is not None:
            state.check_open()
            self._refuse_captured()
        if type(timeout_ms) is not int or timeout_ms != -1:
            sync.check_timeout(timeout_ms, "Event.synchronize")
        state.device.tally.synchronizes += 1
        if not self.query():
            sync.wait(self.last_stream, self.reached(), timeout_ms, sync.EVENT_TIMEOUT)

    def reached(self) -> Callable[[], bool]:
        """Return what a wait asks: `query`, which becomes True also where the time of the record got lost."""
        reported = completion.reports_taken(self.last_stream)
        return lambda: self.query() or (reported() and self.query())

    @property
    def last_stream(self) -> StreamPort:
        """The stream of the newest record; the default stream when never recorded."""
        return self._state.device.context.default_stream if self._state.latest is None else self._state.latest.stream

    def share(self) -> bytes:
        """Return the name by which other processes open an IPC event, at most 64 bytes.

        Raises:
            InvalidArgument 107000: it was made without the flag IPC.
        """
        self._state.check_open()
        if not isinstance(self._state.signal, SharedWords):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self._state!r} is not made to be shared", ee="EE1006",
                params=("share of an event", f"event with flags {int(self._state.flags):#x}", "not shareable"),
                hint="make it with the flag IPC (0x40) alone",
            )
        return self._state.signal.share()

    def _complete(self, record: Recording) -> bool:
        return record.done and (not self._state.means.timing or record.timestamp is not None or record.timeless)

    def _reported(self, record: Recording) -> bool:
        """Look for the report of a record that was done a moment ago: the device went on between two looks."""
        if record.done:
            record.look()
        return self._complete(record)

    def _refuse_captured(self) -> None:
        if self._state.in_graph is not None:
            raise errors.fault(
                "RT_ERROR_EVENT_CAPTURED", f"{self._state!r} is part of a capture", ee="EE1016",
                params=("question to an event", "the event is part of a capture"), hint="end the capture first",
            )

    def _refuse_external(self) -> None:
        if self._state.means.external:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
                f"{self._state!r} lives outside of graphs and has no state to query",
                hint="synchronize the stream that records it",
            )

    def _no_old_query(self) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self._state!r} answers only to the newer status query",
            hint="use query(), in C aclrtQueryEventStatus",
        )

    # -- time ------------------------------------------------------------------------------------------------------

    @property
    def timestamp_ticks(self) -> int:
        """The device's time stamp of the newest record.

        Raises:
            EventError 107017: the event was closed.
            EventError 107006: made without timing, not recorded and done yet, or its time got lost.
        """
        self._state.check_open()
        if not self._state.means.timing:
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "this event keeps no time",
                hint="make it with create_event(timing=True)",
            )
        record = self._state.latest
        if record is None or not self.query():
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "the event has no time stamp yet",
                hint="record it and synchronize() before reading its time",
            )
        return self._time_of(record)

    def read_ticks(self) -> int:
        """Return the time as the C API does, from what was read so far.

        STARS v1 answers 0 for an event without TIME_LINE.

        Raises:
            NotSupported 207000: an IPC event, or an external one.
            EventError 507000: never recorded.
            EventError 107006: no time is known.
        """
        self._state.check_open()
        self._refuse_captured()
        self._refuse_external()
        if self._state.means.ipc:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self._state!r} is shared between processes and keeps no time",
                hint="use an event with TIME_LINE in this process",
            )
        record = self._state.latest
        if record is None:
            raise errors.fault(
                "RT_ERROR_EVENT_RECORDER_NULL", f"{self._state!r} was never recorded", hint="record it first"
            )
        record.look()
        if record.timestamp is not None or (self._state.means.timing and self._reported(record)):
            return self._time_of(record)
        if not self._state.means.timing and record.done and self._state.device.chip.traits.events is EventKind.IDS:
            return 0
        raise errors.fault(
            "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", f"{self._state!r} has no time stamp",
            hint="make it with TIME_LINE, record it, and synchronize the event before",
        )

    def _time_of(self, record: Recording) -> int:
        """Return the time of a record that is complete; EventError 107006 where it will never be known."""
        if record.timestamp is None:
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", f"{self._state!r} has no time stamp: its record was ended by "
                "force, or the device's report of it got lost", hint="record it again",
            )
        return record.timestamp

    @property
    def ticks_per_ms(self) -> float:
        """How many ticks of the device's clock are a millisecond."""
        return float(self._state.device.chip.prop("eventTimestampFreq"))

    def milliseconds_since(self, earlier: EventQueries) -> float:
        """Return the milliseconds from the newest record of another event to this one's, by the device's clock.

        Raises:
            InvalidArgument 107000: the events are of two devices, whose clocks have nothing in common.
        """
        self.check_same_clock(earlier)
        return (self.timestamp_ticks - earlier.timestamp_ticks) / self.ticks_per_ms

    def check_same_clock(self, other: EventQueries) -> None:
        """Refuse to compare times of events of two devices: InvalidArgument 107000."""
        if other.last_stream.device is not self.last_stream.device:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"elapsed time: {other._state!r} and {self._state!r} are timed by "
                "the clocks of two devices", ee="EE1006",
                params=("elapsed time", "events of two devices", "not comparable"),
                hint="record both events on one device",
            )
