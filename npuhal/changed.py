"""A condition variable, and a start of threads, that Ctrl-C, or the exception of a signal handler, leaves whole.

`threading.Condition` is written in Python: an interrupt at the start of its `__exit__` leaves the lock held for ever,
and one behind the release of the lock in its `wait` lets the lock be released twice. Here the lock is taken by `with`
on the lock itself, which is C, and taken back after a wait however that ends. `Thread.start` waits on such a condition.

CPython 3.12 and 3.13 forget the `finally` and `with` around a loop where an interrupt comes at a conditional jump back
(the end of `while`, an `if` that ends the body of `for`). What must be tidied up therefore has its loops in functions
of their own.
"""

from __future__ import annotations

import threading
import time
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from operator import methodcaller
from queue import SimpleQueue
from typing import Any
from weakref import ReferenceType

_RELEASE, _LET_GO = methodcaller("release"), methodcaller("_release_save")


class Changed:
    """Tells who waits that something has changed; everything is called with the lock held."""

    def __init__(self, lock: Any) -> None:
        """Args:
        lock: a `threading.RLock`.
        """
        self._lock = lock
        self.waiting: list[Any] = []
        """Who waits; one that notifies often may look whether there is anybody."""

    def wait(self, timeout: float | None = None) -> bool:
        """Let the lock go until something changes, at most `timeout` seconds; returns whether something has."""
        waiter, held = threading.Lock(), deque[Any]()
        waiter.acquire()
        let_go = map(_LET_GO, (self._lock,))
        try:
            self.waiting.append(waiter)
            held.extend(let_go)  # released and noted in one call: an interrupt comes behind both
            return waiter.acquire(True, -1 if timeout is None else max(timeout, 0))
        finally:
            if held:
                self._lock._acquire_restore(held[0])
            if waiter in self.waiting:
                self.waiting.remove(waiter)

    def wait_for(self, done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `done`, at most `timeout` seconds; returns whether it is."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not done():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            self.wait(left)
        return True

    def notify_all(self) -> None:
        """Let all go on who wait now."""
        releases = map(_RELEASE, self.waiting)
        self.waiting = []
        deque(releases, 0)  # all of them in one call: an interrupt lets nobody wait for ever


def try_lock(lock: Any) -> Iterator[bool]:
    """Return what to iterate over to try a lock: `for taken in try_lock(lock): ...`, once, with whether it was free.

    The step of a loop is no call: an interrupt cannot come between the lock and the `try` that gives it back.
    """
    return map(lock.acquire, (False,))


def start_thread(work: Callable[..., object], name: str, *arguments: Any) -> threading.Thread:
    """Start a daemon thread, wherever an interrupt comes: it runs to the end of its work then, or not at all.

    An interrupt in `Thread.start` leaves a thread that stands before its work, or one that can be neither started nor
    joined, or comes out as another exception. So another thread calls that, which interrupts do not reach. Who keeps
    the thread does so before its work may depend on it: an interrupt can come between the return and that.

    Before CPython 3.12 `PyThreadState_SetAsyncExc` finds a thread that begins under the number of the one that starts
    it. An exception that was meant for that one ends the other thread here, and is lost; another one takes its place.

    Raises:
        RuntimeError: the system starts no more threads.
    """
    thread = threading.Thread(target=work, name=name, args=arguments, daemon=True)
    refused: list[BaseException] = []
    while thread.ident is None and not refused:
        ended, _watched = _start_elsewhere(thread, refused)
        ended.get()
    if refused:
        raise refused[0]
    return thread


class _Held:
    """Goes when the thread ends that alone holds it, however it ends."""

    __slots__ = ("__weakref__",)


def _start_elsewhere(
    thread: threading.Thread, refused: list[BaseException]
) -> tuple[SimpleQueue[ReferenceType[_Held]], ReferenceType[_Held]]:
    """Have another thread start one; returns what has an entry when the other one has ended, and what sees to that."""
    ended: SimpleQueue[ReferenceType[_Held]] = SimpleQueue()
    held = _Held()
    watched = ReferenceType(held, ended.put)  # in C: an interrupt in a Python function would lose the entry
    start_new_thread(_start, (thread, refused, held))
    return ended, watched


def _start(thread: threading.Thread, refused: list[BaseException], _held: _Held) -> None:
    try:
        thread.start()
    except BaseException as error:
        refused.append(error.with_traceback(None))  # which would hold what this thread is to let go
