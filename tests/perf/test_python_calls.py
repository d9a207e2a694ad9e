"""How many Python functions an operation calls: a count that no load of the machine and no faster CPU changes.

A path that is left for a slower one is many calls more. Each fence is about twice what was counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from runtime import tracing
from runtime.api import Device, Runtime
from runtime.cli.bench.groups import CHIPS
from runtime.cli.sample import minimal_kernel

pytestmark = pytest.mark.perf

TIMES = 128
"""Twice as many as tasks go between two looks at what is done."""


@pytest.fixture(params=CHIPS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(f"null://{request.param}")
    yield machine.device(0)
    machine.close(force=True)


def calls_of(operation: Callable[[], object]) -> float:
    """Return how many Python functions an operation calls, in the mean, once it has been prepared."""
    seen = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        seen += event == "call"

    operation()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for _ in range(TIMES):
            operation()
    finally:
        sys.setprofile(before)
    return seen / TIMES


@pytest.mark.parametrize("born", ["before", "under"])
def test_a_watched_launch_takes_the_fast_path(device: Device, born: str) -> None:
    """Also in streams that are made under the trace: whether they may send must be known when they are whole."""
    kernel, buffers = device.load(minimal_kernel("perf", 4)).only, [device.alloc(64) for _ in range(4)]
    stream = device.create_stream()
    with tracing(runtime=device.runtime):
        stream = device.create_stream() if born == "under" else stream
        assert calls_of(lambda: kernel[8](*buffers, stream=stream)) < 30


def test_a_watched_launch_into_a_graph_takes_the_fast_path(device: Device) -> None:
    kernel, buffers = device.load(minimal_kernel("perf", 4)).only, [device.alloc(64) for _ in range(4)]
    with tracing(runtime=device.runtime):
        stream = device.create_stream()
        with stream.capture():
            assert calls_of(lambda: kernel[8](*buffers, stream=stream)) < 30
