"""Named callbacks for changes: device states, stream states (core_spec 18.4, end)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from npuhal.words import a
from runtime import errors

__all__ = ["Observers", "StreamState"]


class StreamState(IntEnum):
    """What observers of streams get (rt_stream.h, rtStreamState)."""

    CREATE_POST = 1
    DESTROY_PRE = 2


class Observers:
    """Functions by name, called one after the other; what they raise reaches whoever made the change."""

    def __init__(self, what: str, taken: str = "EE1011") -> None:
        """Have no functions yet; `taken` is the message where a name exists already."""
        self._what, self._taken = what, taken
        self._functions: dict[str, Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def register(self, name: str, function: Callable[..., Any] | None) -> None:
        """Add a function under a name; None removes the one there is, if any.

        Raises:
            InvalidArgument 107000: the name is taken.
        """
        with self._lock:
            if function is None:
                self._functions.pop(name, None)
            elif name in self._functions:
                raise errors.fault(
                    "RT_ERROR_INVALID_VALUE", f"{a(self._what)} callback named {name!r} exists already", ee=self._taken,
                    params=("registration of a callback", *([name] * (self._taken == "EE1011")), "name", "it is taken"),
                    hint="remove it first by registering None, or use another name",
                )
            else:
                self._functions[name] = function

    def notify(self, *facts: Any) -> None:
        """Call all functions that are registered now."""
        if self._functions:
            with self._lock:
                functions = list(self._functions.values())
            for function in functions:
                function(*facts)
