"""Allocators of the user's own, by stream (acl_rt_allocator.h; core_spec, table of allocator calls).

The runtime only keeps them: libraries of operators and of models ask for a stream's allocator and call it.
"""

from __future__ import annotations

import threading
from typing import Any

from npuhal.records import dataclass, field

Target = Any
"""A Python function, or the address of a C function."""

_REQUIRED = ("allocator", "alloc", "free", "address_of_block")


@dataclass(slots=True, eq=False)
class AllocatorDescription:
    """What an allocator is made of; None is what has not been set."""

    allocator: int | None = None
    """The user's object, which the functions are called with."""
    alloc: Target | None = None
    """alloc(allocator, size in bytes) -> block."""
    free: Target | None = None
    """free(allocator, block)."""
    advise: Target | None = None
    """advise(allocator, size in bytes, wished address) -> block; may be left out."""
    address_of_block: Target | None = None
    """address_of_block(block) -> device address."""

    def missing(self) -> list[str]:
        """Return the names of the parts that must be set and are not."""
        return [name for name in _REQUIRED if getattr(self, name) is None]


@dataclass(slots=True)
class StreamAllocators:
    """The allocators of a process by the handle of their stream."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _by_stream: dict[int, tuple[int, AllocatorDescription]] = field(default_factory=dict)

    def register(self, stream: int, handle: int, description: AllocatorDescription) -> None:
        """Give a stream an allocator, instead of the one it had."""
        with self._lock:
            self._by_stream[stream] = handle, description

    def unregister(self, stream: int) -> None:
        """Take a stream's allocator away; none is no mistake."""
        with self._lock:
            self._by_stream.pop(stream, None)

    def find(self, stream: int) -> tuple[int, AllocatorDescription] | None:
        """Return the handle and the allocator of a stream, or None."""
        with self._lock:
            return self._by_stream.get(stream)


__all__ = ["AllocatorDescription", "StreamAllocators"]
