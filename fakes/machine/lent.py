"""Memory that a HAL function hands out to its caller: small, and not to be found by address afterwards."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


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
        """Lend so many zero bytes of this process's memory; pages that nobody touches cost nothing."""
        made = (ctypes.c_char * max(size, 1))()
        return cls(ctypes.addressof(made), lambda: made)

    def close(self) -> None:
        """Take it back."""
        self._give_back()
