"""Runs programs that come as lines of JSON, on a library or on the entries in Python, and answers what was seen."""

from __future__ import annotations

import ctypes
import json
import queue
import re
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import UNTOUCHED, find
from runtime.capi.shim import declarations as c
from tests.tools.differential.calls import value_of

Values = dict[str, int]
Answer = tuple[int, Values, list[str] | None]
"""A result, what was written to outputs, and the ids of messages."""
_ROWS = {row.name: row for row in c.functions()}
_PUBLIC = re.compile(r"E[EH](?!9999)\d{4}\Z")
"""Ids of messages that are for users; the others are for whoever mends the library."""
_CODES = ("aclError", "int32_t")
"""What functions return whose result is a code."""
_NEW = 0xA5
"""Bytes that outputs of a library hold until it writes them."""


class Backend(Protocol):
    """One implementation of the C API."""

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call a function; returns its result and what outputs hold that it has written."""

    def has(self, function: str) -> bool:
        """Whether there is such a function."""

    def ids(self) -> list[str] | None:
        """Return the ids of the messages since the last question, oldest first, and forget them; None: it cannot."""


def _nothing(*_given: int) -> int:
    return 0


class PythonBackend:
    """The entries, called from Python."""

    def __init__(self) -> None:
        self._acl = Acl()

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call an entry."""
        outs = {name: Out() for name, value in arguments.items() if isinstance(value, dict) and "out" in value}
        kinds = {field.name: c.ctype(field.type) for field in _ROWS[function].parameters}
        given = {
            name: outs[name] if name in outs else _nothing if _calls(value)
            else _number(kinds[name], _plain(value, values)) for name, value in arguments.items()
        }  # fmt: skip
        code = self._acl.call(function, **given)
        written = {arguments[name]["out"]: out.value or 0 for name, out in outs.items() if out.value is not UNTOUCHED}
        return int(code or 0) if isinstance(code, int | None) else 1, written

    def has(self, function: str) -> bool:
        """Whether there is such an entry."""
        return find(function) is not None

    def ids(self) -> list[str]:
        """Take the messages of the thread."""
        found = [*reversed(self._acl.reports.message_ids())]
        self._acl.reports.take_text()
        return found


class LibraryBackend:
    """A shared library, called as a C program calls it."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_nothing)
        self._messages = _messages() if "liberror_manager.so" in Path("/proc/self/maps").read_text() else None

    def has(self, function: str) -> bool:
        """Whether the library exports the function."""
        return hasattr(self._library, function)

    def ids(self) -> list[str] | None:
        """Take the messages of CANN's error manager, where the library has loaded that."""
        return None if self._messages is None else self._messages()

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call a function with C types."""
        row, made = _ROWS[function], []
        outs: dict[str, Any] = {}
        called = getattr(self._library, function)
        called.restype = c.ctype(row.result)
        for field in row.parameters:
            value = arguments.get(field.name)
            if isinstance(value, dict) and "out" in value:
                variable = outs[value["out"]] = c.ctype(field.type.removesuffix("*"))()
                ctypes.memset(ctypes.byref(variable), _NEW, ctypes.sizeof(variable))
                made.append(ctypes.byref(variable))
                continue
            kind = c.ctype(field.type)
            plain = _plain(value, values)
            if isinstance(plain, str):
                made.append(ctypes.c_char_p(plain.encode()))
            else:
                address = ctypes.cast(self._function, ctypes.c_void_p).value if _calls(value) else plain
                made.append(kind(_number(kind, address) or 0))
        result = called(*made)
        untouched = {name: bytes([_NEW]) * ctypes.sizeof(variable) for name, variable in outs.items()}
        written = {name: each.value or 0 for name, each in outs.items() if bytes(each) != untouched[name]}
        return int(result or 0), written


class _Item(ctypes.Structure):
    """A message of CANN's error manager (`ErrMsgRawItem`, err_mgr.h): its first field is the id."""

    _fields_ = (("id", ctypes.c_char_p), ("rest", ctypes.c_uint64 * 11))


class _Items(ctypes.Structure):
    """A std::vector of messages."""

    _fields_ = (("first", ctypes.POINTER(_Item)), ("end", ctypes.c_void_p), ("room", ctypes.c_void_p))


