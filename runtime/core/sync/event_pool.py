"""Where events get what they are made of: device ids from a pool, and bytes of device memory (core_spec 10.7.3, 13.14).

Ids that events no longer need stay in the pool of their device (chip property eventPoolSize), because an id of the
driver's costs two system calls; `EventIds.release_idle` gives them back once nobody has wanted one for a while. What
the last event has set is still set: it is taken back before another one gets the id, whose waits would pass at once.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.traits import EventKind
from npuhal import constants as c
from runtime import errors
from runtime.core.diagnostics import resource_report
from runtime.core.submission.reclaim import reclaim
from runtime.driver import resources as id_kinds
from runtime.errors.closing import each

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort
    from runtime.driver.memory import MemoryDriver

IDLE_S = 3.0
"""How long an unused pool keeps its ids."""

_ROUNDS = 1000
"""Most rounds of reclaiming before missing ids are an error."""

_PAUSE_S = 50e-6

BUFFERS = 1024
BUFFER_BYTES = 2 << 20
FIRST_BYTE_ID = 65536
"""Ids of bytes begin behind all 16-bit device ids."""


class EventIds:
    """Hardware event ids (STARS v1), or notify ids that stand for events (STARS v2), of one device."""

    __slots__ = ("_device", "_free", "_lock", "_taken", "_touched", "_unset", "kind", "limit")

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self.kind = id_kinds.EVENT if device.chip.traits.events is EventKind.IDS else id_kinds.NOTIFY
        self.limit = int(device.chip.prop("eventPoolSize")) if device.chip.has("DEVICE_EVENT_POOL") else 0
        """Most ids that are kept for reuse; 0 on chips without a pool."""
        self._taken = 0
        self._free: list[int] = []
        self._touched = 0.0
        self._unset = device.ids.unsetter(self.kind)
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Ids that events of this process hold now."""
        return self._taken - len(self._free)

    def take(self, *, device_only: bool = False) -> int:
        """Return an id: a pooled one, else a new one from the driver.

        Args:
            device_only: an id for device code, which never comes from the pool.

        Raises:
            ResourceExhausted 207007: none left even after everything that is finished was reclaimed.
        """
        number = None if device_only else self._from_pool()
        return self._from_driver(self._flags(device_only=device_only)) if number is None else number

    def _from_pool(self) -> int | None:
        with self._lock:
            if not self._free:
                return None
            number = self._free.pop()
            try:
                self._unset(number)
            except BaseException:
                self._free.append(number)
                raise
            return number

    def _flags(self, *, device_only: bool) -> int:
        """Return the driver's flag of an id that device code uses (MC2), where the driver has one."""
        if not device_only:
            return 0
        known = self.kind == id_kinds.NOTIFY or self._device.chip.has("DRIVER_EVENT_MC2")
        return c.TSDRV_FLAG_REMOTE_ID if known else 0

    def _from_driver(self, flags: int) -> int:
        for _ in range(_ROUNDS):
            try:  # `contextlib.suppress` would cost more than the rest
                return self._alloc(flags)
            except errors.ResourceExhausted:
                pass
            if not self._reclaim():
                break  # nothing is pending that could end
            if not flags and (number := self._from_pool()) is not None:
                return number
        try:
            return self._alloc(flags)
        except errors.ResourceExhausted as exhausted:
            fault = errors.fault(
                "RT_ERROR_DRV_NO_EVENT_RESOURCES",
                f"device {self._device.user_id} has no event id left; {self.held} are held by events of this process",
            )
            posted = self.kind == id_kinds.NOTIFY
            resource_report.explain(self._device, self.kind, fault, "allocation of an event id", posted=posted)
            raise fault from exhausted

    def _alloc(self, flags: int) -> int:
        number = self._device.ids.alloc(self.kind, flags=flags)
        with self._lock:
            self._taken += 1
        return number

    def _free_to_driver(self, number: int, flags: int = 0) -> None:
        with self._lock:
            self._taken -= 1
        self._device.ids.free(self.kind, number, flags=flags)

    def _reclaim(self) -> bool:
        """Take back what is finished on all streams; tells whether an id became free, or tasks go on that may do so."""
        before = self.held
        self._device.signals.bury()
        streams = self._device.streams()
        for stream in streams:
            reclaim(stream)
        if self.held < before:
            return True
        time.sleep(_PAUSE_S)
        return any(stream.ring.pending and not stream.never_waited for stream in streams)

    def give_back(self, number: int, *, device_only: bool = False) -> None:
        """Take an id back that no event and no task needs any more."""
        self._touched = time.monotonic()
        with self._lock:
            if len(self._free) < self.limit and not device_only:
                self._free.append(number)
                return
        self._free_to_driver(number, self._flags(device_only=device_only))

    def release_idle(self, now: float | None = None) -> int:
        """Give the pool's ids to the driver if none was returned for 3 s; returns how many went.

        Args:
            now: the monotonic time in seconds; the clock's by default.
        """
        current = time.monotonic() if now is None else now
        return self.trim() if current - self._touched >= IDLE_S else 0

    def trim(self) -> int:
        """Give all ids of the pool to the driver; returns how many went."""
        with self._lock:
            numbers, self._free = self._free, []
            self._taken -= len(numbers)
        each(self._device.ids.freeing(self.kind, number) for number in numbers)
        return len(numbers)


