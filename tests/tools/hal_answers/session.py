"""What the calls of the list share: the library, and what earlier calls made."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from npuhal.api import HalApi

Answer = list[Any]
"""The code first, then what the call wrote, where the list says so."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the name that the recorded answers go by, and how to make it."""

    name: str
    make: Callable[[], Sequence[Any]]


Calls = Iterator[Call]


@dataclass(slots=True)
class Session:
    """A HAL under the list."""

    hal: HalApi
    stream: int = 0
    queue: int = 0
    completions: int = 0
    logic: int = 0
    addresses: dict[str, int] = field(default_factory=dict)
    """Blocks, reservations and handles of physical memory that calls of the list have made."""
    kept: list[Any] = field(default_factory=list)
    """What the library may still look at."""

    def code(self, function: str, *arguments: Any) -> Answer:
        """Make a call; the answer is its code alone."""
        return [getattr(self.hal, function)(*arguments)]

    def call(self, name: str, function: str, *arguments: Any) -> Call:
        """Return a call whose answer is its code."""
        return Call(name, partial(self.code, function, *arguments))


def pointer(value: Any) -> Any:
    """Return a reference for an output that nobody looks at."""
    return ctypes.byref(value)


def u32(value: int = 0) -> ctypes.c_uint32:
    """Return a 32-bit number."""
    return ctypes.c_uint32(value)


def u64(value: int = 0) -> ctypes.c_uint64:
    """Return a 64-bit number."""
    return ctypes.c_uint64(value)


def outcome(value: int | None) -> str:
    """Say what became of a pointer that was 0x77 before the call."""
    return "untouched" if value == UNTOUCHED else "set" if value else "null"


UNTOUCHED = 0x77
UNKNOWN_QUEUE = 1999
"""A queue id that is in range and not allocated."""
ABSURD_QUEUE = 70000
"""A queue id behind all ranges."""
HUGE_PAGE = 2 << 20
FAR = 0x170000000000
"""An address of the device's range where nothing was allocated."""

__all__ = ["Answer", "Call", "Calls", "Session", "c", "outcome", "pointer", "s", "u32", "u64"]
