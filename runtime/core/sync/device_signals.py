"""What the events of one device are made of: ids, bytes, counters, programs of waits; and the events that are alive."""

from __future__ import annotations

import collections
import os
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import EventRecord
from npuhal.late import logger
from runtime import errors
from runtime.core.diagnostics import resource_report
from runtime.core.process.handles import Children
from runtime.core.sync.behind import free_behind
from runtime.core.sync.event_pool import EventBytes, EventIds
from runtime.core.sync.value import WaitSlots
from runtime.driver import resources as id_kinds
from runtime.errors.closing import each
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort
    from runtime.core.sync.timelines import Timelines

_LOG = logger(__name__)


class Counter:
    """The count-notify of one stream: each record in the stream stores the next number in it (STARS v2)."""

    __slots__ = ("closed", "device", "number", "value", "wait_key")

    def __init__(self, device: DevicePort, number: int) -> None:
        self.device, self.number = device, number
        self.closed = False
        """Whether its stream has ended, with all of its records."""
        self.value = 0
        """The last number that was taken; it grows under the lock of the stream, so that the device sees it grow."""
        self.wait_key = f"event wait {number}"
        """What prepared waits for it are kept under; empty once no further one is sent."""

    def next(self) -> int:
        """Take the next number."""
        self.value += 1
        return self.value

    def close(self) -> None:
        """Give the id back when the waits are over that other streams hold; no further one is sent."""
        self.closed, self.wait_key = True, ""
        free_behind(self.device, partial(self.device.ids.free, id_kinds.COUNT_NOTIFY, self.number))


class Signals:
    """What signals are made of on one device, and the events that use them."""

    __slots__ = ("_counters", "_device", "_lock", "abandoned", "bytes", "events", "ids", "lock", "timelines",
                 "traces", "wait_slots")

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self.ids = EventIds(device)
        self.bytes = EventBytes(device.memory)
        self.wait_slots = WaitSlots(device.memory)
        commands = device.plugin.commands
        self.timelines: Timelines | None = None
        """Where records store their times; None where completion entries carry them."""
        if commands is not None:
            from runtime.core.sync.timelines import Timelines  # late: few chips need them

            self.timelines = Timelines(device.memory, commands)
        self.lock: threading.Lock = threading.Lock()
        """Held while users of a signal are counted."""
        self.events: Children = Children()
        """Events and notifies that are alive; they end with the device."""
        self.abandoned: deque[Any] = deque()
        """Those that nobody has closed or knows any more, until somebody waits or makes another one; see `adopt`."""
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
        if self.abandoned:
            self.bury()

    def sites(self, kind: str) -> collections.Counter[str]:
        """Count the events and notifies that hold an id of a kind by where they were created."""
        return collections.Counter(event.site for event in self.events if event.id_kind == kind)

    def bury(self) -> bool:
        """Close what was dropped without a close; tells whether there was any. What the driver refuses is only logged.
        """
        found = bool(self.abandoned)
        while self.abandoned:
            try:
                event = self.abandoned.popleft()
            except IndexError:
                break  # another thread took the last one
            try:
                event.close()
            except errors.RuntimeFault as fault:  # no mistake of whoever waits or makes another one
                _LOG.warning("an event or notify that was dropped could not be given back: %s", fault)
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
        control.settle()

    def close(self) -> None:
        """Close events and notifies that are still alive, then free everything; all streams are idle."""
        each([
            *(event.close for event in self.events), self.bury, self.ids.trim, self.bytes.close, self.wait_slots.close,
            *(() if self.timelines is None else (self.timelines.close,)),
        ])  # fmt: skip
