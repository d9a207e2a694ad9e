"""From a row of calls.yaml to a Python function with pyACL's manners.

Arguments are positional; what cannot be read is a TypeError (a ValueError for a list that is none), never a code.
Outputs come first and the code last. What takes no arguments ignores those it is given.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from npuhal.records import dataclass
from npuhal.words import shown
from runtime.api import start
from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import UNTOUCHED, find
from runtime.capi.pyacl import call_sites, structs
from runtime.errors import tables

Function = Callable[..., Any]

_ROW = re.compile(r"(\w*)\(([^)]*)\)(?: -> (.*)| = (\w+))?$")
_EMPTY: dict[str, Any] = {"": 0, "null": 0, "str": "", "list": [], "rows": [], "dict": {}, "float": 0.0, "None": None}
_NO_VALUE: dict[str, Any] = {"int": 0, "str": None, "float": 0.0, "None": None}
_WORD = 0xFFFF_FFFF_FFFF_FFFF
"""Integers are read as 64-bit words, without a check for overflow."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a call takes: its name, its kind, and whether it may be left out."""

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One call: its C function, what it takes and gives, and what it gives instead of a code."""

    function: str
    arguments: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    answer: str

    @classmethod
    def read(cls, text: str) -> Row:
        """Read `CFunction(arguments) -> outputs` or `CFunction(arguments) = kind`.

        Raises:
            ValueError: the text is none of these.
        """
        found = _ROW.match(text)
        if found is None:
            raise ValueError(f"{text!r} is no row of calls.yaml")
        function, arguments, outputs, answer = found.groups("")
        return cls(function, _typed(arguments), _typed(outputs), answer)

    @property
    def unchecked(self) -> bool:
        """Whether the call takes whatever it is given."""
        return not self.arguments

    def failure(self, code: int) -> Any:
        """Return what the call gives when it fails with a code."""
        if self.answer:
            return _NO_VALUE[self.answer]
        empty = [_EMPTY[each.kind] for each in self.outputs]
        return (*empty, code) if empty else code


def _typed(text: str) -> tuple[Argument, ...]:
    pairs = (piece.partition(":") for piece in text.split(", ") if piece)
    return tuple(Argument(name, kind.rstrip("?"), kind.endswith("?")) for name, _, kind in pairs)


@cache
def process() -> Acl:
    """Return what the module speaks for: the process, whose runtime `runtime.device` uses, too."""
    return Acl(make=start)


def bind(name: str, row: Row) -> Function:
    """Return the function of a row; `name` is what users call it, with `acl.` in front."""
    entry = find(row.function)
    if entry is None:
        return absent(name, row)
    adapter = structs.ADAPTERS.get(row.function)
    outputs = [each.name for each in entry.arguments if each.output]
    inputs = [each.name for each in entry.arguments if not each.output]
    if adapter is None and len(inputs) != len(row.arguments):
        return absent(name, row)
    null = {each.name for each in row.outputs if each.kind == "null"}
    written = [each for each in outputs if each not in null]
    kinds = [(each.name, each.kind) for each in row.outputs if each.name not in null]

    def call(*given: Any) -> Any:
        values = read_arguments(name, row, given)
        after: structs.After | None = None
        held: Any = None
        if adapter is None:
            passed = dict(zip(inputs, values, strict=True))
        else:
            passed, after, held = adapter(name, values)
        outs = {each: Out() for each in written}
        code = process().call(row.function, **passed, **outs)
        del held  # what the arguments pointed into
        if row.answer == "None":
            return None
        if row.answer:
            return _NO_VALUE[row.answer] if code is None else code
        if after is not None:
            results = after(code)
        else:
            found = {name: _output(outs[each].value, kind) for each, (name, kind) in zip(written, kinds, strict=False)}
            results = [found.get(each.name, 0) for each in row.outputs]
        return (*results, code) if row.outputs else code

    return named(call, name, _document(name, row, entry.function.__doc__))


def named(function: Function, name: str, text: str | None) -> Function:
    """Give a function the name and the documentation that users see."""
    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = text
    return function


def _document(name: str, row: Row, text: str | None) -> str:
    arguments = ", ".join(each.name for each in row.arguments)
    gives = row.answer or ", ".join((*(each.name for each in row.outputs), "ret"))
    return f"{name}({arguments}) -> {gives}\n\n{row.function}: {text or ''}"


def read_arguments(name: str, row: Row, given: Sequence[Any]) -> list[Any]:
    """Check the arguments as the C parser of the original does."""
    if row.unchecked:
        return []
    needed = sum(not each.optional for each in row.arguments)
    if not needed <= len(given) <= len(row.arguments):
        takes = f"function takes exactly {len(row.arguments)} arguments ({len(given)} given)"
        raise TypeError(f"{name} args parse failed: {takes}")
    values = [_value(name, *pair) for pair in zip(row.arguments, given, strict=False)]
    return values + [None] * (len(row.arguments) - len(values))


def _value(name: str, argument: Argument, value: Any) -> Any:
    kind = argument.kind
    if kind in _UNREAD:
        return value
    if kind == "call":
        if callable(value):
            return value
        raise TypeError(f"{name} args parse failed: {argument.name}: parameter must be callable")
    if kind in _KINDS:
        wanted, problem = _KINDS[kind]
        if isinstance(value, wanted):
            return value
        raise problem(f"{name} args parse failed: {argument.name} must be {wanted.__name__}, not {_kind_of(value)}")
    try:
        number = _real(value) if kind == "float" else operator.index(value)
    except TypeError:
        text = f"{name} args parse failed: {argument.name} must be {kind or 'int'}, not {_kind_of(value)}"
        raise TypeError(text) from None
    except OverflowError:
        text = f"{name} args parse failed: {argument.name} is {shown(value)}, too large for a float"
        raise ValueError(text) from None
    return number & _WORD if isinstance(number, int) and number > _WORD else number


def _real(value: Any) -> float:
    """Return a number as a float; text is none, whatever it says."""
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        return float(value)
    raise TypeError


def _kind_of(value: Any) -> str:
    return type(value).__name__


_UNREAD = ("any", "bytes", "array", "shape")
"""Kinds that the function itself reads."""
_KINDS: dict[str, tuple[type, type[Exception]]] = {
    "str": (str, TypeError), "dict": (dict, TypeError), "list": (list, ValueError), "rows": (list, TypeError),
}  # fmt: skip


def _output(value: Any, kind: str) -> Any:
    return _EMPTY[kind] if value is UNTOUCHED or value is None else value


def absent(name: str, row: Row) -> Function:
    """Return what stands for a function that this runtime has not: arguments are checked, then it says so."""

    def call(*given: Any) -> Any:
        read_arguments(name, row, given)
        what = f"no {row.function}" if row.function else "no such function"
        call_sites.warn(f"{name}: this runtime has {what}", RuntimeWarning)
        return row.failure(tables.public_names()["ACL_ERROR_API_NOT_SUPPORT"])

    text = "not available here: warns, and answers ACL_ERROR_API_NOT_SUPPORT."
    return named(call, name, _document(name, row, text))
