"""Names of a package that are loaded when they are first used, so that a program pays for what it uses only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["names"]


def names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    Args:
        package: its `__name__`.
        homes: module -> the public names that it defines, in one text. What was found once is kept in the package.

    A package shows the names to type checkers by imports under TYPE_CHECKING, and hides these two functions from them:
    a module with a `__getattr__` has every name, to a checker.
    """

    home_of = {name: home for home, listed in homes.items() for name in listed.split()}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            below = f"{package}.{name}"
            if any(each == below or each.startswith(f"{below}.") for each in homes):
                return importlib.import_module(below)  # a module that the package once loaded by itself
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return load, listed
