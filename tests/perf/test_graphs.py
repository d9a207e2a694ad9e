"""Fences around changes of graphs, as multiples of the calibration loop; see test_runtime, also for replay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from runtime.api import Device, Stream
from runtime.cli.sample import minimal_kernel
from runtime.feature.graph import Graph
from tests.perf.test_runtime import CALLS, check, device, ratio

__all__ = ["device"]

pytestmark = pytest.mark.perf

KERNELS = 1000


def captured(device: Device, stream: Stream, count: int) -> Graph:
    """Return a graph of so many kernels with four arguments each."""
    kernel = device.load(minimal_kernel("perf", 4)).only
    buffers = [device.alloc(64) for _ in range(4)]
    with stream.capture() as graph:
        for _ in range(count):
            kernel[8](*buffers, stream=stream)
    return graph


def test_capture(device: Device) -> None:
    stream = device.create_stream()
    launch, address = device.load(minimal_kernel("perf", 4)).only.bind_device_arguments, device.alloc(64).address

    def loop(calls: int) -> None:
        for _ in range(calls // KERNELS):
            with stream.capture() as graph:
                put = launch(stream, 8)
                for _ in range(KERNELS):
                    put(address)
            graph.close()

    check("a captured launch", device, ratio(loop, CALLS), 45)


def test_new_arguments_for_one_node(device: Device) -> None:
    graph = captured(device, device.create_stream(), 10)
    node = graph.kernels[3]
    buffers = tuple(device.alloc(64) for _ in range(4))
    sets = itertools.cycle((buffers, buffers[::-1]))

    def loop(calls: int) -> None:
        for _ in range(calls):
            graph.update(node, args=next(sets))

    check("new arguments for one node", device, ratio(loop, CALLS), 27)


def test_new_arguments_for_all_nodes(device: Device) -> None:
    graph = captured(device, device.create_stream(), KERNELS)
    rows = np.full((KERNELS, 4), device.alloc(64).address, np.uint64)

    def loop(calls: int) -> None:
        for _ in range(calls):
            graph.repoint(rows)

    check("new arguments for 1,000 nodes", device, ratio(loop, 300), 1400)
