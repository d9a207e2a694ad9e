"""Closing that can fail: what the driver refuses to take back stays open, so that `close` can be called again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from runtime.errors.faults import RuntimeFault

__all__ = ["Closable", "closing", "each"]


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


def each(steps: Iterable[Callable[[], object]]) -> None:
    """Make every step of a close, whatever some of them raise; the first fault is raised in the end."""
    first: RuntimeFault | None = None
    for step in steps:
        try:
            step()
        except RuntimeFault as fault:
            first = first or fault
    if first is not None:
        raise first
