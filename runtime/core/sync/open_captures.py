"""Which threads must not wait for the device while streams of a context are captured (core_spec 14.4)."""

from __future__ import annotations

import enum
import threading
from collections import Counter
from typing import Protocol


class CaptureMode(enum.IntEnum):
    """Whom a capture forbids to wait for the device (rtStreamCaptureMode); the smaller, the stricter."""

    GLOBAL = 0
    """Every thread of the context that has not asked for less."""
    THREAD_LOCAL = 1
    """The thread that has begun the capture."""
    RELAXED = 2
    """Nobody."""


class HasCaptureMode(Protocol):
    """What each thread has set, as far as it matters here (`process.current.CurrentState`)."""

    @property
    def capture_mode(self) -> CaptureMode:
        """How far the calling thread lets captures of others hinder it."""


class OpenCaptures:
    """The captures that are open in one context, by mode and by the thread that began them."""

    __slots__ = ("_all", "_current", "_lock", "_threads")

    def __init__(self, current: HasCaptureMode) -> None:
        self._current = current
        self._lock = threading.Lock()
        self._all: Counter[CaptureMode] = Counter()
        self._threads: dict[int, Counter[CaptureMode]] = {}

    def enter(self, mode: CaptureMode) -> int:
        """Count a capture that begins; returns the thread, which `leave` needs."""
        thread = threading.get_ident()
        with self._lock:
            self._all[mode] += 1
            self._threads.setdefault(thread, Counter())[mode] += 1
        return thread

    def leave(self, mode: CaptureMode, thread: int) -> None:
        """Count a capture that ends."""
        with self._lock:
            own = self._threads[thread]
            self._all[mode] -= 1
            own[mode] -= 1
            if not any(own.values()):
                del self._threads[thread]

    def forbid_waiting(self) -> bool:
        """Return whether the calling thread must not wait now."""
        anywhere = _strictest(self._all)
        exchange = self._current.capture_mode
        if anywhere is None or exchange is CaptureMode.RELAXED:
            return False
        own = _strictest(self._threads.get(threading.get_ident(), {}))
        if exchange is CaptureMode.GLOBAL:
            return anywhere is CaptureMode.GLOBAL or own is CaptureMode.THREAD_LOCAL
        return own in (CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL)

    def cure(self) -> str:
        """Say which mode would let the calling thread wait; asked where `__call__` has said that it must not."""
        with self._lock:
            mine = _strictest(self._threads.get(threading.get_ident(), {}))
            others = any(modes[CaptureMode.GLOBAL] for thread, modes in self._threads.items()
                         if thread != threading.get_ident())
        ways = [] if mine in (None, CaptureMode.RELAXED) else ["begin this thread's capture in relaxed mode"]
        if others and self._current.capture_mode is CaptureMode.GLOBAL:
            ways.append("begin the other thread's capture in thread-local or relaxed mode")
        exchange = "let this thread exchange its own mode for RELAXED (aclmdlRICaptureThreadExchangeMode) for the call"
        return "; or ".join([*filter(None, [" and ".join(ways)]), exchange])

    def describe(self) -> str:
        """Return who captures, and how: for messages to those who must not wait."""
        with self._lock:
            found = [
                f"thread {thread} in {mode.name} mode" for thread, modes in self._threads.items()
                for mode in CaptureMode if modes[mode]
            ]
        return " and ".join(found) or "nobody"


def _strictest(counts: Counter[CaptureMode] | dict[CaptureMode, int]) -> CaptureMode | None:
    return next((mode for mode in CaptureMode if counts.get(mode)), None)
