"""Ctrl-C at every place where CPython can deliver it, on every supported Python.

A signal handler runs, and what it raises is raised, where the interpreter looks for signals: at the start of a Python
function, after a call, and at a backward jump. `Interrupter` raises at the n-th of these places that a call comes to,
so that a test can try all of them, or some, one after the other. From CPython 3.12 on it listens to instructions by
`sys.monitoring`, before by tracing opcodes.
"""

from __future__ import annotations

import ctypes
import dis
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import runtime
from npuhal.changed import start_thread

_ROOT = Path(runtime.__file__).parent.parent
PACKAGES = ("runtime/", "fakes/", "chips/", "npuhal/", "threading.py", "contextlib.py")
"""What is ours, and what of the standard library our calls go through. Paths within the checkout, or ends of others."""

_CALLS = frozenset({
    "RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX",
    "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD",  # 3.10
})  # fmt: skip
_NEVER_BEFORE = frozenset({"SETUP_FINALLY", "SETUP_WITH", "BEFORE_ASYNC_WITH", "YIELD_FROM"})
"""Where CPython 3.10 does not look, so that `try` and `with` follow a call at once."""
_MANY = 1 << 60
_STARTS_UNMARKED = sys.version_info < (3, 11)
"""The start of a function is no instruction of its own."""


@cache
def places_of(code: CodeType) -> frozenset[int]:
    """Return the offsets of the instructions before which the interpreter looks for signals."""
    found = {0} if _STARTS_UNMARKED else set()
    handled = _handlers(code)
    call: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        looked = call is not None and handled.get(call.offset) == handled.get(step.offset)
        if looked and not (_STARTS_UNMARKED and step.opname in _NEVER_BEFORE):
            found.add(step.offset)
        call = step if step.opname in _CALLS else None
        if _goes_back(step):
            found.add(step.offset)
    return frozenset(found)


def _handlers(code: CodeType) -> dict[int, int]:
    """Return which handler has the exceptions of each instruction inside a `try` or `with`.

    A signal that is found behind a call is raised as if by the call. Where the next instruction has another handler,
    as behind the last call in a `with`, it cannot stand for that.
    """
    table: Any = getattr(dis, "_parse_exception_table", None)
    rows = () if _STARTS_UNMARKED or table is None else table(code)
    return {offset: row.target for row in rows for offset in range(row.start, row.end, 2)}


def _goes_back(step: dis.Instruction) -> bool:
    if _STARTS_UNMARKED:
        return step.opcode in dis.hasjabs and isinstance(step.argval, int) and step.argval <= step.offset
    return "JUMP_BACKWARD" in step.opname and "NO_INTERRUPT" not in step.opname


class Interrupter:
    """Runs a function and interrupts it at the n-th place inside modules whose paths begin or end with given ones.

    Only the thread that calls `run` is interrupted, as the main thread alone runs handlers of signals.
    """

    def __init__(
        self, *modules: str, raises: type[BaseException] = KeyboardInterrupt, never_inside: str = "",
        finalizers: bool = False,
    ) -> None:  # fmt: skip
        """Args:
            modules: where it interrupts; by default everywhere in our packages, and in what they call of the library.
            never_inside: the start of paths of modules from which on, in all that they call, it waits for their end.
            finalizers: it interrupts them, too. CPython drops what they raise, and the call that they came in goes on;
                the collector may run those of anybody's objects at any place.
        """
        missing = [end for end in modules if not (any(_ROOT.rglob(end)) or end in PACKAGES)]
        assert not missing, f"no such module: {missing}"
        self._modules = modules or PACKAGES
        self._raises, self._never_inside, self._finalizers = raises, never_inside, finalizers
        self._left = 0
        self._thread = 0
        self.at = ""
        """Where the last interrupt came: file, line and function."""

    def run(self, function: Callable[[], Any], place: int) -> bool:
        """Call a function; returns whether it was interrupted (False: it has no such place).

        What the interrupted function makes of it is its own affair: it may raise, or go on.
        """
        self._left, self.at = place + 1, ""
        self._thread = threading.get_ident()
        try:
            with _listening(self):
                function()
        except self._raises:
            if not self.at:
                raise
        finally:
            self._thread = 0
        return bool(self.at)

    def everywhere(self, function: Callable[[], Any], check: Callable[[int], None], most: int) -> int:
        """Call a function interrupted at each of its places in turn, and check after each; returns how many there are.

        AssertionError where there are more than `most`.
        """
        for place in range(most):
            interrupted = self.run(function, place)
            check(place)
            if not interrupted:
                return place
        raise AssertionError(f"more than {most} places")

    def count(self, function: Callable[[], Any]) -> int:
        """Call a function and return how many places it came to."""
        self.run(function, _MANY)
        return _MANY + 1 - self._left

    def owns(self, code: CodeType) -> bool:
        """Whether a function is in one of the modules."""
        return _is_in(_module(code.co_filename), self._modules)

    def reach(self, frame: FrameType) -> None:
        """Count a place, and raise at the one that is wanted."""
        self._left -= 1
        if self._left == 0 and self._spares(frame):
            self._left = 1
        if self._left == 0:
            self.at = f"{_module(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
            raise self._raises

    def _spares(self, frame: FrameType) -> bool:
        """Whether the place is inside of what is not interrupted: the next one is then."""
        return (bool(self._never_inside) and _comes_from(frame, self._never_inside)) or (
            not self._finalizers and _finalizes(frame)
        )

    def listens(self) -> bool:
        """Whether the calling thread is the one that is interrupted, and still is to be."""
        return self._left > 0 and threading.get_ident() == self._thread


