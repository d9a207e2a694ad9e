"""What a fuzzer has found, as a script: a hypothesis test that fails carries a program that calls it with that example.

Tests of whole programs write down what they do on the device themselves (`runtime.testing.script`); this is for all
others. The script wants the root of the repository on its path, as `python -c` has it there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import numpy as np
from hypothesis.errors import HypothesisException
from hypothesis.strategies import DataObject

from chips import Chip
from runtime.testing.script import ATTRIBUTE, Script

_CHECK = "check"


class Drawn:
    """What a test has drawn by itself, in order; in place of hypothesis's `data` in a script."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = iter(values)

    def draw(self, _strategy: Any, label: Any = None) -> Any:
        """Return the next value, whatever it is drawn from."""
        return next(self._values)


class _Watched:
    """Hypothesis's `data`, with a note of what it gives."""

    def __init__(self, data: DataObject) -> None:
        self._data, self.values = data, []  # type: ignore[var-annotated]

    def draw(self, strategy: Any, label: Any = None) -> Any:
        value = self._data.draw(strategy, label)
        self.values.append(value)
        return value


def watch(test: Any) -> None:
    """Have what a hypothesis test raises carry the script of its example; other tests stay as they are."""
    handle = getattr(test, "hypothesis", None)
    inner: Callable[..., Any] | None = getattr(handle, "inner_test", None)
    if handle is None or inner is None or hasattr(inner, "is_watched"):
        return

    @functools.wraps(inner)
    def watched(*args: Any, **kwargs: Any) -> Any:
        given = {name: _Watched(value) if isinstance(value, DataObject) else value for name, value in kwargs.items()}
        try:
            return inner(*args, **given)
        except HypothesisException:  # no failure: an example that the test cannot use
            raise
        except Exception as problem:
            if not args and not getattr(problem, ATTRIBUTE, "") and (text := script(inner, given)):
                setattr(problem, ATTRIBUTE, text)
            raise

    watched.is_watched = True  # type: ignore[attr-defined]
    handle.inner_test = watched


class Steps:
    """The steps of a state machine, written down as they are made; what they return gets a name."""

    def __init__(self, machine: type) -> None:
        imports: set[str] = set()
        made = _named(machine, imports)
        self.script = Script(None, *sorted(imports), "", f"state = {made}()")
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        """Named objects: no other one must get their identity meanwhile."""

    def make(self, state: Any, function: Callable[..., Any], given: dict[str, Any]) -> Any:
        """Make a step; what it raises carries the script."""
        arguments = ", ".join(f"{name}={self._spelled(value)}" for name, value in given.items())
        name = f"{function.__name__}{len(self._kept)}"
        self.script.add(f"{name} = state.{function.__name__}({arguments})")
        with self.script.written():
            made = function(state, **given)
        if made is not None:
            self._names[id(made)] = name
            self._kept.append(made)
        return made

    def _spelled(self, value: Any) -> str:
        return self._names.get(id(value)) or spelled(value, set())


    def hold(self, state: Any, function: Callable[..., Any]) -> None:
        """Make a check that changes nothing: written down where it fails."""
        try:
            function(state)
        except BaseException:
            with self.script.add(f"state.{function.__name__}()").written():
                raise


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have an invariant of a state machine that fails written down in its `steps`."""

    @functools.wraps(function)
    def step(state: Any) -> None:
        state.steps.hold(state, function)

    return step


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a rule or the end of a state machine written down in its `steps`."""

    @functools.wraps(function)
    def step(state: Any, **given: Any) -> Any:
        return state.steps.make(state, function, given)

    return step


def script(inner: Callable[..., Any], given: dict[str, Any]) -> str:
    """Return a program that calls a test with these arguments; empty where one of them cannot be written down."""
    imports: set[str] = set()
    try:
        lines = [f"    {name}={spelled(value, imports)}," for name, value in given.items()]
    except ValueError:
        return ""
    imports.add(f"from {inner.__module__} import {inner.__qualname__} as {_CHECK}")
    return Script(None, *sorted(imports), "").add(f"{_CHECK}.hypothesis.inner_test(", *lines, ")").text


def spelled(value: Any, imports: set[str]) -> str:
    """Return an expression for a value; ValueError where there is none. `imports` gets the lines that it needs."""
    if isinstance(value, Enum):
        return _named(type(value), imports) + f".{value.name}"
    if isinstance(value, np.ndarray):
        imports.add("import numpy as np")
        return f"np.array({value.tolist()!r}, np.dtype({value.dtype.str!r})).reshape({value.shape})"
    if isinstance(value, Chip):
        imports.add("from chips import find_chip")
        return f"find_chip({value.soc!r})"
    if isinstance(value, _Watched):
        return f"{_named(Drawn, imports)}([{', '.join(spelled(each, imports) for each in value.values)}])"
    if isinstance(value, float):
        return f"float({str(value)!r})"
    if type(value) in (list, tuple, set, frozenset):
        inside = ", ".join(spelled(each, imports) for each in value)
        return f"{type(value).__name__}([{inside}])"
    if type(value) is dict:
        pairs = (f"{spelled(key, imports)}: {spelled(each, imports)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if value is None or type(value) in (bool, int, str, bytes):
        return repr(value)
    if isinstance(value, type):
        return _named(value, imports)
    fields = getattr(value, "__match_args__", ())
    if not fields:
        raise ValueError(f"{value!r} cannot be written down")
    parts = (f"{name}={spelled(getattr(value, name), imports)}" for name in fields)
    return f"{_named(type(value), imports)}({', '.join(parts)})"


def _named(kind: type, imports: set[str]) -> str:
    if kind.__module__ != "builtins":
        imports.add(f"from {kind.__module__} import {kind.__qualname__.partition('.')[0]}")
    return kind.__qualname__
