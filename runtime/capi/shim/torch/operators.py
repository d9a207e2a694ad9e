"""Operators that are computed on the host: one table for both ways in which torch_npu calls them.

A row of operators.yaml is `name(inputs) -> outputs: expression`. The expression is Python over CPU tensors, with
`torch` and the functions of `composed`, `layers`, `recurrent` and `attention`; an input that is given as the output,
too, is changed in place. An output with a question mark is as large as the largest result: the data decide its shape,
and the caller asks for it afterwards. Limits say what of a call an operator is not computed with.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from chips import yaml_file
from npuhal.records import dataclass

_ROW = re.compile(r"(\w+)\(([^)]*)\) -> (.+)\Z")
_LETTERS = "oidfslu"


@dataclass(frozen=True, slots=True)
class Limit:
    """What some operators are not computed with."""

    what: str
    arguments: tuple[str, ...]
    """Names of those that tell: numbers, texts, and objects by whether they are given."""
    condition: str
    """True of a call that is refused."""

    def meets(self, *values: Any) -> bool:
        """Return whether a call with these values of its arguments is refused."""
        return bool(_judged(self.condition, self.arguments)(*values))


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its name, its arguments, and what computes it."""

    name: str
    parameters: tuple[str, ...]
    """Names of all arguments in the order of the call; of an aclop, inputs and then outputs."""
    kinds: str
    """A letter for each of them: o object, u tensor whose shape the data decide, i integer, d double, f float, s text;
    l list, the last input of an aclop."""
    outputs: tuple[str, ...]
    """Names of those that are written."""
    reads: frozenset[str]
    """Names of those that are read."""
    attributes: dict[str, Any]
    """Of an aclop: attributes and their defaults."""
    expression: str
    limits: tuple[Limit, ...] = ()
    """What it is not computed with."""

    @property
    def sized(self) -> frozenset[str]:
        """Names of outputs whose shape the data decide."""
        return frozenset(name for name, kind in zip(self.parameters, self.kinds, strict=True) if kind == "u")

    def compiled(self) -> Callable[..., Any]:
        """Return the function of the expression; it takes all arguments and attributes by name.

        Of outputs that are not read, shape and type count.
        """
        return _compiled(self.expression, (*self.parameters, *self.attributes))


@cache
def _compiled(expression: str, names: tuple[str, ...]) -> Callable[..., Any]:
    from runtime.capi.shim.torch import attention, composed, layers, recurrent

    space = {name: value for module in (composed, layers, recurrent, attention) for name, value in vars(module).items()}
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: ({expression})", space)
    return made


@cache
def _judged(condition: str, names: tuple[str, ...]) -> Callable[..., Any]:
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: ({condition})", {})
    return made


def parse(text: str, expression: str, limits: tuple[Limit, ...] = ()) -> Operator:
    """Read a row, given what it is not computed with; ValueError where it is none."""
    match = _ROW.match(text)
    if match is None:
        raise ValueError(f"operators.yaml: {text!r} is no operator")
    given, _, attributes = match[2].partition("; ")
    rows = [each.partition(":") for each in given.split(", ") if each]
    kinds = {name.lstrip(">"): kind or "o" for name, _, kind in rows}
    ends = match[3].split(", ")
    outputs = tuple(name.rstrip("?") for name in ends)
    kinds = {**kinds, **{name: "o" for name in outputs if name not in kinds}}
    kinds.update((name[:-1], "u") for name in ends if name.endswith("?"))
    if set(kinds.values()) - set(_LETTERS):
        raise ValueError(f"operators.yaml: {text!r} has an argument of no kind of {_LETTERS}")
    defaults = dict(each.split("=") for each in attributes.split(", ") if each)
    return Operator(
        match[1], tuple(kinds), "".join(kinds.values()), outputs,
        frozenset(name for name, _, _ in rows if not name.startswith(">")),
        {name: ast.literal_eval(value) for name, value in defaults.items()}, expression, limits,
    )  # fmt: skip


def _rows(topic: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Iterate over the rows of a topic, those of a family for each of its names."""
    if "rows" not in topic:
        yield from topic.items()
        return
    for word in topic["names"].split():
        name, _, function = word.partition("=")
        for text, expression in topic["rows"].items():
            yield text.replace("{Name}", name), expression.replace("{name}", function or name.lower())


@cache
def _table() -> dict[str, tuple[Operator, ...]]:
    ways = yaml_file.load(Path(__file__).with_name("operators.yaml"))
    limits = _limits(ways.pop("limits"))
    made = {}
    for way, topics in ways.items():
        rows = [row for topic in topics.values() for row in _rows(topic)]
        operators = (parse(*row, limits.get(row[0].partition("(")[0], ())) for row in rows)
        made[way] = tuple({each.name: each for each in operators}.values())
    return made


def _limits(rows: dict[str, dict[str, str]]) -> dict[str, tuple[Limit, ...]]:
    """Return the limits of operators by their names."""
    found: dict[str, tuple[Limit, ...]] = {}
    for what, row in rows.items():
        nodes = ast.walk(ast.parse(row["when"], mode="eval"))
        names = [each for each in nodes if isinstance(each, ast.Name)]
        made = {each.id for each in names if isinstance(each.ctx, ast.Store)} | vars(builtins).keys()
        arguments = tuple(sorted({each.id for each in names} - made))
        for name in row["of"].split():
            found[name] = (*found.get(name, ()), Limit(what, arguments, row["when"]))
    return found


def aclnn() -> tuple[Operator, ...]:
    """Return the operators with two calls."""
    return _table()["aclnn"]


def aclop() -> tuple[Operator, ...]:
    """Return the operators that are called by a name and descriptions."""
    return _table()["aclop"]


@cache
def named() -> dict[str, Operator]:
    """Return all operators by name; no aclop is called as an aclnn function is."""
    return {each.name: each for each in (*aclnn(), *aclop())}
