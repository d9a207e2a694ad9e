"""Warnings of calls that are made wrongly, for `NPUHAL_STRICT=1`: mistakes that real scripts make and nothing reports.

An answer compared as a whole; a code unpacked first; calls after `finalize`; times of events that keep none; seconds
for milliseconds; a device for a kind of memory; failures that nobody looks at; streams that go with their context.
Every warning is a `MisuseWarning` at the line of the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from runtime import errors
from runtime.capi.pyacl import call_sites
from runtime.capi.pyacl.binding import Function, Row, named, process
from runtime.errors.misuse import MisuseWarning

VARIABLE = "NPUHAL_STRICT"

_CODE_NAME = re.compile(r"_*(ret|rc|err|errno|error|code)(val|code|_\w+|\d*)?$", re.IGNORECASE)
"""What scripts call a code."""
_TIME_LINE = 0x8
_MEMORY_KINDS = 12
"""Kinds of memory that aclrtMemAttr has."""
_ALWAYS = ("acl.init", "acl.finalize", "acl.finalize_reference", "acl.get_recent_err_msg", "acl.get_version")
"""Calls that may come after finalize, besides those of acl.util."""
_MADE_WITH_FLAGS = ("acl.rt.create_event_with_flag", "acl.rt.create_event_ex_with_flag")
_TIMES = ("acl.rt.event_elapsed_time", "acl.rt.event_get_timestamp")
_STREAMS = ("acl.rt.create_stream", "acl.rt.create_stream_with_config")
_ENDS = ("acl.rt.destroy_context", "acl.rt.reset_device", "acl.rt.reset_device_force")
_UNITS = {
    "acl.rt.set_op_wait_timeout": (0, "s"), "acl.rt.set_op_execute_time_out": (0, "s"),
    "acl.rt.wait_and_reset_notify": (2, "s"), "acl.rt.synchronize_stream_with_timeout": (1, "ms"),
    "acl.rt.synchronize_event_with_timeout": (1, "ms"), "acl.rt.synchronize_device_with_timeout": (0, "ms"),
    "acl.rt.process_report": (0, "ms"), "acl.rt.device_task_abort": (1, "ms"), "acl.mdl.ri_execute": (1, "ms"),
    "acl.rt.set_op_execute_timeout_v2": (0, "us"),
}  # fmt: skip
"""Where a call takes a time, and in what."""
_LONG_S = 1000
"""From here on, seconds look like milliseconds."""
_SHORT_MS = 10
"""Below this, milliseconds look like seconds."""
_SHORT_US = 1000
"""Below this, microseconds look like milliseconds."""


def watch(calls: dict[str, tuple[Function, Row]]) -> dict[str, Function]:
    """Return the functions of calls, each of which warns when it is used wrongly."""
    watcher = Watcher()
    return {name: watcher.wrap(name, function, row) for name, (function, row) in calls.items()}


def _warn(text: str) -> None:
    call_sites.warn(text, MisuseWarning)


class Answer(tuple[Any, ...]):
    """What a call with outputs gives, which knows whether it is used as one number."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            _warn(f"the answer {tuple(self)} never equals {other}: unpack it, the code is last")
        return tuple.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        _warn(f"the answer {tuple(self)} is asked whether it is true, which it always is: unpack it, the code is last")
        return True

    def __iter__(self) -> Iterator[Any]:
        names = call_sites.unpacked_into(call_sites.caller())
        if len(names) == len(self) and _CODE_NAME.match(names[0]) and not _CODE_NAME.match(names[-1]):
            _warn(f"the code comes last: {names[0]!r} gets an output, and {names[-1]!r} the code")
        return tuple.__iter__(self)


class Values(dict[str, Any]):
    """A dict that a call gives, which knows whether it is taken for an object."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in self:
            _warn(f"the answer is a dict: write [{name!r}], not .{name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Watcher:
    """What has to be remembered from call to call, and the checks."""

    def __init__(self) -> None:
        self._finalised = ""
        self._untimed: dict[int, tuple[int, str]] = {}
        self._streams: dict[int, str] = {}

    def wrap(self, name: str, function: Function, row: Row) -> Function:
        """Return a function that checks its arguments, calls the one given, and checks what it answers."""

        def call(*given: Any) -> Any:
            self._before(name, given)
            answer = function(*given)
            return answer if row.answer else self._after(name, given, answer)

        return named(call, name, function.__doc__)

    def _before(self, name: str, given: tuple[Any, ...]) -> None:
        state = process()
        if state.finalised and not state.initialised and name not in _ALWAYS and not name.startswith("acl.util."):
            _warn(f"{name} is called after acl.finalize{self._finalised}")
        if name in _UNITS:
            self._check_unit(name, given)
        elif name in _TIMES:
            self._check_times(name, given)
        elif name == "acl.rt.get_mem_info" and given:
            texts = call_sites.argument_texts(call_sites.caller())
            if not 0 <= given[0] < _MEMORY_KINDS or (texts and "dev" in texts[0].lower()):
                _warn(f"{name} takes a kind of memory (0 DDR, 1 HBM, ...), not a device: it is about the current one")

    def _check_unit(self, name: str, given: tuple[Any, ...]) -> None:
        position, unit = _UNITS[name]
        value = given[position] if len(given) > position else None
        if not isinstance(value, int):
            return
        if unit == "s" and value >= _LONG_S:
            _warn(f"{name} takes seconds: {value} are {value / 60:.0f} minutes")
        elif unit == "ms" and 0 < value < _SHORT_MS:
            _warn(f"{name} takes milliseconds: {value} are {value / 1000} s")
        elif unit == "us" and 0 < value < _SHORT_US:
            _warn(f"{name} takes microseconds: {value} are {value / 1000} ms")

    def _check_times(self, name: str, given: tuple[Any, ...]) -> None:
        for event in given:
            flag, made = self._untimed.get(event, (None, "")) if isinstance(event, int) else (None, "")
            if flag is not None:
                _warn(f"{name}: the event made with flag {flag} at {made} keeps no time; 8 is the flag for that, not 1")

    def _after(self, name: str, given: tuple[Any, ...], answer: Any) -> Any:
        code = answer[-1] if isinstance(answer, tuple) else answer
        frame = call_sites.caller()
        if code == 0 and name in _MADE_WITH_FLAGS and not given[0] & _TIME_LINE:
            self._untimed[answer[0]] = given[0], call_sites.text_of(frame)
        elif code == 0 and name == "acl.rt.create_event":
            self._untimed.pop(answer[0], None)
        elif code == 0 and name in _STREAMS:
            self._streams[answer[0]] = call_sites.text_of(frame)
        elif name in _ENDS:
            self._check_streams(name)
        elif code == 0 and name == "acl.finalize":
            self._finalised = f" at {call_sites.text_of(frame)}"
        elif name.startswith("acl.rt.destroy_stream") and code == 0:
            self._streams.pop(given[0], None)
        if code and call_sites.is_dropped(frame):
            _warn(f"{name} failed with {code}{_named(code)}, and nothing looks at that")
        if isinstance(answer, tuple):
            return Answer(Values(each) if isinstance(each, dict) else each for each in answer)
        return answer

    def _check_streams(self, name: str) -> None:
        handles = process().runtime.handles
        gone = [handle for handle in self._streams if not handles.holds(handle)]
        made = ", ".join(self._streams.pop(handle) for handle in gone)
        if gone:
            _warn(f"{name} ended {len(gone)} streams that were not destroyed, made at {made}")


def _named(code: int) -> str:
    return next((f" {name}" for name, value in errors.tables.public_names().items() if value == code), "")
