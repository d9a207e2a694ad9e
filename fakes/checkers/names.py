"""What things are called in reports: by the names that the program has given, and the call sites where it made them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from fakes.checkers.shadow import Work
    from fakes.machine.blocks import Allocation

_OURS = frozenset({"fakes", "npuhal", "chips", "runtime", "ctypes", "contextlib", "threading", "weakref"})
"""Top packages whose code is not the program."""

CallSite = tuple["CodeType | Code", int]
"""Code and line."""


class Code(NamedTuple):
    """Code of a program that is another process: its file."""

    co_filename: str


_ELSEWHERE = threading.local()


def elsewhere(text: str) -> None:
    """Say where the program is whose call this thread carries out, as "file:line"; empty: nobody knows."""
    file, _, line = text.rpartition(":")
    _ELSEWHERE.call_site = (Code(file), int(line)) if file and line.isdigit() else None


@contextmanager
def apart() -> Iterator[None]:
    """Let this thread carry out calls that were made elsewhere meanwhile: what `elsewhere` says ends with it."""
    here = _ELSEWHERE.__dict__
    kept = here.copy()
    try:
        yield
    finally:
        here.clear()
        here.update(kept)


def call_site(depth: int = 2) -> CallSite | None:
    """Return where the program is that has called into us, `depth` callers up at the least."""
    if hasattr(_ELSEWHERE, "call_site"):
        known: CallSite | None = _ELSEWHERE.call_site
        return known
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return frame.f_code, frame.f_lineno
        frame = frame.f_back
    return None


def at(where: CallSite | None, word: str = "at") -> str:
    """Return " (at file:line)", or nothing for a call site that is not known."""
    return "" if where is None else f" ({word} {where[0].co_filename}:{where[1]})"


class Names:
    """Names by (kind, number), as HalApi.annotate tells them; objects are not kept alive."""

    def __init__(self) -> None:
        self._things: dict[tuple[str, int], Any] = {}
        self.locate: Callable[[CallSite | None], CallSite | None] | None = None
        """Finds the program's line behind that of a library above the runtime."""

    def site(self) -> CallSite | None:
        """Return where the program is that has called into us."""
        found = call_site(3)
        return found if self.locate is None else self.locate(found)

    def set(self, key: tuple[str, int], thing: object) -> None:
        """Remember what an id or address stands for."""
        try:
            self._things[key] = ref(thing)
        except TypeError:
            self._things[key] = lambda: thing

    def forget(self, key: tuple[str, int]) -> None:
        """What it stood for is gone."""
        self._things.pop(key, None)

    def name(self, kind: str, number: int) -> str:
        """Return " 'name'" or nothing."""
        told = self._things.get((kind, number))
        thing = None if told is None else told()
        name = thing if isinstance(thing, str) else getattr(thing, "name", "")
        return f" '{name}'" if name else ""

    def stream(self, number: int, device: int) -> str:
        """Name a stream."""
        return f"stream {number}{self.name('stream', number)} of device {device}"

    def work(self, work: Work) -> str:
        """Name a task, or what the host did."""
        if work.stream < 0:
            return f"{work.what} by the host{at(work.site)}"
        where = self.stream(work.stream, work.device)
        return f"{work.what} at position {work.position} of {where}{at(work.site, 'submitted at')}"

    def block(self, block: Allocation) -> str:
        """Name a piece of memory."""
        asked = f" ({block.asked} bytes were asked for)" if 0 < block.asked < block.size else ""
        return f"{block}{asked}{self.name('mem', block.base)}{at(block.site, 'allocated at')}"
