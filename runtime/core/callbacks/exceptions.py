"""Exception callbacks: called when a task fails, for the process and for single modules (core_spec 10.6, 18.4).

A callback runs in the thread that reads the failed task's completion entry, which is the recycle thread or one that
waits for a stream; it must not wait for the device itself. What it raises is logged and goes no further.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import Any

from npuhal.late import logger
from npuhal.records import dataclass
from runtime import errors

_LOG = logger(__name__)


class ExceptionKind(enum.Enum):
    """The failure that a callback gets."""

    TASK_FAILURE = "a task failed"
    TASK_TIMEOUT = "a stream has been waited for very long"
    STREAM_ID_FREE_FAILED = "the driver did not take a stream id back"
    DEVICE_DOWN = "the device is down"


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    """One event (aclrtExceptionInfo): what happened, where, and the public code that a synchronize would give."""

    kind: ExceptionKind
    device_id: int
    stream_id: int
    task_id: int
    thread_id: int
    error_code: int
    fault: errors.RuntimeFault | None = None
    kernel: Any = None
    """The kernel that failed, where it was one."""
    arguments: tuple[int, int] = (0, 0)
    """Address and size of the kernel's argument block on the device, where the runtime has put it there."""
    node: Any = None
    """The node that failed, where the task is one of a graph or model; stream and task are the node's then."""


Callback = Callable[[ExceptionInfo], object]


class ExceptionCallbacks:
    """The callbacks of one process, in order of registration."""

    __slots__ = ("_everyone", "_lock", "_modules")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._everyone: list[Callback] = []
        self._modules: dict[str, Callback] = {}

    def add(self, callback: Callback) -> None:
        """Call a function for every event; adding it again changes nothing."""
        with self._lock:
            if callback not in self._everyone:
                self._everyone.append(callback)

    def remove(self, callback: Callback) -> None:
        """No longer call a function; one that was never added is ignored."""
        with self._lock:
            if callback in self._everyone:
                self._everyone.remove(callback)

    def set_module(self, module: str, callback: Callback | None) -> None:
        """Call a function on behalf of a module, instead of the one it had; None takes it away."""
        with self._lock:
            if callback is None:
                self._modules.pop(module, None)
            else:
                self._modules[module] = callback

    def notify(self, info: ExceptionInfo) -> None:
        """Call everybody about one event."""
        with self._lock:
            callbacks = [*self._modules.values(), *self._everyone]
        for callback in callbacks:
            try:
                callback(info)
            except Exception:
                _LOG.exception("an exception callback raised (%s)", info.kind.value)
