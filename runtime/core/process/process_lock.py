"""The state of the process towards snapshots: running, locked, backed up; and who has to stand still meanwhile.

core_spec 16. While the process is locked, calls that create or send something wait where they enter, and the runtime's
own threads stop between two rounds. Calls that only ask, or wait for what is under way, go on.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from npuhal.changed import Changed
from runtime import errors


class ProcessState(enum.IntEnum):
    """Where the process stands (rt_dev.h, rtProcessState)."""

    RUNNING = 0
    LOCKED = 1
    BACKED_UP = 2


LOCK_LIMIT_S = 60.0
"""How long the runtime's own threads are waited for."""


class ProcessLock:
    """The one lock of a runtime. `open` is read first, without taking it."""

    __slots__ = ("_changed", "_lock", "_passing", "_rounds", "_worker", "owner", "state")

    def __init__(self) -> None:
        self.state = ProcessState.RUNNING
        self.owner: int | None = None
        """The thread that has locked the process."""
        self._worker: int | None = None
        """The thread that backs up or restores now: what it creates and sends is no call of a user."""
        self._passing: set[int] = set()
        """Threads whose present call goes on in a locked process."""
        self._rounds = 0
        """Rounds of the runtime's own threads that are on."""
        self._lock = threading.RLock()
        self._changed = Changed(self._lock)

    @property
    def open(self) -> bool:
        """Whether calls of users may go on."""
        return self.state is ProcessState.RUNNING

    def enter(self) -> None:
        """Return when the calling thread may create or send something.

        Raises:
            SnapshotError 507906: the thread has locked the process itself, and would wait for ever.
        """
        if self.state is ProcessState.RUNNING or self._worker == threading.get_ident():
            return
        if threading.get_ident() in self._passing:
            return
        with self._lock:
            if not self.open and self.owner == threading.get_ident():
                raise errors.fault(
                    "RT_ERROR_SNAPSHOT_LOCK_FAILED", "this thread has locked the process for a snapshot, and creates "
                    "or sends something before it has unlocked it", hint="unlock the process first",
                )
            self._changed.wait_for(lambda: self.open)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Around a call that a locked process does not hold up, whatever it sends."""
        thread = threading.get_ident()
        if self.open or thread in self._passing:
            yield
            return
        self._passing.add(thread)
        try:
            yield
        finally:
            self._passing.discard(thread)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Around one round of a thread of the runtime's own: it begins while the process runs, and a lock awaits it."""
        self.enter()
        with self._lock:
            self._changed.wait_for(lambda: self.open)
            self._rounds += 1
        try:
            yield
        finally:
            with self._lock:
                self._rounds -= 1
                self._changed.notify_all()

    def lock(self, timeout_s: float = LOCK_LIMIT_S) -> None:
        """Let nobody in any more, and wait until the runtime's own threads stand still.

        Raises:
            SnapshotError 507906: the process is not running. 507905: a thread does not stop; it goes on running.
        """
        deadline = time.monotonic() + timeout_s
        with self._lock:
            if self.state is not ProcessState.RUNNING:
                raise self.wrong("RT_ERROR_SNAPSHOT_LOCK_FAILED", "lock", ProcessState.RUNNING)
            self.state, self.owner = ProcessState.LOCKED, threading.get_ident()
            if not self._changed.wait_for(lambda: not self._rounds, max(deadline - time.monotonic(), 0.0)):
                self._run()
                raise errors.fault(
                    "RT_ERROR_SNAPSHOT_LOCK_TIMEOUT", f"{self._rounds} threads of the runtime are still at work "
                    f"after {timeout_s:g} s; the process goes on",
                    hint="look which callback or host function does not return",
                )

    def unlock(self) -> None:
        """Let everybody go on.

        Raises:
            SnapshotError 507907: the process is not locked.
        """
        with self._lock:
            if self.open or self._worker is not None:
                needed = ProcessState.LOCKED, ProcessState.BACKED_UP
                raise self.wrong("RT_ERROR_SNAPSHOT_UNLOCK_FAILED", "unlock", *needed)
            self._run()

    def force(self) -> None:
        """Let everybody go on whatever the state is: the process ends."""
        with self._lock:
            self._run()

    def _run(self) -> None:
        self.state, self.owner = ProcessState.RUNNING, None
        self._changed.notify_all()

    def begin(self, code: str, call: str, needed: ProcessState) -> None:
        """Claim the right to back up or restore, which one thread has at a time; the others wait for its end.

        Raises:
            SnapshotError with `code`: the process is in another state than `needed`.
        """
        with self._lock:
            self._changed.wait_for(lambda: self._worker is None)
            if self.state is not needed:
                raise self.wrong(code, call, needed)
            self._worker = threading.get_ident()

    def end(self, reached: ProcessState | None = None) -> None:
        """Give that right back; None: it failed, and the state stays."""
        with self._lock:
            self._worker = None
            if reached is not None and not self.open:
                self.state = reached
            self._changed.notify_all()

    def wrong(self, code: str, call: str, *needed: ProcessState) -> errors.RuntimeFault:
        """Return the fault for a step that the state does not allow."""
        return errors.fault(
            code, f"{call}: the process is {self.state.name}; it must be {' or '.join(state.name for state in needed)}",
            hint="the order is lock, backup, restore, unlock",
        )
