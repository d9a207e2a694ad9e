"""Which codes a driver function can give when something at or below it fails: the list in codes.yaml."""

from __future__ import annotations

from functools import cache
from typing import Any

from chips import yaml_file
from fakes.errors import FakeError
from npuhal import prototypes
from npuhal.errors import error_code

_PREFIX = "DRV_ERROR_"


@cache
def _table() -> dict[str, Any]:
    return dict(yaml_file.load(yaml_file.beside(__file__, "codes.yaml")))


def codes_of(name: str) -> tuple[int, ...]:
    """Return the drvError_t values that a function of the headers may fail with; empty for one that never fails.

    Raises FakeError where the headers have no such function.
    """
    table = _table()
    if name in table["never"]:
        return ()
    words = table["calls"].get(name)
    if words is None:
        try:
            words = table["chapters"][prototypes.prototype(name).chapter]
        except KeyError:
            raise FakeError(f"no function of the driver that could fail is called {name!r}") from None
    return tuple(map(code_of, str(words).split()))


def code_of(text: str) -> int:
    """Return the code that a number or a name, with or without DRV_ERROR_, stands for; FakeError where it is none."""
    try:
        return int(text, 0)
    except ValueError:
        pass
    name = text if text.startswith(_PREFIX) else _PREFIX + text
    try:
        return error_code(name)
    except AttributeError:
        raise FakeError(f"{text!r} is no code of the driver: give a drvError_t, by number or name") from None
