"""Handles and ownership: integers that can go stale safely, and children that are closed before their parent."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

from runtime import errors

T = TypeVar("T")

_INDEX_BITS = 24
_INDEX_MASK = (1 << _INDEX_BITS) - 1


class HandleTable:
    """Integers for objects: the low 24 bits are a slot, the bits above a generation that grows at each reuse.

    A stale handle therefore never reaches a newer object. 0 is never given out: it means "the default one".
    """

    def __init__(self) -> None:
        self._objects: list[Any] = [None]
        self._generations: list[int] = [0]
        self._free: list[int] = []
        self._lock = threading.Lock()

    def add(self, item: object, *, weak: bool = False) -> int:
        """Register an object and return its handle.

        Args:
            weak: the object may go while its handle is there; see `keep`.
        """
        if weak:
            item = weakref.ref(item)
        with self._lock:
            if self._free:
                index = self._free.pop()
                self._objects[index] = item
            else:
                index = len(self._objects)
                self._objects.append(item)
                self._generations.append(1)
            return self._generations[index] << _INDEX_BITS | index

    def get(self, handle: int, kind: type[T]) -> T:
        """Return the live object of a handle; a dead or foreign one raises InvalidHandle 107017."""
        index = handle & _INDEX_MASK
        if 0 < index < len(self._objects):
            item = self._objects[index]  # first the object, then its generation: both may change in between
            if self._generations[index] == handle >> _INDEX_BITS:
                if isinstance(item, kind):
                    return item
                if type(item) is weakref.ref and isinstance(item := item(), kind):
                    return item
        raise dead_handle(kind.__name__.lower(), f"handle {handle:#x}")

    def keep(self, handle: int) -> int:
        """Keep the object of a weak handle, which a program has that knows nothing else; returns the handle."""
        index = handle & _INDEX_MASK
        with self._lock:
            if self.holds(handle) and type(item := self._objects[index]) is weakref.ref:
                self._objects[index] = item()
        return handle

    def holds(self, handle: int) -> bool:
        """Return whether a handle stands for a live object."""
        index = handle & _INDEX_MASK
        return 0 < index < len(self._objects) and self._generations[index] == handle >> _INDEX_BITS

    def remove(self, handle: int) -> None:
        """Forget a handle; forgetting it twice does nothing."""
        index = handle & _INDEX_MASK
        with self._lock:
            if self.holds(handle):
                self._generations[index] += 1
                self._objects[index] = None
                self._free.append(index)

    def __len__(self) -> int:
        return len(self._objects) - 1 - len(self._free)


def dead_handle(what: str, which: str) -> errors.RuntimeFault:
    """Return the fault for the use of something that was destroyed or never was."""
    return errors.fault(
        "ACL_ERROR_RT_INVALID_HANDLE", f"{which} is no live {what}",
        ee="EE1017", params=(f"use of a {what}", what, "it was destroyed, or belongs to another process"),
        hint=f"do not use a {what} after it was closed, or after its device was reset",
    )


class Children:
    """Weakly held children of an owner, in order of creation."""

    def __init__(self) -> None:
        self._members: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.Lock()

    def add(self, child: object) -> None:
        """Remember a child for as long as it lives."""
        key = id(child)

        def forget(reference: weakref.ref[Any], key: int = key) -> None:
            if self._members.get(key) is reference:
                del self._members[key]

        with self._lock:
            self._members[key] = weakref.ref(child, forget)

    def remove(self, child: object) -> None:
        """Forget a child that was closed."""
        with self._lock:
            self._members.pop(id(child), None)

    def renew_lock(self) -> None:
        """Take a new lock: in a child of fork, the old one may be held by a thread that is not there."""
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            members = list(self._members.values())
        for reference in members:
            child = reference()
            if child is not None:
                yield child

    def __len__(self) -> int:
        return len(self._members)
