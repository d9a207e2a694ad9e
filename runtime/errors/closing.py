"""Closing that can fail: what the driver refuses to take back stays open, so that `close` can be called again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Closable", "closing"]


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
