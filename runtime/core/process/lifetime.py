"""The one runtime of a process: made on first use, refused in a child of fork, ended in order at exit (core_spec 1)."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING

from npuhal.exit_status import end_with
from npuhal.late import logger
from runtime import errors
from runtime.core.diagnostics import leaks
from runtime.errors.misuse import advise

if TYPE_CHECKING:
    from runtime.core.process.runtime import Runtime

_LOG = logger(__name__)

alive: weakref.WeakSet[Runtime] = weakref.WeakSet()
"""All runtimes of the process, for forks and for the exit."""
_numbering = threading.Lock()
_the_one: Runtime | None = None
_making = threading.Lock()
_leaving = threading.Event()
"""Set when the process has begun to exit."""


def get(kind: type[Runtime], url: str | None = None) -> Runtime:
    """Return the process's runtime, making one of `kind` on first use.

    A failure to make it is raised, and the next call tries again; threads that come meanwhile wait for the outcome.

    Args:
        url: which HAL to use; only the first call may choose, a later one must not ask for another.
    """
    global _the_one
    with _making:
        if _leaving.is_set():
            raise errors.fault(
                "ACL_ERROR_INTERNAL_ERROR", "the process is exiting: its runtime is gone",
                hint="end the use of devices before the interpreter exits",
            )
        if _the_one is None or _the_one.closed:
            _the_one = kind(url)
        elif url is not None and url != _the_one.url:
            raise errors.fault(
                "ACL_ERROR_REPEAT_INITIALIZE", f"this process already runs on {_the_one.url}; {url} was asked for",
                hint="call runtime.shutdown() first",
            )
        _the_one.check_process()
        return _the_one


def _numbers() -> set[int]:
    return {one.number for one in alive if not one.closed}


def enter(one: Runtime) -> int:
    """List a new runtime and return the smallest number that no other open one of the process has."""
    with _numbering:
        taken = _numbers()
        one.number = next(number for number in itertools.count() if number not in taken)
        alive.add(one)
    return one.number


def started() -> Runtime | None:
    """Return the process's runtime if it has one."""
    return _the_one


def exchange(one: Runtime | None) -> Runtime | None:
    """Make another runtime, or none, the process's own, and return the one before, which stays open: for test fixtures.

    Objects of the two do not mix; see `runtime.errors.arguments`.
    """
    global _the_one
    with _making:
        before, _the_one = _the_one, one
    return before


def shutdown(*, force: bool = False) -> None:
    """Close the process's runtime; the next use makes a new one.

    A runtime that cannot be closed, because tasks do not end and `force` was not given, stays the process's own.
    """
    global _the_one
    one = _the_one
    if one is not None:
        one.check_process()
        one.close(force=force)
        with _making:
            if _the_one is one:
                _the_one = None


@atexit.register
def _at_exit() -> None:
    """End at exit without hanging: report what is open, end what still runs, raise nothing."""
    _leaving.set()
    with contextlib.suppress(Exception):
        leaks.notify([one for one in alive if not one.closed and one.pid == os.getpid()])
    for one in list(alive):
        one.leaving = True
    for one in list(alive):
        try:
            one.close(force=True)
        except errors.RuntimeFault:
            pass  # the process ends anyway, and the driver cleans up behind it
        except Exception as problem:  # what stands below has something to say: a checker of the fake, for one
            with contextlib.suppress(Exception):
                print(f"{type(problem).__name__} at the exit: {problem}", file=sys.stderr)
            if status := getattr(problem, "exit_status", 0):
                end_with(status)


def _before_fork() -> None:
    """Warn where tasks are under way: the child shares the pages that they write."""
    for one in list(alive):
        if busy := [stream for device in one.open_devices() for stream in device.streams() if stream.ring.pending]:
            advise(_LOG, f"fork while {len(busy)} streams have work under way, {busy[0]!r} first: synchronize before")


def _in_child() -> None:
    """After fork: this process has none of the parent's devices, and none of the threads that may hold our locks."""
    global _making, _numbering
    _making, _numbering = threading.Lock(), threading.Lock()
    for one in list(alive):
        one.disown()


os.register_at_fork(before=_before_fork, after_in_child=_in_child)
