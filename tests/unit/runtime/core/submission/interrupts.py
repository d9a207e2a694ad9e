"""Ctrl-C at every place where CPython can deliver it.

A signal handler runs, and raises KeyboardInterrupt, when the interpreter looks for signals: at the start of a Python
function, after a call, and at a backward jump (CPython 3.11 and newer; 3.10 looks more often, for a few instructions).
`Interrupter` raises there by tracing opcodes, so that a test can try all of these places one after the other.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import runtime

_RUNTIME = Path(runtime.__file__).parent
_CHECKS = frozenset({"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"})


class Interrupter:
    """Runs a function and interrupts it at the n-th place inside modules whose path ends with one of the given."""

    def __init__(self, *modules: str) -> None:
        missing = [end for end in modules if not any(_RUNTIME.rglob(end))]
        assert not missing, f"no such module: {missing}"
        self._modules = modules
        self._left = 0
        self._previous: dict[FrameType, str] = {}

    def run(self, function: Callable[[], Any], place: int) -> bool:
        """Call a function; returns whether it was interrupted (False: it has no such place)."""
        self._left = place + 1
        self._previous.clear()
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            function()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
            self._previous.clear()
        return False

    def _enter(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event != "call" or not _module(frame.f_code.co_filename).endswith(self._modules):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            previous = self._previous.get(frame, "")
            self._previous[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if previous in _CHECKS:
                self._left -= 1
                if self._left == 0:
                    raise KeyboardInterrupt
        return self._step


def _module(filename: str) -> str:
    """Return the path of a module; that of the module which has written a function, for one that is in no file."""
    return filename.strip("<>").partition(": ")[0]
