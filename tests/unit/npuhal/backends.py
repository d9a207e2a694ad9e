"""A backend for tests: HAL functions given as Python callables, called with whatever the caller passed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from npuhal.api import HalApi
from npuhal.prototypes import Prototype


def pointee(argument: Any) -> Any:
    """Return the ctypes object behind byref(), a pointer, or the object itself."""
    return getattr(argument, "_obj", argument)


class PythonBackend(HalApi):
    """Answers with the given callables; a name that is not given does not exist."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        super().__init__("test://")
        self.functions = functions

    def has(self, name: str) -> bool:
        return name in self.functions

    def raw(self, name: str) -> Callable[..., int]:
        return self.functions[name]

    def _bind(self, prototype: Prototype) -> Callable[..., Any]:
        return self.functions[prototype.name]


class FakeLibrary:
    """Stands for a ctypes.CDLL: real C function pointers made of Python callables, typed by the tables."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        from npuhal import prototypes

        self.made: dict[str, Any] = {}
        for name, function in functions.items():
            prototype = prototypes.prototype(name)
            kind = ctypes.CFUNCTYPE(prototype.restype, *(arg.ctype for arg in prototype.args))
            self.made[name] = kind(function)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.made[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Any:
        address = ctypes.cast(self.made[name], ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)
