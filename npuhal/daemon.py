"""The starter of device-side processes, libtsdclient.so: optional, because not every installation has it.

Before a device can be opened for kernels, its scheduler process must run; the driver's TSD client starts it over the
host-device channel. Signatures: tsd_client.h (uint32 results, 0 = done).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, Protocol

from npuhal.errors import NpuhalError
from npuhal.tuples import NamedTuple

LIBRARY = "libtsdclient.so"
"""File name of the client library (toolkit, lib64)."""

CAPABILITY_PID_QOS = 0
"""Capability type whose answer is the QoS that AICPU and DMA SQEs carry."""


class DaemonError(NpuhalError):
    """The daemon answered with an error: `call`, `code` (its own numbering), `device`."""

    def __init__(self, call: str, code: int, device: int) -> None:
        self.call = call
        self.code = code
        self.device = device
        super().__init__(
            f"{call} for device {device} answered {code}: the device-side scheduler did not start. Check that the "
            "tsdaemon service of the device runs (npu-smi info), and the log under $ASCEND_PROCESS_LOG_PATH."
        )


class DeviceDaemon(Protocol):
    """What the runtime needs of a starter; a fake brings its own."""

    def open(self, device: int, rank_size: int = 0, mode: int | None = None) -> None:
        """Start the device's processes; with a `mode`, in that device mode. DaemonError on failure."""

    def capability_qos(self, device: int) -> int:
        """Return the QoS value that AICPU and DMA tasks of this device carry."""

    def connection_status(self, device: int) -> int | None:
        """Return the host-device channel's drvHdcSessionStatus, or None if it cannot be asked."""

    def close(self, device: int) -> None:
        """Stop what `open` started. DaemonError on failure."""


class Absent(NamedTuple):
    """Why there is no daemon library: a state to report, not a failure."""

    reason: str


class TsdClient:
    """The daemon behind libtsdclient.so."""

    def __init__(self, library: Any, path: str = LIBRARY) -> None:
        self.path = path
        self._open = _bind(library, "TsdOpen", ctypes.c_uint32, ctypes.c_uint32)
        self._open_ex = _bind(library, "TsdOpenEx", ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
        self._close = _bind(library, "TsdClose", ctypes.c_uint32)
        self._capability = _bind(library, "TsdCapabilityGet", ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64)
        self._status = _bind(library, "GetHdcConctStatus", ctypes.c_uint32, ctypes.POINTER(ctypes.c_int32))
        self._reporter = _bind(library, "TsdSetMsprofReporterCallback", ctypes.c_void_p)

    def open(self, device: int, rank_size: int = 0, mode: int | None = None) -> None:
        """Start the device's processes: TsdOpen, or TsdOpenEx when a device mode is given."""
        if mode is None:
            self._call("TsdOpen", self._open, device, device, rank_size)
        else:
            self._call("TsdOpenEx", self._open_ex, device, device, rank_size, mode)

    def capability_qos(self, device: int) -> int:
        """Return the QoS of the device's tasks; 0 when this client is too old to be asked."""
        if self._capability is None:
            return 0
        value = ctypes.c_uint64(0)
        address = ctypes.addressof(value)
        self._call("TsdCapabilityGet", self._capability, device, device, CAPABILITY_PID_QOS, address)
        return value.value

    def connection_status(self, device: int) -> int | None:
        """Return the channel's drvHdcSessionStatus, or None if this client cannot say."""
        if self._status is None:
            return None
        value = ctypes.c_int32(0)
        self._call("GetHdcConctStatus", self._status, device, device, ctypes.byref(value))
        return value.value

    def set_profiling_reporter(self, callback: int) -> None:
        """Hand over the address of a profiling reporter; ignored by a client without that function."""
        if self._reporter is not None:
            self._call("TsdSetMsprofReporterCallback", self._reporter, -1, callback)

    def close(self, device: int) -> None:
        """Stop what `open` started."""
        self._call("TsdClose", self._close, device, device)

    def _call(self, name: str, function: Callable[..., int] | None, device: int, *arguments: Any) -> None:
        if function is None:
            raise NpuhalError(f"{self.path} does not export {name}: install the toolkit that belongs to this driver")
        code = function(*arguments)
        if code:
            raise DaemonError(name, code, device)


def find_daemon(load: Callable[[str], Any] = ctypes.CDLL, path: str | None = None) -> TsdClient | Absent:
    """Load libtsdclient.so, by `path` or through the dynamic loader; `Absent` says why it is not there."""
    name = path or LIBRARY
    try:
        library = load(name)
    except OSError as error:
        return Absent(str(error) or f"{name} cannot be loaded")
    return TsdClient(library, os.path.abspath(name) if "/" in name else name)


def _bind(library: Any, name: str, *argtypes: Any) -> Callable[..., int] | None:
    function = getattr(library, name, None)
    if function is None:
        return None
    function.argtypes = argtypes
    function.restype = ctypes.c_uint32
    bound: Callable[..., int] = function
    return bound
