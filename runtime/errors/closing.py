"""Closing that can fail: what the driver refuses to take back stays open, so that `close` can be called again.

An interrupt (Ctrl-C, the exception of a signal handler) can come between any two steps of a close. What gives one thing
back is therefore made so that it can be called again: it does nothing where the thing has gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol

from npuhal.changed import try_lock
from runtime.errors.faults import RuntimeFault

__all__ = ["NOTHING", "Again", "Closable", "Once", "Steps", "closing", "each"]


class Closable(Protocol):
    """What has an end."""

    closed: bool


@contextmanager
def closing(thing: Closable) -> Iterator[None]:
    """Count a thing as closed from here on; where the block fails it is open again."""
    thing.closed = True
    try:
        yield
    except BaseException:
        thing.closed = False
        raise


class Again(partial[Any]):
    """A step that can be made again: where an interrupt has broken it off, `Steps` do."""

    __slots__ = ()


class Once(Again):
    """A step that gives one thing back; called again it does nothing, also where another one has the number by then."""

    __slots__ = ()

    def __new__(cls, rows: Mapping[Any, object], key: object, give: Callable[[], object]) -> Once:
        """Args:
        rows: what is held; the row of the thing is another object each time that somebody takes its number.
        key: of the row; what is not held is not given back.
        give: gives it back and takes the row out.
        """
        return super().__new__(cls, _give, rows, key, rows.get(key), give)


def _give(rows: Mapping[Any, object], key: object, row: object, give: Callable[[], object]) -> None:
    """Give a thing back, unless that was done."""
    if row is not None and rows.get(key) is row:
        give()


class Steps:
    """The steps of a close: each call makes those that are left, whatever some of them raise; one thread at a time.

    The first fault is raised in the end, or an interrupt, if one has come. The step that it has broken off is made
    again, once, if it is an `Again`, and counts as made if not.
    """

    __slots__ = ("_busy", "_left")

    def __init__(self, steps: Iterable[Callable[[], object]]) -> None:
        self._left = list(steps)[::-1]
        self._busy = threading.Lock()

    def __call__(self) -> None:
        """Make what is left; nothing while another call does."""
        for free in try_lock(self._busy):
            if not free:
                return
            try:
                self._make_all()
            finally:
                self._busy.release()

    def finish(self, waiting: MutableSequence[Any]) -> None:
        """Make the steps, and take them out of what waits to be called as soon as none is left.

        Those that are left wait there: a sweep may have taken them meanwhile, and they did nothing for it.
        """
        try:
            self()
        finally:
            if not self._left:
                with suppress(ValueError):
                    waiting.remove(self)
            elif self not in waiting:
                waiting += (self,)

    def _make_all(self) -> None:
        left = self._left
        raised: list[BaseException] = []
        broken_off: object = None
        while left:
            try:
                self._make()
            except RuntimeFault as fault:
                raised.append(fault)
                del left[-1]
            except BaseException as interrupt:
                raised.insert(0, interrupt)
                step = left[-1] if left else None
                if left and (step is broken_off or not isinstance(step, Again)):
                    del left[-1]
                broken_off = step
        if raised:
            raise raised[0]

    def _make(self) -> None:
        while self._left:
            self._left[-1]()
            del self._left[-1]


NOTHING = Steps(())
"""A close that has no steps."""


def each(steps: Iterable[Callable[[], object]]) -> None:
    """Make every step of a close, as `Steps` do."""
    Steps(steps)()