class Alarm:
    """Interrupts as `Interrupter` does, but by a timer of the system: a place is a microsecond of the call.

    No two runs are the same: for long ones alone.
    """

    def __init__(self, raises: type[BaseException] = KeyboardInterrupt) -> None:
        self._raises, self._armed = raises, False
        self.at = ""

    def count(self, function: Callable[[], Any]) -> int:
        """Call a function and return how many microseconds it took."""
        began = time.perf_counter()
        function()
        return max(int((time.perf_counter() - began) * 1e6), 1)

    def run(self, function: Callable[[], Any], place: int) -> bool:
        """Call a function; returns whether it was interrupted."""
        self.at = ""
        before = signal.signal(signal.SIGALRM, self._ring)
        try:
            self._armed = True
            self._set(max(place, 20) / 1e6)
            function()
        except self._raises:
            if not self.at:
                raise
        finally:
            self._armed = False
            self._end()
            signal.signal(signal.SIGALRM, before)
        return bool(self.at)

    def _set(self, delay_s: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, delay_s)

    def _end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed, self.at = False, f"{frame}"
            raise self._raises


class OtherThread(Alarm):
    """Interrupts by an exception that another thread sets (`PyThreadState_SetAsyncExc`)."""

    _thread: threading.Thread

    def _set(self, delay_s: float) -> None:
        ident = ctypes.c_ulong(threading.get_ident())

        def strike() -> None:
            self._thread = threading.current_thread()  # its exception may come before `start_thread` has returned
            time.sleep(delay_s)
            if self._armed:
                self.at = "another thread"
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(self._raises))

        self._thread = start_thread(strike, "strike")

    def _end(self) -> None:
        for _ in range(3):  # what was set at the end of the call comes here
            try:
                self._thread.join()
                time.sleep(0)
            except self._raises:
                continue


def all_free(*locks: Any) -> bool:
    """Ask from another thread whether nobody holds locks: one that may be entered again looks free to its holder."""
    free: list[bool] = []

    def attempt() -> None:
        for lock in locks:
            free.append(lock.acquire(blocking=False))
            if free[-1]:
                lock.release()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return all(free)


def _comes_from(frame: FrameType | None, start: str) -> bool:
    while frame is not None and not _module(frame.f_code.co_filename).startswith(start):
        frame = frame.f_back
    return frame is not None


def _finalizes(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@cache
def _is_in(path: str, modules: tuple[str, ...]) -> bool:
    return path.endswith(modules) or path.startswith(tuple(each for each in modules if each.endswith("/")))


@cache
def _module(filename: str) -> str:
    """Return the path of a module in the checkout; of the module that has written a function, for one in no file."""
    return filename.strip("<>").partition(": ")[0].removeprefix(f"{_ROOT}/")


class _Tracing:
    """Listens by tracing opcodes."""

    def __init__(self, to: Interrupter) -> None:
        self._to = to
        self._before: Any = None
        # Bound once: CPython borrows what it calls, and drops it when a call raises.
        self._entered, self._stepped = self._enter, self._step

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._entered)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event != "call" or not self._to.owns(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._stepped

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti in places_of(frame.f_code) and self._to.listens():
            self._to.reach(frame)
        return self._stepped


class _Monitoring:
    """Listens by `sys.monitoring`: to the instructions of each function of ours from its second call on."""

    _tool = 4
    _to: Interrupter | None = None

    def __init__(self, to: Interrupter) -> None:
        self._new = to

    def __enter__(self) -> None:
        monitoring = sys.monitoring
        if monitoring.get_tool(self._tool) is None:
            events = monitoring.events
            monitoring.use_tool_id(self._tool, "npuhal interrupts")
            monitoring.register_callback(self._tool, events.PY_START, self._start)
            monitoring.register_callback(self._tool, events.INSTRUCTION, self._step)
            monitoring.set_events(self._tool, events.PY_START)
        _Monitoring._to = self._new

    def __exit__(self, *_: object) -> None:
        _Monitoring._to = None

    @classmethod
    def _start(cls, code: CodeType, _offset: int) -> Any:
        """A function that was not called before: it is listened to from now on, if it is ours."""
        if _is_in(_module(code.co_filename), PACKAGES):
            sys.monitoring.set_local_events(cls._tool, code, sys.monitoring.events.INSTRUCTION)
        return sys.monitoring.DISABLE

    @classmethod
    def _step(cls, code: CodeType, offset: int) -> Any:
        if offset not in places_of(code):
            return sys.monitoring.DISABLE
        to = cls._to
        if to is not None and to.listens() and to.owns(code):
            to.reach(sys._getframe(1))
        return None


_listening: Any = _Monitoring if sys.version_info >= (3, 12) else _Tracing
