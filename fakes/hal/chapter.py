"""What the chapters of HAL functions share.

A chapter is a class whose public methods are HAL functions under their C names. They get plain ints for scalars, void
and char pointers, and the pointed-to ctypes instance (None for NULL) for pointers to scalars and structs; they run
under the machine's lock and return what the C function returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine


class Chapter:
    """Base of the chapters."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def device(self, devid: int) -> Device | None:
        """Return a card by its logic id, or None."""
        devices = self.machine.devices
        return devices[devid] if 0 <= devid < len(devices) else None

    def physical_card(self, number: int) -> Device | None:
        """Return a card by its physical id, or None."""
        return next((device for device in self.machine.devices if device.identity.physical == number), None)

    def fire(self, device: Device, kind: str, number: int, value: int = 1) -> None:
        """Set an event, notify or count notify of a card from the host, or clear it (`value` 0)."""
        signal = device.signal(device.signals[kind], number)
        signal.value = value
        if self.machine.checks is not None:
            self.machine.checks.host_signalled((kind.replace("cnt_", "count "), device.index, number), signal, value)
        if value:
            device.wake()

    def schedulers(self, device: Device) -> int:
        """Return how many task schedulers a card has."""
        return int(device.chip.properties["tsCount"])

    def wait_for(self, timeout: int, done: Callable[[], bool]) -> bool:
        """Wait until `done`, at most `timeout` ms (-1: for ever); notified by anything that changes the machine."""
        deadline = None if timeout < 0 else time.monotonic() + timeout / 1000
        while not done():
            left = None if deadline is None else deadline - time.monotonic()
            if self.machine.closing or (left is not None and left <= 0):
                return False
            self.machine.changed.wait(left)
        return True

    def await_reports(
        self, device: Device, timeout: int, poll: Callable[[], object], take: Callable[[], list[bytes]],
        gone: Callable[[], bool], ended: int,
    ) -> list[bytes] | int:
        """Wait for reports of a card in slices that end when something changed: another thread may bring one.

        Args:
            device: the card.
            timeout: milliseconds; 0: look once; negative: for ever.
            poll: lets the card work.
            take: takes what is there.
            gone: whether nothing can come any more.
            ended: what is answered then.

        Returns:
            The reports, none if nothing was there at `timeout` 0; or the code of a wait that failed.
        """
        deadline = None if timeout < 0 else time.monotonic() + timeout / 1000
        while True:
            poll()
            reports = take()
            if reports or timeout == 0:
                return reports
            if gone():
                return ended
            if not device.works:
                return c.DRV_ERROR_BUS_DOWN
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return c.DRV_ERROR_WAIT_TIMEOUT
            began = time.monotonic()
            self.machine.changed.wait(left)
            device.pass_time(int((time.monotonic() - began) * 1e9))
