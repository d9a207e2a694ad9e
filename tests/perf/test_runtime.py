"""Fences around the runtime's own cost per call, on null://: CPU time as a multiple of a calibration loop.

The loop packs one 64-byte queue entry, the least that a launch must do (about 0.1 us on the machines we know). A ratio
moves much less with the machine and its load than a time does; each fence is about twice what was measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import pytest

from runtime.api import Device, Runtime
from runtime.cli.bench.measure import calibration
from runtime.cli.sample import minimal_kernel
from runtime.feature import graph
from runtime.launch.task_records import Kept
from runtime.launch.watching import Watch

pytestmark = pytest.mark.perf

CHIPS = ("ascend910b1", "ascend950pr_9599")
LAUNCHES = 100_000
CALLS = 10_000
ATTEMPTS = 5

Loop = Callable[[int], None]


def cost(loop: Loop, calls: int) -> float:
    """Return CPU seconds of this thread."""
    started = time.thread_time_ns()
    loop(calls)
    return (time.thread_time_ns() - started) / 1e9


def ratio(loop: Loop, calls: int) -> float:
    """Return the smallest of several ratios per call; calibration and loop are measured in turns."""
    loop(calls // 10)
    gc.collect()
    gc.disable()
    try:
        return min(cost(loop, calls) / cost(calibration, calls) for _ in range(ATTEMPTS))
    finally:
        gc.enable()


@pytest.fixture(params=CHIPS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(f"null://{request.param}")
    yield machine.device(0)
    machine.close(force=True)


def check(name: str, device: Device, measured: float, fence: float) -> None:
    print(f"{name} on {device.chip.soc}: {measured:.1f} x calibration, fence {fence}")
    assert measured <= fence, f"{name} costs {measured:.1f} x calibration; the fence is {fence}"


def test_launch_with_device_arguments(device: Device) -> None:
    stream = device.create_stream()
    launch = device.load(minimal_kernel("perf", 4)).only.bind_device_arguments(stream, 8)
    address = device.alloc(4096).address

    def loop(calls: int) -> None:
        for _ in range(calls):
            launch(address)

    before = stream.ring.submitted
    measured = ratio(loop, LAUNCHES)
    assert stream.ring.submitted - before > 200 * stream.ring.depth  # the ring was passed, and places reclaimed, often
    assert stream.ring.pending < stream.ring.depth
    check("launch with device arguments", device, measured, 16)


def test_watching_a_launch(device: Device) -> None:
    """What a watched launch costs more than a plain one: 15 times the calibration where nothing else runs."""
    plain, watched = device.create_stream(), device.create_stream()
    kernel = device.load(minimal_kernel("perf", 4)).only
    buffers = [device.alloc(4096) for _ in range(4)]
    recorder = Watch(device.runtime, Kept())
    launches = [kernel.bind(plain, 8)]
    recorder.start()
    launches.append(kernel.bind(watched, 8))

    def loop(launch: Callable[..., None]) -> Loop:
        def run(calls: int) -> None:
            for _ in range(calls):
                launch(*buffers)

        return run

    without, with_recorder = (ratio(loop(launch), CALLS) for launch in launches)
    recorder.stop()
    check("watching a launch", device, with_recorder - without, 30)


@pytest.mark.parametrize("size", [1, 100, 4000])
def test_replay_of_a_graph(device: Device, size: int) -> None:
    stream = device.create_stream()
    launch, address = device.load(minimal_kernel("perf", 4)).only.bind_device_arguments, device.alloc(4096).address
    graph.begin(stream)
    captured = launch(stream, 8)
    for _ in range(size):
        captured(address)
    made = graph.end(stream)
    made.execute(stream)

    def loop(calls: int) -> None:
        for _ in range(calls):
            made.execute(stream)

    check(f"replay of {size} kernels", device, ratio(loop, CALLS), 24)
