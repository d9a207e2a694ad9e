"""One process as the C API sees it: initialised or not, on which machine, with which errors per thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import chips
import npuhal.errors
from runtime import errors
from runtime.api.process import Runtime
from runtime.capi.aclrt.entry import find
from runtime.errors.reports import ThreadReports
from runtime.feature.messages import MessageQueue


class LastTask(threading.local):
    """Where the last launch or copy of each thread went: handles of its stream and of the model that keeps it, or 0."""

    stream = model = 0


class Acl:
    """The state behind the C functions. A process has one; tools make one per scenario."""

    def __init__(self, url: str | None = None, make: Callable[[str | None], Runtime] = Runtime) -> None:
        """Start uninitialised; the machine behind `url` is opened by the first call that needs it."""
        self._url, self._make = url, make
        self._runtime: Runtime | None = None
        self._lock = threading.Lock()
        self.reports = ThreadReports()
        self.initialised = False
        self.init_calls = 0
        """Successful and repeated aclInit calls since the last aclFinalize: what aclFinalizeReference counts down."""
        self.config_path = ""
        """The file of the first aclInit."""
        self.last = LastTask()
        self.queues: dict[tuple[int, int], MessageQueue] = {}
        """Message queues by device and number."""
        self.finalised = False
        """Whether an initialised process was finalised."""

    @property
    def runtime(self) -> Runtime:
        """The runtime, opened on first use."""
        with self._lock:
            if self._runtime is None:
                self._runtime = self._make(self._url)
            return self._runtime

    @property
    def started(self) -> bool:
        """Whether the machine has been opened."""
        return self._runtime is not None

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a C function by name and return its code, or what else it returns; messages go to the thread's reports.

        Raises:
            LookupError: there is no such function here.
            TypeError: an argument that the function does not have.
        """
        entry = find(name)
        if entry is None:
            raise LookupError(f"the C API here has no function {name!r}")
        unknown = arguments.keys() - set(entry.parameters)
        if unknown:
            raise TypeError(f"{name} has no parameter {', '.join(sorted(unknown))}; it takes {entry.parameters}")
        try:
            if entry.waits_for_snapshot and self._runtime is not None:
                self._runtime.wait_unlocked()
            answer = entry.function(self, **{key: arguments.get(key) for key in entry.parameters})
        except errors.RuntimeFault as fault:
            return self._failed(fault)
        except npuhal.errors.LibraryNotFound as missing:
            text = f"{name}: driver library not found: {missing}"
            return self._failed(errors.fault("ACL_ERROR_RT_NO_DEVICE", text, ee="EE1001", params=(text,)))
        except (chips.UnknownChip, npuhal.errors.LoadError) as unusable:  # the machine, at its first use
            return self._failed(errors.fault("ACL_ERROR_INTERNAL_ERROR", f"{name}: {unusable}"))
        return answer if entry.answers else 0

    def _failed(self, fault: errors.RuntimeFault) -> int:
        self.reports.post(fault)
        return fault.code

    def close(self) -> None:
        """Leave the machine; running tasks are ended."""
        if self._runtime is not None:
            self._runtime.close(force=True)
