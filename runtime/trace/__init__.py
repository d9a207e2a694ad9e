"""Seeing what happened: launches by their phases, what the device did, and which phase is slow.

>>> with runtime.tracing("out.html") as trace:
...     kernel[8](x, y, stream=stream)
...     stream.synchronize()
>>> print(*trace.verdict(), sep="\\n")
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuhal.files import check_writable
from runtime import errors
from runtime.api.process import start
from runtime.core.process.runtime import Runtime
from runtime.errors.arguments import check_instance, whole
from runtime.launch.task_records import CAPACITY, Kept
from runtime.launch.watching import Watch
from runtime.memory.journal import Journal
from runtime.trace import chrome, verdict
from runtime.trace.device import Replay, machine_of, newest
from runtime.trace.memory import MemoryLane
from runtime.trace.model import Task, Trace, collect

if TYPE_CHECKING:
    from npuhal.api import HalApi

__all__ = ["Tracing", "tracing"]


class Tracing:
    """A trace in the making: a context manager, and afterwards what was seen.

    Several may be made at a time, in any order and by any thread: each sees everything from its begin to its end. Used
    again it is made anew.
    """

    def __init__(self, path: str | Path | None = None, *, runtime: Runtime | None = None, capacity: int = CAPACITY,
                 memory: bool = False) -> None:
        """Prepare; nothing is watched before `with`.

        Args:
            path: where the trace goes: `.html` is a page that needs no network, anything else Perfetto's JSON.
            runtime: whose streams are watched; the process's runtime by default.
            capacity: how many tasks are kept, the newest.
            memory: also note each block of memory that comes and goes, with owner and call site.

        Raises:
            InvalidArgument 107000: a path that cannot be written, or a capacity below 1.
        """
        if path is not None:
            check_instance("tracing", "path", path, (str, Path), "pass the name of a file, or leave it out")
            _check_writable(Path(path))
        if runtime is not None:
            check_instance("tracing", "runtime", runtime, Runtime, "pass what runtime.start() returned")
        self.path = None if path is None else Path(path)
        self._runtime = runtime
        self._capacity = whole("tracing", "capacity", capacity)
        if self._capacity < 1:
            raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"tracing: capacity is {capacity}; it must be at least 1",
                               hint="leave it out for the usual number of tasks")
        self._kept = Kept(self._capacity)
        self._journal = Journal() if memory else None
        self._watch: Watch | None = None
        self._watching = False
        self._began_ns = 0
        self._last: Any = None
        self._made: Trace | None = None

    def __enter__(self) -> Tracing:
        if self._watching:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", "tracing: this trace is being made already",
                hint="make another one with runtime.tracing(...); several can be made at a time",
            )
        if self.path is not None:
            _check_writable(self.path)
        runtime = self._runtime or start()
        self._kept, self._made = Kept(self._capacity), None
        self._watch = Watch(runtime, self._kept)
        self._watch.start()
        self._watching = True
        self._last = newest(machine_of(runtime))
        self._began_ns = time.perf_counter_ns()
        if self._journal is not None:
            self._journal.changes.clear()
            runtime.memory_watchers.begin(self._journal)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._watch is not None
        self._watch.stop()
        if self._journal is not None:
            self._watch.runtime.memory_watchers.end(self._journal)
        self._watching = False
        self._made = self._collect(self._watch)
        if self.path is not None:
            self.write(self.path)

    def __repr__(self) -> str:
        if self._made is not None:
            return repr(self._made).replace("<Trace", "<Tracing", 1)
        state = "being made" if self._watching else "not begun"
        return f"<Tracing {state}{f', for {str(self.path)!r}' if self.path else ''}>"

    def _collect(self, watch: Watch) -> Trace:
        lanes, numbers = watch.lanes()
        changes = () if self._journal is None else tuple(self._journal.changes)
        return collect(watch.runtime, lanes, numbers, self._kept, self._began_ns, self._last, changes,
                       watch.threads())

    @property
    def result(self) -> Trace:
        """What was seen: all of it after the `with` block, what there is so far within."""
        if self._made is not None:
            return self._made
        if self._watch is None:
            raise ValueError("tracing has not begun: use `with runtime.tracing(path) as trace:`")
        return self._collect(self._watch)

    @property
    def hal(self) -> HalApi | None:
        """The backend of the runtime that is watched; None before that began."""
        return None if self._watch is None else self._watch.runtime.hal

    @property
    def launches(self) -> list[Task]:
        """The kernel launches; what a graph has kept is none."""
        return self.result.launches

    @property
    def replays(self) -> tuple[Replay, ...]:
        """What graphs have executed; `graph.times` takes it, or the trace itself."""
        return self.result.replays

    @property
    def memory(self) -> tuple[MemoryLane, ...]:
        """What became of each device's memory; empty unless the trace was made with `memory=True`."""
        return self.result.memory

    def table(self) -> list[verdict.Row]:
        """Return what each phase took over all launches."""
        return verdict.table(self.result)

    def verdict(self) -> list[str]:
        """Return which phase is slow, and what to do."""
        return verdict.verdict(self.result)

    def write(self, path: str | Path) -> None:
        """Write the trace: a page if the name ends in .html, else the JSON of Perfetto and chrome://tracing."""
        target = Path(path)
        if target.suffix.lower() in (".html", ".htm"):
            from runtime.trace import page

            page.write(self.result, target)
        else:
            chrome.write(self.result, target)


def _check_writable(path: Path) -> None:
    """Refuse a file that could not be written in the end, before anything is traced."""
    try:
        check_writable(path)
    except OSError as problem:
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID",
                           f"tracing: path {str(path)!r} cannot be written: {problem.strerror}",
                           hint="name a file in a folder that exists and can be written") from problem


def tracing(path: str | Path | None = None, *, runtime: Runtime | None = None, capacity: int = CAPACITY,
            memory: bool = False) -> Tracing:
    """Return a context manager: what goes into streams inside is recorded, and written to `path` in the end.

    Launchers that were bound before stay as they are and are not seen; the verdict says so. Args as of `Tracing`.
    """
    return Tracing(path, runtime=runtime, capacity=capacity, memory=memory)
