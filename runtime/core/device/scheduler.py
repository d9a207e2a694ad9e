"""Messages to the task scheduler when a device is opened, and the capabilities that it announces (core_spec 2.3)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from chips import credit
from chips.tasks import AicpuMessageVersion, GetStarsVersion, RingBufferControl
from npuhal.records import replace
from runtime.core.device import aicpu_monitor
from runtime.core.device.device_tables import ErrorRing
from runtime.core.diagnostics.counters import uncounted
from runtime.driver.queues.scheduler import capabilities

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort

_BOOT_TIMEOUT_MS = 10_000
_DEFAULT_VERSION = 16
"""What a scheduler that answers 0 is taken for (hal_trace 2)."""
_LATEST = 36
"""What a scheduler that is not asked is taken for (TS_VERSION_LATEST)."""


class TaskScheduler:
    """One device's task scheduler, as far as the runtime has to do with it; held by the device."""

    __slots__ = ("_device", "_error_ring", "aicpu_monitor_off", "features")

    _error_ring: ErrorRing | None

    def __init__(self, device: DevicePort) -> None:
        """Ask what it is: the device's own streams are there, and empty."""
        self._device = device
        self.features: frozenset[str] = frozenset()
        """What it can do, by the names of `driver.queues.scheduler.CAPABILITIES` and `VERSIONS`."""
        self.aicpu_monitor_off = False
        """Whether STARS alone watches how long AICPU kernels take."""
        self._find_out()

    def begin(self, undo: ExitStack) -> None:
        """Tell it what it must know, once the device's cores are counted.

        Args:
            undo: takes the steps that end what was begun.
        """
        device = self._device
        # Small chips have none: nothing is announced then, and the scheduler has no place to tell capabilities in.
        size = int(device.chip.prop("ringbufSize"))
        self._error_ring = ring = ErrorRing(device.memory, size) if size else None
        if ring:
            undo.callback(ring.close)
            self._announce_error_ring(ring)
            undo.callback(self._stop_error_ring)
        self.features = capabilities(
            ring.scheduler_capabilities() if ring else b"", device.env.ts_version,
            complete=device.chip.has("DEVICE_TSCH_PACAGE_COMPATABLE"),
        )
        self._pass_on()
        self._greet()

    def start_again(self) -> None:
        """Tell the scheduler of another card what that of the first was told; streams are there, and empty."""
        self._find_out()
        if self._error_ring:
            self._announce_error_ring(self._error_ring)
        self._pass_on()
        self._greet()
        self.aicpu_monitor_off = False
        if not self._device.context.closed:
            self.set_up_primary()

    def set_up_primary(self) -> None:
        """Do what belongs to the primary context only: agree who watches AICPU kernels, and state the time limits."""
        device = self._device
        with uncounted(device.own_streams):
            self.aicpu_monitor_off = self.aicpu_monitor_off or aicpu_monitor.switch_off(device)
            device.runtime.timeouts.announce(device)

    def _find_out(self) -> None:
        """Ask what it is, and where cores synchronise."""
        device = self._device
        device.env = replace(device.env, ts_version=self._version())
        if device.chip.has("DEVICE_C2C_SYNC"):
            device.core_sync_address, _ = device.memory.core_sync_block()

    def _version(self) -> int:
        device = self._device
        if device.plugin.commands is not None:  # it was said about the first stream
            device.primary_stream.settle(_BOOT_TIMEOUT_MS)
            return device.queues.scheduler_version
        if not device.chip.has("DEVICE_GET_STARS_VERSION"):
            return _LATEST
        if device.chip.has("DEVICE_TS_COMMON_CPU"):
            return device.driver.scheduler_version()
        answer: list[Any] = []
        device.control_stream.submit(GetStarsVersion(), reported=answer.append)
        device.control_stream.settle(_BOOT_TIMEOUT_MS)
        return (answer[0].error_code if answer and answer[0] else 0) or _DEFAULT_VERSION

    def _pass_on(self) -> None:
        """Pass on what it has said of itself to whoever builds SQEs."""
        device, interval_us = self._device, 0.0
        if device.chip.has("TASK_EXEC_TIMEOUT_SCALE_MODIFY") and "OP_EXEC_TIMEOUT_MS" in self.features:
            interval_us = device.driver.operator_interval_ns() / 1000
        facts: dict[str, Any] = {
            "ts_version": device.env.ts_version, "ts_features": self.features,
            "credit_interval_us": interval_us, "op_timeout_fine": credit.is_fine(interval_us),
        }  # fmt: skip
        device.env = replace(device.env, **facts)
        for stream in device.own_streams:
            stream.env = replace(stream.env, **facts)

    def _greet(self) -> None:
        """Agree on the version of messages, where the chip has any."""
        device = self._device
        if device.chip.traits.message_version:
            device.primary_stream.submit(AicpuMessageVersion())
            device.primary_stream.settle(_BOOT_TIMEOUT_MS)

    def _announce_error_ring(self, ring: ErrorRing) -> None:
        device = self._device
        control, traits = device.control_stream, device.chip.traits
        physical = device.memory.physical(ring.address) if traits.error_ring_physical else 0
        control.submit(RingBufferControl(addr=ring.address, phy_addr=physical, length=traits.error_ring_elements))
        control.settle(_BOOT_TIMEOUT_MS)

    def _stop_error_ring(self) -> None:
        device = self._device
        control, sq_id = device.control_stream, device.control_stream.queues.sq_id
        hangs = device.health.lost is not None or device.queues.head(sq_id) != device.queues.tail(sq_id)
        if not hangs:
            control.submit(RingBufferControl(addr=0, length=0, delete=True))
            control.settle(_BOOT_TIMEOUT_MS)
