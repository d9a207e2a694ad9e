"""Every public parameter that is a length of time says its unit in its name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import chips
import fakes
import npuhal
import runtime
import runtime.api
import runtime.testing

_TIME = re.compile(r"time_?out|patience|interval|delay|duration|deadline")
_UNIT = re.compile(r"_(ns|us|ms|s)$")
_DEPTH = 3


def _parameters(name: str, thing: Any, seen: set[int], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (callable, parameter) of a public thing and of its public attributes."""
    if id(thing) in seen or depth > _DEPTH or isinstance(thing, (property, ModuleType)) or not callable(thing):
        return
    seen.add(id(thing))
    if inspect.isclass(thing):
        for member, found in inspect.getmembers(thing):
            if not member.startswith("_"):
                yield from _parameters(f"{name}.{member}", found, seen, depth + 1)
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return
    yield from ((name, parameter) for parameter in signature.parameters)


_MODULES = (runtime, runtime.api, runtime.testing, npuhal, chips, fakes)


@pytest.mark.parametrize("module", _MODULES, ids=lambda one: str(one.__name__))
def test_lengths_of_time_name_their_unit(module: ModuleType) -> None:
    names = {*dir(module), *getattr(module, "__all__", ())}
    seen: set[int] = set()
    found = [
        row for name in sorted(names) if not name.startswith("_")
        for row in _parameters(f"{module.__name__}.{name}", getattr(module, name), seen)
    ]  # fmt: skip
    times = [row for row in found if _TIME.search(row[1])]
    assert not [row for row in times if not _UNIT.search(row[1])]
    if module is runtime:
        assert ("runtime.Event.synchronize", "timeout_ms") in times
        assert ("runtime.LaunchOptions", "timeout_us") in times
        assert len(times) > 10
