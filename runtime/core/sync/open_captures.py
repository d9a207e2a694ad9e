"""Which threads must not wait for the device while streams of a context are captured (core_spec 14.4)."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
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
    """The captures that are open in one context, with their modes and the threads that began them."""

    __slots__ = ("_current", "_open")

    def __init__(self, current: HasCaptureMode) -> None:
        self._current = current
        self._open: dict[object, tuple[CaptureMode, int]] = {}

    def enter(self, capture: object, mode: CaptureMode) -> int:
        """Note a capture that begins; returns the thread that begins it."""
        thread = threading.get_ident()
        self._open[capture] = mode, thread
        return thread

    def leave(self, capture: object) -> None:
        """Forget a capture that ends; twice does nothing."""
        self._open.pop(capture, None)

    def _modes(self, threads: Callable[[int], bool]) -> set[CaptureMode]:
        """Return the modes of captures that were begun by certain threads."""
        return {mode for mode, thread in list(self._open.values()) if threads(thread)}

    def forbid_waiting(self) -> bool:
        """Return whether the calling thread must not wait now."""
        exchange = self._current.capture_mode
        if not self._open or exchange is CaptureMode.RELAXED:
            return False
        anywhere, own = min(self._modes(lambda _: True)), self._own()
        if exchange is CaptureMode.GLOBAL:
            return anywhere is CaptureMode.GLOBAL or own is CaptureMode.THREAD_LOCAL
        return own in (CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL)

    def cure(self) -> str:
        """Say which mode would let the calling thread wait; asked where `__call__` has said that it must not."""
        me, mine = threading.get_ident(), self._own()
        others = CaptureMode.GLOBAL in self._modes(lambda thread: thread != me)
        ways = [] if mine in (None, CaptureMode.RELAXED) else ["begin this thread's capture in relaxed mode"]
        if others and self._current.capture_mode is CaptureMode.GLOBAL:
            ways.append("begin the other thread's capture in thread-local or relaxed mode")
        exchange = "let this thread exchange its own mode for RELAXED (aclmdlRICaptureThreadExchangeMode) for the call"
        return "; or ".join([*filter(None, [" and ".join(ways)]), exchange])

    def describe(self) -> str:
        """Return who captures, and how: for messages to those who must not wait."""
        found = dict.fromkeys(f"thread {thread} in {mode.name} mode" for mode, thread in list(self._open.values()))
        return " and ".join(found) or "nobody"

    def _own(self) -> CaptureMode | None:
        """Return the strictest mode of the calling thread's captures, None where it has none."""
        return min(self._modes(threading.get_ident().__eq__), default=None)