def _messages() -> Callable[[], list[str]]:
    """Return what takes the messages of CANN's error manager, which the library below has loaded."""
    take = ctypes.CDLL("liberror_manager.so")._ZN13error_message25GetErrMgrRawErrorMessagesEv
    take.restype = ctypes.c_void_p

    def taken() -> list[str]:
        items = _Items()
        take(ctypes.byref(items))
        first = ctypes.cast(items.first, ctypes.c_void_p).value or 0
        count = ((items.end or 0) - first) // ctypes.sizeof(_Item)
        return [items.first[at].id.decode() for at in range(count)]

    return taken


def _calls(value: Any) -> bool:
    return isinstance(value, dict) and "callback" in value


def _plain(value: Any, values: Values) -> Any:
    if not isinstance(value, dict):
        return value
    return values.get(value.get("var") or value.get("data") or value.get("name") or "", 0)


def _number(kind: Any, value: Any) -> Any:
    """Return a number as a C variable of the type holds it; NULL and text stay."""
    return kind(value).value if isinstance(value, int) and not isinstance(value, bool) else value


class Thread:
    """A thread of a program, beside the main one."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while (job := self._work.get()) is not None:
            self._done.put(job())

    def run(self, job: Callable[[], Any]) -> Any:
        """Run something there, and wait for it."""
        self._work.put(job)
        return self._done.get()

    def stop(self) -> None:
        """End the thread."""
        self._work.put(None)


def run(backend: Backend, program: list[list[Any]], tell: Callable[[Any], None]) -> None:
    """Run a program; tells per step the result, the outputs that count and the first message; last the buffers."""
    values: Values = {}
    buffers: dict[str, Any] = {}
    keep: list[Any] = []
    threads: dict[str, Thread] = {}

    def one(function: str, arguments: dict[str, Any]) -> Answer:
        backend.ids()
        result, written = backend.call(function, arguments, values)
        ids = backend.ids()
        return result, written, None if ids is None else [each for each in ids if _PUBLIC.match(each)][:1]

    for function, arguments, thread in program:
        _prepare(arguments, values, buffers, keep)
        if not backend.has(function):
            tell(None)
            continue

        def job(function: str = function, arguments: dict[str, Any] = arguments) -> Answer:
            return one(function, arguments)

        result, written, ids = threads.setdefault(thread, Thread()).run(job) if thread else job()
        values |= written
        compared = {
            value["out"]: (bool(written[value["out"]]) if "handle" in value else written[value["out"]])
            if value["out"] in written else "untouched" for value in arguments.values()
            if isinstance(value, dict) and ("compare" in value or "handle" in value) and value.get("compare", True)
        }  # fmt: skip
        tell([result if _ROWS[function].result in _CODES else 0, compared, ids])
    for each in threads.values():
        each.stop()
    tell([0, {name: data.raw.hex() for name, data in buffers.items()}, []])


def _prepare(arguments: dict[str, Any], values: Values, buffers: dict[str, Any], keep: list[Any]) -> None:
    """Make the memory that arguments point to; `keep` holds it, `buffers` what is compared at the end."""
    for value in arguments.values():
        if not isinstance(value, dict):
            continue
        name = value.get("data") or value.get("name")
        if name is None or name in values:
            continue
        if "data" in value:
            given = bytes.fromhex(value["hex"]) if "hex" in value else bytes([value["fill"]]) * value["size"]
            data = buffers[name] = ctypes.create_string_buffer(given)
        elif "words" in value:
            words = [int(_plain(each, values) or 0) & (1 << 64) - 1 for each in value["words"]]
            data = ctypes.create_string_buffer(struct.pack(f"<{len(words)}Q", *words), 256)
        else:
            data = ctypes.create_string_buffer(bytes(value_of(value["struct"], value["fields"])), 4096)
        keep.append(data)
        values[name] = ctypes.addressof(data)


def main() -> None:
    """Answer each line until there is none: a line for each step, and one for the buffers at the end.

    {"has": names} asks which functions there are.
    """
    backend: Backend = LibraryBackend(sys.argv[1]) if len(sys.argv) > 1 else PythonBackend()
    answers = sys.stdout
    sys.stdout = sys.stderr

    def tell(seen: Any) -> None:
        answers.write(json.dumps(seen) + "\n")
        answers.flush()

    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict):
            tell([name for name in asked["has"] if backend.has(name)])
        else:
            run(backend, asked, tell)


if __name__ == "__main__":
    main()
