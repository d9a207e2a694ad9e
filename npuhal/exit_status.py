"""The end of a process: what still has to be said when all runtimes are closed, and the status that it exits with."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from functools import partial

__all__ = ["call_at_last", "end_with"]

_last_calls: list[Callable[[], None]] = []


def call_at_last(function: Callable[[], None]) -> Callable[[], None]:
    """Call a function at the exit, behind the handlers of those who have imported this module before they set theirs.
    """
    _last_calls.append(function)
    return function


@atexit.register
def _call() -> None:
    for function in _last_calls:
        function()


class _LastWord:
    """Ends the process with a status when the interpreter clears its modules: every exit handler has run by then,
    and the standard streams are flushed. An exit handler itself cannot change the status in any other way.
    """

    def __init__(self, status: int) -> None:
        self._exit = partial(os._exit, status)

    def __del__(self) -> None:
        self._exit()


_last_word: _LastWord | None = None


def end_with(status: int) -> None:
    """Let the process exit with a status (1 to 255), whatever the program chooses; the first call counts.

    A process that ends by an uncaught exception keeps its own status 1: the traceback tells more.
    """
    global _last_word
    if _last_word is None and getattr(sys, "last_type", None) is None:
        _last_word = _LastWord(status)
