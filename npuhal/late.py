"""Names of a package, and loggers, that are loaded when they are first used: a program pays for what it uses only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

__all__ = ["logger", "names"]

_OWN = ("runtime", "npuhal")
"""Packages whose loggers say nothing unless they are asked, as those of libraries do."""


def names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    Args:
        package: its `__name__`.
        homes: module -> the public names that it defines, in one text; a dot among them: the module itself, too. What
            was found once is kept in the package.

    A package shows the names to type checkers by imports under TYPE_CHECKING, and hides these two functions from them:
    a module with a `__getattr__` has every name, to a checker.
    """

    home_of = {}
    for home, given in homes.items():
        itself = home.rpartition(".")[2]
        home_of.update(dict.fromkeys((itself if name == "." else name for name in given.split()), home))

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            below = f"{package}.{name}"
            if any(each == below or each.startswith(f"{below}.") for each in homes):
                return importlib.import_module(below)  # a module that the package once loaded by itself
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(home)
        value = module if home == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return load, listed


def logger(name: str) -> logging.Logger:
    """Return the logger of this name, which loads `logging` for its first line of a warning or worse.

    Of lines below that nobody can have asked while `logging` is not loaded.
    """
    return _Logger(name)  # type: ignore[return-value]


class _Logger:
    """Gives the methods of a logger."""

    __slots__ = ("_name", "_real")

    def __init__(self, name: str) -> None:
        self._name = name
        self._real: logging.Logger | None = None

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            if name in ("debug", "info") and "logging" not in sys.modules:
                return _nothing
            try:
                import logging
            except ImportError:  # the interpreter ends: nothing can be loaded any more
                return _nothing
            package = logging.getLogger(self._name.partition(".")[0])
            if package.name in _OWN and not any(isinstance(each, logging.NullHandler) for each in package.handlers):
                package.addHandler(logging.NullHandler())
            self._real = logging.getLogger(self._name)
        return getattr(self._real, name)


def _nothing(*_arguments: object, **_options: object) -> None:
    """Say nothing."""
