"""From a row of calls.yaml to a Python function with pyACL's manners.

Arguments are positional; what cannot be read is a TypeError, never a code. Outputs come first and the code last. What
takes no arguments ignores those it is given.
"""

from __future__ import annotations

import inspect
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from runtime.api.acl import structs
from runtime.api.aclrt import Acl, Out
from runtime.api.aclrt.entry import UNTOUCHED, find
from runtime.errors import tables

_ROW = re.compile(r"(\w+)\(([^)]*)\)(?: -> (.*)| = (\w+))?$")
_EMPTY: dict[str, Any] = {"": 0, "str": "", "list": [], "dict": {}, "float": 0.0}
_NO_VALUE: dict[str, Any] = {"int": 0, "str": None, "float": 0.0, "None": None}


@dataclass(frozen=True, slots=True)
class Row:
    """One call: its C function, the arguments and outputs as (name, kind), and what it gives instead of a code."""

    function: str
    arguments: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    answer: str

    @classmethod
    def read(cls, text: str) -> Row:
        """Read `CFunction(arguments) -> outputs`."""
        found = _ROW.match(text)
        if found is None:
            raise ValueError(f"{text!r} is no row of calls.yaml")
        function, arguments, outputs, answer = found.groups("")
        return cls(function, _typed(arguments), _typed(outputs), answer)


def _typed(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (piece.partition(":") for piece in text.split(", ") if piece)
    return tuple((name, kind) for name, _, kind in pairs)


@cache
def process() -> Acl:
    """Return the process that the module speaks for; its machine is that of NPUHAL_URL."""
    return Acl()


def bind(name: str, row: Row) -> Callable[..., Any]:
    """Return the function of a row; `name` is what users call it, with `acl.` in front."""
    entry = find(row.function)
    if entry is None:
        return _absent(name, row)
    adapter = structs.ADAPTERS.get(row.function)
    parameters = list(inspect.signature(entry.function).parameters.values())[1:]
    outputs = [each.name for each in parameters if str(each.annotation).startswith("Out")]
    inputs = [each.name for each in parameters if each.name not in outputs]

    def call(*given: Any) -> Any:
        values = read_arguments(name, row, given)
        after: structs.After | None = None
        held: Any = None
        if adapter is None:
            passed = dict(zip(inputs, values, strict=True))
        else:
            passed, after, held = adapter(name, values)
        outs = {each: Out() for each in outputs}
        code = process().call(row.function, **passed, **outs)
        del held  # what the arguments pointed into
        if row.answer:
            return _answer(row.answer, code)
        results = [_output(outs[each].value, kind) for each, (_, kind) in zip(outs, row.outputs, strict=False)]
        if after is not None:
            results = after(code)
        return (*results, code) if row.outputs else code

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = _document(name, row, entry.function.__doc__)
    return call


def _document(name: str, row: Row, text: str | None) -> str:
    arguments = ", ".join(each for each, _ in row.arguments)
    gives = row.answer or ", ".join((*(each for each, _ in row.outputs), "ret"))
    return f"{name}({arguments}) -> {gives}\n\n{row.function}: {text or ''}"


def read_arguments(name: str, row: Row, given: Sequence[Any]) -> list[Any]:
    """Check the arguments as the C parser of the original does."""
    if not row.arguments:
        return []
    if len(given) != len(row.arguments):
        raise TypeError(f"{name} args parse failed: it takes {len(row.arguments)} arguments, not {len(given)}")
    return [_value(name, *argument, value) for argument, value in zip(row.arguments, given, strict=True)]


def _value(name: str, argument: str, kind: str, value: Any) -> Any:
    if kind == "any":
        return value
    if kind == "call":
        if callable(value):
            return value
        raise TypeError(f"{name} args parse failed: {argument} must be callable")
    if kind in _KINDS:
        if isinstance(value, _KINDS[kind]):
            return value
        raise TypeError(f"{name} args parse failed: {argument} must be {kind}, not {type(value).__name__}")
    try:
        return float(value) if kind == "float" else operator.index(value)
    except TypeError:
        text = f"{name} args parse failed: {argument} must be {kind or 'int'}, not {type(value).__name__}"
        raise TypeError(text) from None


_KINDS: dict[str, type | tuple[type, ...]] = {"str": str, "list": (list, tuple), "dict": dict}


def _output(value: Any, kind: str) -> Any:
    return _EMPTY[kind] if value is UNTOUCHED or value is None else value


def _answer(kind: str, value: Any) -> Any:
    return _NO_VALUE[kind] if value is None else value


def _absent(name: str, row: Row) -> Callable[..., Any]:
    """Return what stands for a function that this runtime has not: arguments are checked, then it says so."""

    def call(*given: Any) -> Any:
        read_arguments(name, row, given)
        warnings.warn(f"{name}: this runtime has no {row.function}", RuntimeWarning, stacklevel=2)
        if row.answer:
            return _NO_VALUE[row.answer]
        code = tables.public_names()["ACL_ERROR_API_NOT_SUPPORT"]
        return (*(_EMPTY[kind] for _, kind in row.outputs), code) if row.outputs else code

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = _document(name, row, "not available here: warns, and answers ACL_ERROR_API_NOT_SUPPORT.")
    return call
