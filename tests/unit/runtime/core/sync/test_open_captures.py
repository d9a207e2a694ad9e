"""The gate of captures: every mode of a capture against every exchange mode, on its own and on another thread."""

from __future__ import annotations

import threading

import pytest

from runtime.core.process.current import CurrentState
from runtime.core.sync.open_captures import CaptureMode, OpenCaptures

GLOBAL, LOCAL, RELAXED = CaptureMode


@pytest.mark.parametrize(
    ("exchange", "capture", "own", "other"),
    [
        (GLOBAL, GLOBAL, True, True), (GLOBAL, LOCAL, True, False), (GLOBAL, RELAXED, False, False),
        (LOCAL, GLOBAL, True, False), (LOCAL, LOCAL, True, False), (LOCAL, RELAXED, False, False),
        (RELAXED, GLOBAL, False, False), (RELAXED, LOCAL, False, False), (RELAXED, RELAXED, False, False),
    ],
)  # fmt: skip
def test_who_must_not_wait(exchange: CaptureMode, capture: CaptureMode, own: bool, other: bool) -> None:
    current = CurrentState()
    captures = OpenCaptures(current)
    seen: list[bool] = []

    def elsewhere() -> None:
        current.capture_mode = exchange
        seen.append(captures.forbid_waiting())

    current.capture_mode = exchange
    captures.enter("graph", capture)
    there = threading.Thread(target=elsewhere)
    there.start()
    there.join()
    assert (captures.forbid_waiting(), seen) == (own, [other])
    for _ in range(2):
        captures.leave("graph")
        assert not captures.forbid_waiting()


def test_the_strictest_open_capture_counts() -> None:
    captures = OpenCaptures(CurrentState())
    for mode in CaptureMode:
        captures.enter(mode.name, mode)
    for mode in (RELAXED, LOCAL):
        captures.leave(mode.name)
        assert captures.forbid_waiting()
    captures.leave(GLOBAL.name)
    assert not captures.forbid_waiting()
