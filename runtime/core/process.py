"""The process-wide runtime: made on first use, one per process, stopped in order at exit."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading

import npuhal
from runtime import errors
from runtime.core.context import Context, CurrentState, need_context
from runtime.core.device import Device, serials
from runtime.core.refs import HandleTable
from runtime.driver.info import MachineFacts, read_machine


class Runtime:
    """A HAL door, the machine behind it, and the devices opened on it.

    The process has one (`get`); more can be made by tools and tests, as long as they do not open the same devices.
    """

    device_type: type[Device] = Device
    """What `device` makes; the public layer puts its own class here."""

    def __init__(self, url: str | None = None) -> None:
        """Open the door and read the machine; no device is opened.

        Raises:
            npuhal.errors.LibraryNotFound: no driver; the message names every place searched.
            chips.UnknownChip: the machine's SoC is none that this package knows.
        """
        self.hal = npuhal.open_hal(url)
        self.pid = os.getpid()
        self.machine: MachineFacts = read_machine(self.hal)
        self.hal.require(self.machine.chip.generation)
        self.handles = HandleTable()
        self.next_serial = serials()
        self.current = CurrentState()
        self.closed = False
        self._devices: dict[int, Device] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The URL of the HAL door."""
        return self.hal.url

    @property
    def device_count(self) -> int:
        """How many devices this process may use."""
        return self.machine.device_count

    def check_process(self) -> None:
        """Refuse a child of fork: the driver's mappings do not come along."""
        if os.getpid() != self.pid:
            raise errors.fault(
                "ACL_ERROR_INTERNAL_ERROR",
                f"this process was forked from {self.pid} after that one had started its runtime",
                hint="start workers before the first use of a device, or with multiprocessing's spawn method",
            )

    def device(self, index: int = 0) -> Device:
        """Return a device by its index, opening it on first use.

        Raises:
            InvalidArgument 107001: no device has this index.
            DeviceUnavailable 507033: it could not be opened; the cause is attached.
        """
        self.check_process()
        if self.closed:
            raise errors.fault("ACL_ERROR_UNINITIALIZE", "this runtime was closed", hint="make a new one")
        if not isinstance(index, int) or not 0 <= index < self.device_count:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_DEVICEID", f"device {index!r}: valid are 0 to {self.device_count - 1}",
                ee="EE1003", params=("device", index, "index", f"[0, {self.device_count})"),
                hint="`npuhal info` lists the devices that this process may use",
            )
        with self._lock:
            device = self._devices.get(index)
            if device is None:
                device = self._devices[index] = self.device_type(self, index, index)
            return device

    def forget(self, device: Device) -> None:
        """Drop a closed device, so that the next use opens it again."""
        self._devices.pop(device.user_id, None)

    def set_device(self, index: int) -> Device:
        """Open a device if need be and make its primary context the calling thread's."""
        device = self.device(index)
        self.current.context = device.context
        return device

    def current_context(self) -> Context:
        """Return the calling thread's context, or raise ContextError 107002."""
        self.check_process()
        return need_context(self.current)

    def open_devices(self) -> list[Device]:
        """Return the devices that are open now."""
        return list(self._devices.values())

    def close(self, *, force: bool = False) -> None:
        """Close all devices; `force` ends running tasks. The library stays loaded."""
        if self.closed or os.getpid() != self.pid:
            return
        self.closed = True
        for device in self.open_devices():
            device.close(force=force)
        self.hal.close()

    def __repr__(self) -> str:
        return f"<Runtime {self.url}: {self.device_count} x {self.machine.chip.soc}>"


_the_one: Runtime | None = None
_making = threading.Lock()


def get(url: str | None = None, kind: type[Runtime] = Runtime) -> Runtime:
    """Return the process's runtime, making one of `kind` on first use.

    Args:
        url: which HAL to use; only the first call may choose, a later one must not ask for another.
    """
    global _the_one
    with _making:
        if _the_one is None or _the_one.closed:
            _the_one = kind(url)
        elif url is not None and url != _the_one.url:
            raise errors.fault(
                "ACL_ERROR_REPEAT_INITIALIZE", f"this process already runs on {_the_one.url}; {url} was asked for",
                hint="call runtime.shutdown() first",
            )
        _the_one.check_process()
        return _the_one


def shutdown(*, force: bool = False) -> None:
    """Close the process's runtime; the next use makes a new one."""
    global _the_one
    with _making:
        one, _the_one = _the_one, None
    if one is not None:
        one.close(force=force)


@atexit.register
def _at_exit() -> None:
    """Leave without hanging: end what still runs, and let nothing raise on the way out."""
    with contextlib.suppress(Exception):  # the process ends anyway, and the driver cleans up behind it
        shutdown(force=True)
