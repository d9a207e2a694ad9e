"""Waiting for a driver that is busy: bounded, logged, and only where nothing has been done yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from npuhal.errors import Busy, error_class, error_name
from npuhal.late import logger

__all__ = ["ATTEMPTS", "patiently"]

_LOG = logger(__name__)
ATTEMPTS = 6
"""How often a busy driver is asked, the first time included."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0


def patiently(
    ask: Callable[[], int], call: str, *, device_id: int, stepped: bool, told: Callable[[], None] = lambda: None
) -> int:
    """Return what a call of the driver answers, asked again while the answer is that something is busy.

    Args:
        call: the function that `ask` calls, for the log.
        stepped: the machine moves only during calls, so that a pause would gain nothing.
        told: called before each further attempt.
    """
    answer = ask()
    if not _busy(answer):
        return answer
    from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, wait_exponential

    def log(state: RetryCallState) -> None:
        told()
        found: Any = state.outcome
        _LOG.warning(
            "device %d: %s answered %s, asked again (%d of %d)", device_id, call, error_name(found.result()),
            state.attempt_number + 1, ATTEMPTS,
        )

    again = Retrying(
        retry=retry_if_result(_busy), stop=stop_after_attempt(ATTEMPTS), before_sleep=log,
        wait=wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S),
        sleep=_no_pause if stepped else time.sleep, retry_error_callback=_last_answer,
    )
    first: list[int] = [answer]
    return int(again(lambda: first.pop() if first else ask()))


def _busy(answer: int) -> bool:
    return answer != 0 and error_class(answer) is Busy


def _no_pause(_seconds: float) -> None:
    """The machine goes on by the next call."""


def _last_answer(state: Any) -> int:
    return int(state.outcome.result())
