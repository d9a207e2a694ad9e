"""What tells the exceptions of signal handlers from others."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from npuhal.interrupts import raised_by_handler


class Stop(Exception):
    """What handlers raise."""


class Handler:
    def __call__(self, number: int, frame: object) -> None:
        raise Stop

    def method(self, *given: object) -> None:
        raise Stop


def named(why: str, number: int, frame: object) -> None:
    Handler().method()


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    "handler", [Handler(), Handler().method, partial(named, "why"), lambda _number, _frame: named("", 1, 2)]
)
def test_handlers_of_all_kinds_are_known(handler: Callable[..., None]) -> None:
    signal.signal(signal.SIGUSR1, handler)
    with pytest.raises(Stop) as raised:
        signal.raise_signal(signal.SIGUSR1)
    assert raised_by_handler(raised.value)


def test_mistakes_are_no_handlers() -> None:
    with pytest.raises(Stop) as raised:
        Handler().method(1, None)
    assert not raised_by_handler(raised.value)
    assert not raised_by_handler(Stop())