class EventBytes:
    """Bytes of device memory that stand for events where no hardware id can: one byte each, 1 when recorded.

    Up to 1024 buffers of 2 MiB, made when the ones before are full (EventExpandingPool).
    """

    __slots__ = ("_buffers", "_free", "_lock", "_memory", "_next", "_unset")

    def __init__(self, memory: MemoryDriver) -> None:
        self._memory = memory
        self._buffers: list[int] = []
        self._free: list[int] = []
        self._unset: list[int] = []
        """Bytes that still hold what their last event was: they could not be set to 0."""
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return the id of a byte; what it holds is up to the first record.

        Raises:
            ResourceExhausted 207007: all buffers are in use.
        """
        with self._lock:
            if self._next < len(self._buffers) * BUFFER_BYTES:
                self._next += 1
                return FIRST_BYTE_ID + self._next - 1
            if self._free:
                return self._free.pop(0)
            if self._unset:
                self._memory.fill(self.address(self._unset[-1]), 1, 0, 1)
                return self._unset.pop()
            self._grow()
            self._next += 1
            return FIRST_BYTE_ID + self._next - 1

    def _grow(self) -> None:
        if len(self._buffers) == BUFFERS:
            raise errors.fault(
                "RT_ERROR_DRV_NO_EVENT_RESOURCES", f"all {BUFFERS * BUFFER_BYTES} software events are in use",
                ee="EE1023", params=("allocation of a software event", "no byte is left"),
                hint="close events that are no longer used",
            )
        with self._memory.new(BUFFER_BYTES, internal_flags(huge=True)) as buffer:
            self._memory.fill(buffer, BUFFER_BYTES, 0, BUFFER_BYTES)
        self._buffers.append(buffer)

    def address(self, number: int) -> int:
        """Return the device address of a byte."""
        buffer, cell = divmod(number - FIRST_BYTE_ID, BUFFER_BYTES)
        return self._buffers[buffer] + cell

    def give_back(self, number: int) -> None:
        """Take a byte back; the next owner finds 0 in it."""
        free = self._free
        try:
            self._memory.fill(self.address(number), 1, 0, 1)
        except errors.RuntimeFault:  # the former owner is gone, so the next one gets the error
            free = self._unset
        with self._lock:
            free.append(number)

    def clear(self) -> None:
        """Set all bytes to 0, as after a snapshot was restored."""
        for buffer in self._buffers:
            self._memory.fill(buffer, BUFFER_BYTES, 0, BUFFER_BYTES)

    def close(self) -> None:
        """Free the buffers."""
        buffers, self._buffers = self._buffers, []
        each(map(self._memory.freeing, reversed(buffers)))
