"""Handles and ownership: integers that can go stale safely, and children that are closed before their parent."""

from __future__ import annotations

import re
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from npuhal.tuples import NamedTuple
from npuhal.words import a
from runtime import errors
from runtime.core.diagnostics.resource_report import creation_site
from runtime.memory.ledger import VARIABLE

T = TypeVar("T")

_INDEX_BITS = 24
_INDEX_MASK = (1 << _INDEX_BITS) - 1


_REMEMBERED = 1024
"""Handles that are still known after their objects have gone, the newest."""
_NUMBERS = ("stream_id", "notify_id", "model_id", "label_id")
"""How objects call the number that their messages show."""


_OTHER = "it is the handle of"
_NEVER = "it was never given out by this process"


class _Gone(NamedTuple):
    """An object that was destroyed: its handle, its class, number and device, and the places where it was made and
    ended; "" is not known.
    """

    handle: int
    kind: type[Any]
    number: int | None
    device: int | None
    made: str
    ended: str


class HandleTable:
    """Integers for objects: the low 24 bits are a slot, the bits above a generation that grows at each reuse.

    A stale handle therefore never reaches a newer object. 0 is never given out: it means "the default one".
    """

    def __init__(self) -> None:
        self._objects: list[Any] = [None]
        self._generations: list[int] = [0]
        self._free: list[int] = []
        self._gone: deque[_Gone] = deque(maxlen=_REMEMBERED)
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
                index = self._free[-1]
                self._objects[index] = item
                del self._free[-1]  # no call in between: an interrupt would lose the slot
            else:
                index = len(self._objects)
                self._generations[index:] = (1,)  # first: an interrupt may leave one too many
                self._objects.append(item)
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
        what = _called(kind)
        raise dead_handle(what, f"handle {handle:#x}", self.history(handle))

    def history(self, handle: int) -> str:
        """Say in words what a handle that is no good stands or stood for; "" where nothing is known of it."""
        index = handle & _INDEX_MASK
        if self.holds(handle):
            if (item := _behind(self._objects[index])) is None:
                return "nobody held the object, so it was given up"
            return f"{_OTHER} {_told(*_facts(item))}{_at(', made at', getattr(item, 'site', ''))}"
        for gone in reversed(self._gone):
            if gone.handle == handle:
                where = _at(", made at", gone.made) + _at(", destroyed at", gone.ended)
                what = _told(gone.kind, gone.number, gone.device)
                return f"it was {what}{where}" + ("" if where else f", destroyed before; {VARIABLE}=1 tells where")
        if 0 < index < len(self._objects) and handle >> _INDEX_BITS <= self._generations[index]:
            return "what it stood for was destroyed or dropped before"
        return _NEVER

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
                if (item := _behind(self._objects[index])) is not None:
                    made = getattr(item, "site", "")
                    self._gone.append(_Gone(handle, *_facts(item), made, creation_site() if made else ""))
                self._generations[index] += 1
                self._objects[index] = None
                self._free.append(index)

    def __len__(self) -> int:
        return len(self._objects) - 1 - len(self._free)


def _behind(item: Any) -> Any:
    """Return an object that may be held weakly; None where it is gone."""
    return item() if type(item) is weakref.ref else item


def _called(kind: type[Any]) -> str:
    """Return how messages call a class: argument list, count-notify."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__.strip("_")).lower()
    return {"captured": "graph", "count notify": "count-notify"}.get(words, words)


@cache
def _number_of(kind: type[Any]) -> str:
    """Return the name of the attribute that numbers the objects of a class, or ""."""
    return next((name for name in _NUMBERS if hasattr(kind, name)), "")


def _facts(item: Any) -> tuple[type[Any], int | None, int | None]:
    """Return class, number and device of an object, as far as it has them."""
    kind = type(item)
    name = _number_of(kind)  # type: ignore[arg-type]  # classes are hashable
    number = getattr(item, name, None) if name else None
    return kind, number, getattr(getattr(item, "device", None), "user_id", None)


def _told(kind: type[Any], number: int | None, device: int | None) -> str:
    """Return what an object is, with its number and device where it has them."""
    what = _called(kind) + ("" if number is None else f" {number}")
    return what if device is None else f"{what} of device {device}"


def _at(lead: str, site: str) -> str:
    return f"{lead} {site}" if site else ""


def dead_handle(what: str, which: str, history: str = "") -> errors.RuntimeFault:
    """Return the fault for the use of something that was destroyed or never was.

    Args:
        what: the kind of thing that was needed.
        which: what was given.
        history: what is known of it, as `HandleTable.history` says.
    """
    known = history or "it was destroyed, or belongs to another process"
    cure = f"do not use {a(what)} after it was closed, or after its device was reset"
    if known.startswith(_OTHER):
        cure = f"pass the handle of {a(what)}"
    elif known == _NEVER:
        cure = f"pass the handle that the call gave which made the {what}"
    return errors.fault(
        "ACL_ERROR_RT_INVALID_HANDLE", f"{which} is no live {what}: {known}", ee="EE1017",
        params=(f"use of {a(what)}", what, known),
        hint=cure,
    )


class _Member(weakref.ref[Any]):
    """A weak reference to a child that knows by which key it is kept: a function for each would take 200 bytes more."""

    __slots__ = ("key",)
    key: int


class Children:
    """Weakly held children of an owner, in order of creation."""

    def __init__(self) -> None:
        self._members: dict[int, _Member] = {}
        self._lock = threading.Lock()
        members = self._members

        def forget(reference: _Member) -> None:
            if members.get(reference.key) is reference:
                del members[reference.key]

        self._forget: Any = forget

    def add(self, child: object) -> None:
        """Remember a child for as long as it lives."""
        member = _Member(child, self._forget)
        member.key = id(child)
        with self._lock:
            self._members[member.key] = member

    def remove(self, child: object) -> None:
        """Forget a child that was closed."""
        with self._lock:
            self._members.pop(id(child), None)

    def renew_lock(self) -> None:
        """Take a new lock: in a child of fork, the old one may be held by a thread that is not there."""
        self._lock = threading.Lock()

    def alive(self) -> list[Any]:
        """Return the children that there are."""
        if not self._members:
            return []
        with self._lock:
            members = list(self._members.values())
        return [child for reference in members if (child := reference()) is not None]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.alive())

    def __len__(self) -> int:
        return len(self._members)
