"""What the chapters of HAL functions share.

A chapter is a class whose public methods are HAL functions under their C names. They get plain ints for scalars, void
and char pointers, and the pointed-to ctypes instance (None for NULL) for pointers to scalars and structs; they run
under the machine's lock and return what the C function returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.machine import Machine


class Chapter:
    """Base of the chapters."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def device(self, devid: int) -> Device | None:
        """Return a card by its logic id, or None."""
        devices = self.machine.devices
        return devices[devid] if 0 <= devid < len(devices) else None
