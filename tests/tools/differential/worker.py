"""Runs programs that come as lines of JSON, on a library or on the entries in Python, and answers what was seen."""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, Protocol

from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import UNTOUCHED
from runtime.capi.shim import declarations as c

Values = dict[str, int]
_ROWS = {row.name: row for row in c.functions()}


class Backend(Protocol):
    """One implementation of the C API."""

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call a function; returns its result and what outputs hold afterwards."""


class PythonBackend:
    """The entries, called from Python."""

    def __init__(self) -> None:
        self._acl = Acl()

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call an entry."""
        outs = {name: Out() for name, value in arguments.items() if isinstance(value, dict) and "out" in value}
        kinds = {field.name: c.ctype(field.type) for field in _ROWS[function].parameters}
        given = {
            name: outs[name] if name in outs else _number(kinds[name], _plain(value, values))
            for name, value in arguments.items()
        }
        code = self._acl.call(function, **given)
        written = {arguments[name]["out"]: out.value or 0 for name, out in outs.items() if out.value is not UNTOUCHED}
        return int(code or 0), written


class LibraryBackend:
    """A shared library, called as a C program calls it."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def call(self, function: str, arguments: dict[str, Any], values: Values) -> tuple[int, Values]:
        """Call a function with C types; outputs are zero before."""
        row, made = _ROWS[function], []
        outs: dict[str, Any] = {}
        called = getattr(self._library, function)
        called.restype = c.ctype(row.result)
        for field in row.parameters:
            value = arguments.get(field.name)
            if isinstance(value, dict) and "out" in value:
                variable = outs[value["out"]] = c.ctype(field.type.removesuffix("*"))()
                made.append(ctypes.byref(variable))
            else:
                kind = c.ctype(field.type)
                made.append(kind(_number(kind, _plain(value, values)) or 0))
        result = called(*made)
        return int(result or 0), {name: variable.value or 0 for name, variable in outs.items()}


def _plain(value: Any, values: Values) -> Any:
    if not isinstance(value, dict):
        return value
    return values.get(value.get("var") or value["data"], 0)


def _number(kind: Any, value: Any) -> Any:
    """Return a number as a C variable of the type holds it; NULL and text stay."""
    return kind(value).value if isinstance(value, int) else value


def run(backend: Backend, program: list[tuple[str, dict[str, Any]]]) -> list[list[Any]]:
    """Run a program; returns per step the result, the outputs that count, and the buffers it could write."""
    values: Values = {}
    buffers: dict[str, Any] = {}
    seen = []
    for function, arguments in program:
        for value in arguments.values():
            if isinstance(value, dict) and "data" in value and value["data"] not in buffers:
                data = buffers[value["data"]] = ctypes.create_string_buffer(bytes([value["fill"]]) * value["size"])
                values[value["data"]] = ctypes.addressof(data)
        result, written = backend.call(function, arguments, values)
        values |= written
        compared = {
            value["out"]: written.get(value["out"], 0) for value in arguments.values()
            if isinstance(value, dict) and value.get("compare") and not result
        }  # fmt: skip
        seen.append([result, compared])
    seen.append([0, {name: data.raw.hex() for name, data in buffers.items()}])
    return seen


def main() -> None:
    """Answer each line until there is none."""
    backend: Backend = LibraryBackend(sys.argv[1]) if len(sys.argv) > 1 else PythonBackend()
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps(run(backend, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
