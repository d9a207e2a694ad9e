"""What the host asks of an event: whether it is done, when it was, and waiting for it (core_spec 10.7)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from chips.traits import EventKind
from runtime import errors
from runtime.core.submission import completion
from runtime.core.sync import awaiting
from runtime.core.sync import synchronize as sync
from runtime.core.sync.shared_event import SharedWords
from runtime.errors.mixing import NotCopied

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.ports import EventInGraph, StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.core.sync.event_flags import EventFlag, Traits
    from runtime.core.sync.signals import Recording, Signal, Waiting


class EventQueries(NotCopied):
    """The half of an event that only looks; what it looks at is kept by `runtime.core.sync.event.Event`."""

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device
        flags: EventFlag
        renewed: bool
        shadow: EventInGraph | None
        _latest: Recording | None
        _means: Traits
        _signal: Signal | None
        _waits: dict[Stream, Waiting]

        def check_open(self) -> None:
            """Raise where the event was closed, or its device was."""

    @property
    def timing(self) -> bool:
        """Whether the device keeps the time of records."""
        return self._means.timing

    # -- questions -------------------------------------------------------------------------------------------------

    def query(self) -> bool:
        """Return whether the newest record is done (True when never recorded); never waits."""
        self.check_open()
        self._refuse_captured()
        record = self._latest
        if isinstance(self._signal, SharedWords):
            return self._signal.done()
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
        self.check_open()
        self._refuse_captured()
        self._refuse_external()
        record = self._latest
        if isinstance(self._signal, SharedWords):
            return self._signal.done()
        if record is None:
            return self.renewed
        if record.stream.device is not self.device:
            raise errors.fault(
                "ACL_ERROR_RT_INTERNAL_ERROR", f"{self!r} was recorded on device {record.stream.device.user_id}",
                hint="record an event on the device it was made on",
            )
        if not self.timing:
            record.look()
        complete = self._complete(record)
        if complete:
            record.stream.relied()
        else:
            record.look()
        return complete

    def waits_done(self) -> bool:
        """Return whether all waits of streams for it are over.

        Raises:
            NotSupported 207000: a renewed event, which does not know its waits, or an external one.
        """
        self.check_open()
        self._refuse_captured()
        self._refuse_external()
        if self.renewed:
            raise self._no_old_query()
        for stream, wait in list(self._waits.items()):
            if wait.done:
                stream.relied()
            elif not stream.closed:
                stream.drain()
            if wait.done:
                self._waits.pop(stream, None)
        return not self._waits

    def recorded(self) -> bool:
        """Return whether nothing is being recorded, as the older query has it (rtEventQuery).

        Raises:
            NotSupported 207000: a renewed or an external event.
        """
        self.check_open()
        self._refuse_captured()
        self._refuse_external()
        if self.renewed:
            raise self._no_old_query()
        if self._latest is None:
            return True
        self._latest.look()
        return self._latest.done

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until the newest record is done; at once when never recorded. A failed task before it is no matter.

        Raises:
            Timeout 507047: not done in time.
        """
        self.check_open()
        self._refuse_captured()
        sync.check_timeout(timeout_ms, "Event.synchronize")
        if not self.query():
            sync.wait(self.last_stream, self.reached(), timeout_ms, sync.EVENT_TIMEOUT)

    def reached(self) -> Callable[[], bool]:
        """Return what a wait asks: `query`, which becomes True also where the time of the record got lost."""
        reported = completion.reports_taken(self.last_stream)
        return lambda: self.query() or (reported() and self.query())

    def __await__(self) -> Generator[Any, None, None]:
        """`await event`: `synchronize` for asyncio, without a thread; cancelling only ends the wait."""
        return awaiting.reach(self).__await__()

    @property
    def last_stream(self) -> StreamPort:
        """The stream of the newest record; the default stream when never recorded."""
        return self.device.context.default_stream if self._latest is None else self._latest.stream

    def share(self) -> bytes:
        """Return the name by which other processes open an IPC event, at most 64 bytes.

        Raises:
            InvalidArgument 107000: it was made without the flag IPC.
        """
        self.check_open()
        if not isinstance(self._signal, SharedWords):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self!r} is not made to be shared", ee="EE1006",
                params=("share of an event", f"event with flags {int(self.flags):#x}", "not shareable"),
                hint="make it with the flag IPC (0x40) alone",
            )
        return self._signal.share()

    def _complete(self, record: Recording) -> bool:
        return record.done and (not self.timing or record.timestamp is not None or record.timeless)

    def _reported(self, record: Recording) -> bool:
        """Look for the report of a record that was done a moment ago: the device went on between two looks."""
        if record.done:
            record.look()
        return self._complete(record)

    def _refuse_captured(self) -> None:
        if self.shadow is not None:
            raise errors.fault(
                "RT_ERROR_EVENT_CAPTURED", f"{self!r} is part of a capture", ee="EE1016",
                params=("question to an event", "the event is part of a capture"), hint="end the capture first",
            )

    def _refuse_external(self) -> None:
        if self._means.external:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} lives outside of graphs and has no state to query",
                hint="synchronize the stream that records it",
            )

    def _no_old_query(self) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} answers only to the newer status query",
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
        self.check_open()
        if not self.timing:
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "this event keeps no time",
                hint="make it with create_event(timing=True)",
            )
        record = self._latest
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
            NotSupported 207000: an IPC event.
            EventError 507000: never recorded.
            EventError 107006: no time is known.
        """
        self.check_open()
        self._refuse_captured()
        if self._means.ipc:
            raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} is shared between processes and keeps no "
                               "time", hint="use an event with TIME_LINE in this process")
        record = self._latest
        if record is None:
            raise errors.fault("RT_ERROR_EVENT_RECORDER_NULL", f"{self!r} was never recorded", hint="record it first")
        record.look()
        if record.timestamp is not None or (self.timing and self._reported(record)):
            return self._time_of(record)
        if not self.timing and record.done and self.device.chip.traits.events is EventKind.IDS:
            return 0
        raise errors.fault(
            "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", f"{self!r} has no time stamp",
            hint="make it with TIME_LINE, record it, and synchronize the event before",
        )

    def _time_of(self, record: Recording) -> int:
        """Return the time of a record that is complete; EventError 107006 where it will never be known."""
        if record.timestamp is None:
            raise errors.fault(
                "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", f"{self!r} has no time stamp: its record was ended by force, "
                "or the device's report of it got lost", hint="record it again",
            )
        return record.timestamp

    @property
    def ticks_per_ms(self) -> float:
        """How many ticks of the device's clock are a millisecond."""
        return float(self.device.chip.prop("eventTimestampFreq"))

    def __sub__(self, earlier: EventQueries) -> float:
        """Return the milliseconds from another event to this one, by the device's clock.

        Raises:
            InvalidArgument 107000: the events are of two devices, whose clocks have nothing in common.
        """
        if not isinstance(earlier, EventQueries):
            return NotImplemented
        self.check_same_clock(earlier)
        return (self.timestamp_ticks - earlier.timestamp_ticks) / self.ticks_per_ms

    def check_same_clock(self, other: EventQueries) -> None:
        """Refuse to compare times of events of two devices: InvalidArgument 107000."""
        if other.last_stream.device is not self.last_stream.device:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"elapsed time: {other!r} and {self!r} are timed by the clocks of two "
                "devices", ee="EE1006", params=("elapsed time", "events of two devices", "not comparable"),
                hint="record both events on one device",
            )
