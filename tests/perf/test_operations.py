"""Fences around the operations of the bench: about twice the ratio to calibration that each was measured at."""

from __future__ import annotations

import pytest

from runtime.cli.bench.groups import CHIPS, find
from runtime.cli.bench.measure import Loop, Spec, measure, targets

pytestmark = pytest.mark.perf

CALLS = 4000
ATTEMPTS = 3

FENCES: dict[str, float] = {
    "launch, arguments on the device": 16,
    "launch, 64 bytes of arguments": 38,
    "kernel[blocks](...), four buffers": 42,
    "kernel[blocks](...), buffers and scalars": 46,
    "64 launches with one call, per launch": 8,
    "1,000 launches with one call, per launch": 3.5,
    "64 tasks in a batch, per task": 66,
    "64 tasks in a batch, launches as rows, per task": 40,
    "64 tasks in a batch sent again, per task": 11,
    "1,000 tasks in a batch sent again, per task": 5.5,
    "event record": 32,
    "event record, a new id each time": 90,
    "event record and wait": 84,
    "notify record": 24,
    "copy inside the device, 4 KiB": 28,
    "copy to the device, 4 KiB, pinned": 36,
    "synchronize an idle stream": 14,
    "query of an idle stream": 50,
    "pool: malloc and free": 50,
    "tracing on, added to a launch": 42,
    "graph replay": 24,
    "capture, per launch": 45,
    "capture, the launches alone": 24,
    "update of one graph node": 50,
    "new arguments for all of 1,000 graph nodes": 1600,
}

TO_THE_END: dict[str, float] = {
    "launch to completion": 90,
    "four buffers to completion": 220,
    "graph node executed": 80,
    "record + wait executed": 420,
}
"""Of work on the fake up to its end. Without its fast path a launch takes 130, a node 150."""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["launches", "batches", "tasks", "memory", "watching", "graphs"])
def test_operations(name: str, chip: str) -> None:
    _hold(name, f"null://{chip}", FENCES, CALLS)


@pytest.mark.parametrize("chip", CHIPS)
def test_work_on_the_fake(chip: str) -> None:
    _hold("executed", f"fake://{chip}", TO_THE_END, CALLS // 4)


def test_each_row_with_a_target_has_a_fence() -> None:
    """Else a target could be missed, and no test would fail."""
    stated = targets()
    assert set(stated["rows"]) | set(stated["limits_ns"]) <= set(FENCES)
    assert set(stated["fake"]) <= set(TO_THE_END)


def _hold(name: str, url: str, fences: dict[str, float], calls: int) -> None:
    """Fail for the rows of a group that are above their fence."""
    too_dear, seen = {}, 0
    for spec, loop in find(f"operations:{name}").entries(url, frozenset(fences)):
        fence = fences.get(spec.name)
        if fence is not None and loop is not None:
            seen += 1
            if (best := _best(spec, loop, fence, calls)) > fence:
                too_dear[spec.name] = f"{best:.1f} x calibration, fence {fence}"
    assert seen
    assert not too_dear


def _best(spec: Spec, loop: Loop, fence: float, calls: int) -> float:
    """Return the smallest ratio; a machine that is busy with something else gets further attempts."""
    best = float("inf")
    for _ in range(ATTEMPTS):
        best = min(best, measure(loop, max(calls // spec.weight, 5)).ratio / spec.share)
        if best <= fence:
            break
    return best
