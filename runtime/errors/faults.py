"""The fault tree: one class per family of public codes, every fault with its code, layer and cure.

Families are what a caller would handle in one way; the exact code stays on the fault. Where Python has a built-in
exception of the same meaning the family derives from it too, so `except MemoryError` and `except TimeoutError` work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

__all__ = [
    "CaptureError",
    "ContextError",
    "DeviceAborted",
    "DeviceFault",
    "DeviceUnavailable",
    "DriverError",
    "EventError",
    "FileError",
    "FirstError",
    "InternalError",
    "InvalidArgument",
    "InvalidHandle",
    "InvalidState",
    "KernelError",
    "KernelFault",
    "MemoryFault",
    "ModelError",
    "ModelFault",
    "NotSupported",
    "OutOfMemory",
    "Overflow",
    "PermissionDenied",
    "ProfilingError",
    "ResourceExhausted",
    "RuntimeFault",
    "SnapshotError",
    "StreamError",
    "Timeout",
]

_FIELDS: Final = (
    "message", "code", "name", "layer", "message_id", "params", "hal_call", "hal_code", "hal_name", "hint", "details",
)  # fmt: skip


class RuntimeFault(Exception):
    """Something the runtime could not do; made by `runtime.errors.fault`, which fills in what the tables know.

    Attributes:
        message: what happened, with the values.
        code, name: the public aclError number and name (acl_rt.h, rt_error_codes.h).
        layer: who answers: api, memory, core, launch, feature or driver.
        message_id, params: the user message (EExxxx, EHxxxx) this fault posts and its parameters; "" posts none.
        hal_call, hal_code, hal_name: the driver call below and its drvError_t; "", 0 and "" when none was involved.
        hint: what to do about it.
        details: further facts for tools, such as stream, task and call site.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        name: str,
        layer: str,
        message_id: str = "",
        params: Sequence[object] = (),
        hal_call: str = "",
        hal_code: int = 0,
        hal_name: str = "",
        hint: str = "",
        details: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.name = name
        self.layer = layer
        self.message_id = message_id
        self.params = tuple(params)
        self.hal_call = hal_call
        self.hal_code = hal_code
        self.hal_name = hal_name
        self.hint = hint
        self.details = dict(details)

    def __str__(self) -> str:
        below = f"; {self.hal_call} answered {self.hal_code} {self.hal_name}".rstrip() if self.hal_call else ""
        posted = f" {self.message_id}" if self.message_id else ""
        text = f"{self.message} [{self.code} {self.name}{posted}, {self.layer} layer{below}]"
        return f"{text}\n  cure: {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), {field: getattr(self, field) for field in _FIELDS}), self._extras()

    def _extras(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key not in _FIELDS}


def _restore(kind: type[RuntimeFault], fields: dict[str, Any]) -> RuntimeFault:
    return kind(fields.pop("message"), **fields)


class InvalidArgument(RuntimeFault, ValueError):
    """An argument is out of its range, null, misaligned, or contradicts another one."""


class InvalidHandle(InvalidArgument):
    """A handle is dead, or belongs to an object of another kind."""


class InvalidState(RuntimeFault):
    """A call came before or after the one it depends on."""


class FileError(RuntimeFault):
    """A file cannot be read, written or understood."""


class ContextError(RuntimeFault):
    """No current context, or an object of another one."""


class StreamError(RuntimeFault):
    """The stream cannot take this call: subscription, model binding, full or empty queue."""


class EventError(RuntimeFault):
    """An event has no usable time stamp, or has not happened yet."""


class ModelError(RuntimeFault):
    """A model or graph cannot be built, updated or executed as asked."""


class CaptureError(RuntimeFault):
    """Not allowed while, or only allowed while, a stream is captured into a graph."""


class KernelError(RuntimeFault, LookupError):
    """A kernel, operator or symbol is unknown, registered twice, or being unloaded."""


class ProfilingError(RuntimeFault):
    """Profiling or dump cannot be started, stopped or served."""


class SnapshotError(RuntimeFault):
    """Locking, backing up or restoring a process snapshot failed."""


class OutOfMemory(RuntimeFault, MemoryError):
    """No memory left on the device or on the host."""


class ResourceExhausted(RuntimeFault):
    """Streams, events, notifies, models or queue entries ran out, in this process or over all of them."""


class NotSupported(RuntimeFault, NotImplementedError):
    """This chip, driver or mode does not have the feature."""


class PermissionDenied(RuntimeFault):
    """The user or the container may not do this."""


class Timeout(RuntimeFault, TimeoutError):
    """A wait ended before what it waited for happened."""


class DeviceAborted(RuntimeFault):
    """Tasks were ended on request: abort of a task, stream, model or device."""


class Overflow(RuntimeFault, ArithmeticError):
    """A computation overflowed while overflow detection was on."""


class DeviceUnavailable(RuntimeFault):
    """There is no usable device: none found, not set up, or taken by another runtime."""


class DeviceFault(RuntimeFault):
    """The device did not do what it was asked."""


class KernelFault(DeviceFault):
    """A kernel failed or timed out on its core."""


class ModelFault(ModelError, DeviceFault):
    """A task of a graph or model failed while that was executed."""


class MemoryFault(DeviceFault):
    """Device memory failed: ECC, poison, or a fault at the far end of a link."""


class DriverError(RuntimeFault):
    """The driver, its messages or its sockets failed below the runtime."""


class InternalError(RuntimeFault):
    """An inner error without a public code of its own."""


class FirstError:
    """Keeps the first fault of a stream, context or device; later ones are chained to it and counted.

    Later faults are usually consequences, so the first is what every later call reports.
    """

    __slots__ = ("_lock", "first", "later")

    KEPT: Final = 16  # later faults worth showing; a broken stream can produce thousands

    def __init__(self) -> None:
        self._lock = Lock()
        self.first: RuntimeFault | None = None
        self.later: list[RuntimeFault] = []

    def keep(self, new: RuntimeFault) -> RuntimeFault:
        """Store a fault and return the one to report, which is the first."""
        with self._lock:
            if self.first is None:
                self.first = new
            elif new is not self.first:
                if new.__cause__ is None:
                    new.__cause__ = self.first
                if len(self.later) < self.KEPT:
                    self.later.append(new)
            return self.first

    def take(self) -> RuntimeFault | None:
        """Return the first fault and forget all of them."""
        with self._lock:
            first, self.first = self.first, None
            self.later = []
            return first
