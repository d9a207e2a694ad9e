"""What a program says of itself: moments and stretches with a name, seen by whoever traces it, free otherwise."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

from npuhal.tuples import NamedTuple
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.ports import RuntimePort, Tracer


class _Begun(NamedTuple):
    """A stretch under way; `tracer` watched when it began."""

    text: str
    began_ns: int
    tracer: Tracer | None


class _Here(threading.local):
    """The stretches of a thread, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[_Begun] = []


class Annotations:
    """Marks, stretches that nest within a thread, and stretches that end in any order and any thread.

    A stretch is shown when the trace that was on at its beginning still is at its end.
    """

    def __init__(self, runtime: RuntimePort) -> None:
        self._runtime = runtime
        self._here = _Here()
        self._ranges: dict[int, _Begun] = {}
        self._numbers = itertools.count(1)
        self.steps = itertools.count(1)
        """Numbers of the program's iterations."""

    def mark(self, text: str) -> None:
        """Note a moment."""
        self._note(self._begin(text))

    def push(self, text: str) -> None:
        """Begin a stretch within the thread's innermost one."""
        self._here.stack.append(self._begin(text))

    def pop(self) -> None:
        """End the thread's innermost stretch.

        Raises:
            InvalidArgument 100000: the thread has none.
        """
        if not self._here.stack:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", "no stretch has begun in this thread", hint="push one before each pop"
            )
        self._note(self._here.stack.pop())

    def begin(self, text: str) -> int:
        """Begin a stretch that any thread may end; return its number."""
        number = next(self._numbers)
        self._ranges[number] = self._begin(text)
        return number

    def end(self, number: int) -> None:
        """End a stretch by its number.

        Raises:
            InvalidArgument 100000: there is no such stretch, or it has ended.
        """
        begun = self._ranges.pop(number, None)
        if begun is None:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"there is no stretch {number}", hint="end each number once that was begun"
            )
        self._note(begun)

    def _begin(self, text: str) -> _Begun:
        return _Begun(text, time.perf_counter_ns(), self._runtime.tracer)

    def _note(self, begun: _Begun) -> None:
        tracer = self._runtime.tracer
        if tracer is not None and tracer is begun.tracer:
            tracer.annotated(begun.text, begun.began_ns)
