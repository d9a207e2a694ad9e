"""Notifies: a reusable flag on the device that one stream records and another waits for (core_spec 10.7.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import NotifyRecord, NotifyWait
from runtime import errors
from runtime.core.refs import dead_handle
from runtime.driver import ids as id_kinds

if TYPE_CHECKING:
    from runtime.core.device import Device
    from runtime.core.stream import Stream


class Notify:
    """A flag with a device id of its own; a wait clears it. Made by `device.create_notify()`."""

    __slots__ = ("__weakref__", "closed", "device", "handle", "notify_id")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.closed = False
        device.driver.info.physical_id()
        self.notify_id = device.ids.alloc(id_kinds.NOTIFY)
        self.handle = device.runtime.handles.add(self)

    def record(self, stream: Stream) -> None:
        """Set the flag when the stream gets there."""
        self._check(stream)
        stream.submit(NotifyRecord(notify_id=self.notify_id), owner="notify record")

    def wait(self, stream: Stream, timeout_s: int = 0) -> None:
        """Let the stream wait for the flag and clear it; `timeout_s` 0 waits for ever."""
        self._check(stream)
        if timeout_s < 0:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"Notify.wait: timeout_s is {timeout_s}; it must not be negative",
                hint="0 waits for ever",
            )
        stream.submit(NotifyWait(notify_id=self.notify_id, timeout_s=timeout_s), owner="notify wait")

    def close(self) -> None:
        """Give the id back."""
        if not self.closed:
            self.closed = True
            self.device.runtime.handles.remove(self.handle)
            self.device.ids.free(id_kinds.NOTIFY, self.notify_id)

    def __enter__(self) -> Notify:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, stream: Stream) -> None:
        if self.closed:
            raise dead_handle("notify", f"notify {self.notify_id}")
        stream.check_open()

    def __repr__(self) -> str:
        return f"<notify {self.notify_id} of device {self.device.user_id}{', closed' if self.closed else ''}>"
