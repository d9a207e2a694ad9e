"""The starter of device-side processes (libtsdclient) of a fake machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.daemon import DaemonError

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

DAEMON_CALLS = ("TsdOpen", "TsdOpenEx", "TsdClose", "TsdCapabilityGet", "GetHdcConctStatus")
"""Functions of libtsdclient.so that a fault rule can name."""


class FakeDaemon:
    """Opens and closes device-side processes; answers the QoS that the card's identity has.

    A fault rule for a call of the library's name makes it fail.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def open(self, device: int, rank_size: int = 0, mode: int | None = None) -> None:
        """Start the device's processes."""
        self._strike("TsdOpen" if mode is None else "TsdOpenEx", device)
        self._machine.devices[device].daemon_open = True

    def capability_qos(self, device: int) -> int:
        """Return the QoS value that AICPU and DMA tasks of this device carry."""
        self._strike("TsdCapabilityGet", device)
        return self._machine.devices[device].identity.qos

    def connection_status(self, device: int) -> int | None:
        """Return the state of the host-device channel: connected."""
        from npuhal import constants

        self._strike("GetHdcConctStatus", device)
        return constants.HDC_SESSION_STATUS_CONNECT

    def close(self, device: int) -> None:
        """Stop what `open` started."""
        self._strike("TsdClose", device)
        self._machine.devices[device].daemon_open = False

    def _strike(self, name: str, device: int) -> None:
        faults = self._machine.faults
        if faults.calls and (code := faults.code_for(name)) is not None:
            raise DaemonError(name, code, device)
