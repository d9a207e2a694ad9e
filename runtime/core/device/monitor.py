"""Watching over open devices: do they answer, what do they report, which finished tasks does nobody fetch.

core_spec 2.5 and 4.1. One thread serves all devices of a runtime. It starts with the first one, sleeps a second at a
time, and is joined when the last one closes. A backend whose machine moves only during calls (`HalApi.stepped`) gets no
thread: there a round is made by whoever calls `look`, so that results do not depend on the host's clock.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from npuhal.changed import Changed, start_thread
from runtime import errors
from runtime.core.submission.reclaim import reclaim
from runtime.driver.faults import FaultDriver, ReportedFault

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort

_PERIOD_S = 1.0
_FATAL = {0x80E18400: "RT_ERROR_MEM_RAS_ERROR", 0x81AFAA06: "RT_ERROR_L3_PORT_ERROR"}
"""Reported faults that end all work of a device: uncorrectable errors of its memory, and of the UB memory network."""
_EXCEPTION, _LINK_LOST = 2, 4
"""drvDeviceStatus: from 2 on the device is gone; 4 says that the host hears nothing of it any more."""


class Health:
    """What is known of one device's state. A device that was lost stays lost until it is closed."""

    def __init__(self, device: DevicePort) -> None:
        self._device = device
        self._driver = FaultDriver(device.hal, device.device_id)
        self.lost: errors.RuntimeFault | None = None
        """Why the device can do nothing any more, once it is lost."""
        self.first: errors.RuntimeFault | None = None
        """What the device has failed with first: it was lost, or reported what no result survives."""
        self.faults: tuple[ReportedFault, ...] = ()
        """What the device had reported at the last look."""
        self._looking = False
        self._acted_on = self._there_before()

    def begin_anew(self) -> None:
        """Forget what was known of a card that another one has replaced; contexts that stopped for its loss go on."""
        for context in self._device.contexts():
            if context.failure.first is not None and context.failure.first is self.lost:
                context.failure.first = None
        self.lost = self.first = None
        self.faults = ()
        self._acted_on = self._there_before()

    def _there_before(self) -> set[int]:
        """Return the fatal faults that are older than any work of this process: no result of its own depends on them.
        """
        if self._device.chip.has("DFX_REPORT_RAS"):
            with contextlib.suppress(errors.RuntimeFault):
                return {fault.event_id for fault in self._driver.active() if fault.event_id in _FATAL}
        return set()

    def reported(self) -> tuple[ReportedFault, ...]:
        """Return the faults that the device has now; nothing is done about them."""
        return self._driver.active()

    def look(self) -> None:
        """Ask the device how it is; the first time that it does not answer stops all its contexts.

        A driver that cannot be asked says nothing about the device: the next look tries again.
        """
        if self.lost is not None or self._looking:
            return
        self._looking = True  # what the driver refuses of this asks for the first fault
        try:
            self._look()
        finally:
            self._looking = False

    def first_fault(self) -> errors.RuntimeFault | None:
        """Look, and return what the device has failed with first; None while it works."""
        self.look()
        return self.first

    def _look(self) -> None:
        try:
            status = self._device.driver.info.status()
            self.faults = self._driver.active()
        except errors.RuntimeFault:
            return
        if status >= _EXCEPTION:
            self.lost = self._fault(status)
            self._stop(self.lost)
        elif self._device.chip.has("DFX_REPORT_RAS"):
            self._act_on_faults()

    def _act_on_faults(self) -> None:
        """Stop all contexts at a fault after which no result can be trusted: once, until it is over and returns."""
        now = {fault.event_id: fault for fault in self.faults if fault.event_id in _FATAL}
        for event_id, fault in now.items():
            if event_id not in self._acted_on:
                self._stop(errors.fault(
                    _FATAL[event_id],
                    f"device {self._device.user_id} reports {event_id:#x} {fault.name}".rstrip(),
                    hint="the data of this device cannot be trusted: reset it and start from the last checkpoint",
                    details={"faults": self.faults},
                ))
        self._acted_on = set(now)

    def _stop(self, fault: errors.RuntimeFault) -> None:
        self.first = self.first or fault
        for context in self._device.contexts():
            context.failure.first = context.failure.first or fault
            for stream in context.all_streams():
                stream.blocked = True

    def give_up(self, why: str, hint: str) -> None:
        """Count the device as lost: what is on it is no longer what the process believes."""
        self.lost = errors.fault(
            "RT_ERROR_SNAPSHOT_RESTORE_FAILED", f"device {self._device.user_id} cannot be used: {why}", hint=hint
        )
        self._stop(self.lost)

    def check(self) -> None:
        """Look, and raise where the device is lost.

        Raises:
            DeviceFault 507010: the host hears nothing of it any more.
            DriverError 507899: it is in a state in which it does not work.
        """
        self.look()
        if self.lost is not None:
            raise self.lost

    def _fault(self, status: int) -> errors.RuntimeFault:
        reported = "; ".join(f"{fault.event_id:#x} {fault.name}".rstrip() for fault in self.faults)
        text = f"device {self._device.user_id} no longer answers (drvDeviceStatus {status})"
        return errors.fault(
            "RT_ERROR_LOST_HEARTBEAT" if status == _LINK_LOST else "RT_ERROR_DRV_ERR",
            f"{text}; it reported: {reported}" if reported else text,
            hint="look at `npu-smi info` and dmesg; reset the device",
            details={"faults": self.faults},
        )


def _reclaim_failed(device: DevicePort) -> None:
    """Take back what streams that have failed have done; what that raises, the stream keeps for its user."""
    for stream in device.streams():
        if stream.failure.first is not None and stream.ring.pending and not stream.closed:
            with contextlib.suppress(errors.RuntimeFault):
                reclaim(stream)


class Monitor:
    """Looks at all open devices, once a second where it has a thread."""

    def __init__(self, *, threaded: bool, around: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Args:
            threaded: make rounds in a thread of their own.
            around: makes the context in which each of its rounds runs.
        """
        self._threaded, self._around = threaded, around
        self._devices: list[DevicePort] = []
        self._lock = threading.RLock()
        self._changed = Changed(self._lock)
        self._round = threading.Lock()
        """Held while a round is on, so that a device is not closed under it."""
        self._thread: threading.Thread | None = None

    def watch(self, device: DevicePort) -> None:
        """Look after a device from now on."""
        with self._lock:
            self._devices.append(device)
            if self._thread is None and self._threaded:
                self._thread = start_thread(self._run, "npuhal-monitor")

    def forget(self, device: DevicePort) -> None:
        """Stop watching a device; returns when no round touches it. The last one ends the thread."""
        with self._round, self._lock:
            if device in self._devices:
                self._devices.remove(device)
            ended = None
            if not self._devices:
                ended, self._thread = self._thread, None
                self._changed.notify_all()
        if ended is not None and ended is not threading.current_thread():
            ended.join()

    def look(self) -> None:
        """Make one round: ask each device how it is, give up idle event ids, reclaim what failed streams have finished.
        """
        with self._round:
            with self._lock:
                devices = list(self._devices)
            for device in devices:
                device.health.look()
                with contextlib.suppress(errors.RuntimeFault):  # ids that are refused go with the device
                    device.signals.ids.release_idle()
                _reclaim_failed(device)

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._lock:
                if self._changed.wait_for(lambda: self._thread is not me, _PERIOD_S):
                    return
            with self._around():
                self.look()
