"""Memory that a HAL function hands out to its caller: small, and not to be found by address afterwards."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

_PAGES = 1 << 16
"""Bytes from which on space is mapped by itself."""


class Lent:
    """A piece of memory that the caller may use until it is closed; `address` is where the caller finds it."""

    def __init__(self, address: int, give_back: Callable[[], object]) -> None:
        self.address = address
        self._give_back = give_back

    @classmethod
    def buffer(cls, data: bytes) -> Lent:
        """Lend memory of this process with these contents."""
        made = ctypes.create_string_buffer(data, max(len(data), 1))
        return cls(ctypes.addressof(made), lambda: made)

    @classmethod
    def space(cls, size: int) -> Lent:
        """Lend so many zero bytes of this process's memory; pages that nobody touches cost nothing.

        Raises:
            OSError, OverflowError: the system has no addresses for so many.
        """
        if size < _PAGES:
            return cls.buffer(bytes(size))
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        first = ctypes.c_char.from_buffer(pages)
        return cls(ctypes.addressof(first), lambda: first)

    def close(self) -> None:
        """Take it back."""
        self._give_back()
