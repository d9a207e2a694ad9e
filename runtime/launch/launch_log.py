"""Each launch as lines of the log, with the time of every phase: what ASCEND_GLOBAL_LOG_LEVEL=1 (or 0) selects."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING

from npuhal.late import logger
from runtime.launch.task_records import (
    ADDRESS,
    CAPTURED,
    PHASES,
    REST,
    WAIT,
    Lane,
    Report,
    Sent,
    Span,
    Stamps,
    Waited,
)
from runtime.launch.watching import Watch

if TYPE_CHECKING:
    from runtime.core.process.runtime import Runtime

_LOG = logger("runtime.launch")
_NS = 1000


class LaunchLog:
    """A tracing sink that writes at once: phases 1 to 6 when a launch returns, phase 7 when a wait has seen it done."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._open: dict[int, deque[tuple[int, int]]] = {}
        """By lane: (number, position behind it in the ring) of launches that no wait has seen done."""
        self._lock = threading.Lock()

    def sent(self, stamps: Stamps) -> None:
        """Write a launch, or another task, with the phases that have passed."""
        one = Sent(stamps)
        phases, number = one.phases(), next(self._numbers)
        times = [f"{index + 1} {PHASES[index]} {phases[index] / _NS:.1f}" for index in range(ADDRESS + 1, WAIT)]
        if one.is_launch:
            times.insert(0, f"1 {PHASES[ADDRESS]} prepared")
        _LOG.info(
            "%s %d: %s on %s, %s, submitted at %s: us by phase: %s, then %.1f",
            "launch" if one.is_launch else "task", number, one.label, _where(one.lane), _left(one), one.site,
            ", ".join(times), phases[REST] / _NS,
        )
        if one.is_launch and one.position >= 0:
            with self._lock:
                self._open.setdefault(id(one.lane), deque(maxlen=one.lane.stream.ring.depth)).append(
                    (number, one.position + 1)
                )

    def waited(self, record: Waited) -> None:
        """Write what a wait has seen done."""
        with self._lock:
            done = _taken(self._open.get(id(record.lane), deque()), record.reclaimed)
        spent = (record.end_ns - record.began_ns) / _NS
        what = f"launches {done[0]} to {done[-1]} are done" if done else "no launch was open"
        where = _where(record.lane)
        _LOG.info("phase 7 %s: waited %.1f us for the %s, %s: %s", PHASES[WAIT], spent, record.what, where, what)

    def span(self, record: Span) -> None:
        """Write work of the host."""
        facts = ", ".join(f"{name} {value}" for name, value in record.facts.items())
        _LOG.info("%s: %.1f us%s", record.name, (record.end_ns - record.began_ns) / _NS, f" ({facts})" if facts else "")

    def report(self, record: Report) -> None:
        """Write that a completion entry came."""
        _LOG.debug("completion entry on %s, device time %d", _where(record.lane), record.ticks)


def _taken(waiting: deque[tuple[int, int]], reclaimed: int) -> list[int]:
    """Take out the launches that are done."""
    done = []
    while waiting and waiting[0][1] <= reclaimed:
        done.append(waiting.popleft()[0])
    return done


def _left(one: Sent) -> str:
    """Say where a task went, and which way."""
    if one.position >= 0:
        return f"position {one.position}, {one.lane.way}"
    return "kept by a graph" if one.position == CAPTURED else "not sent"


def _where(lane: Lane) -> str:
    return f"device {lane.user_id} stream {lane.stream_id}"


def log_launches(runtime: Runtime) -> None:
    """Have all launches of a runtime logged from now on."""
    Watch(runtime, LaunchLog()).start()
