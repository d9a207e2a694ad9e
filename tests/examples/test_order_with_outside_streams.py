"""A graph that waits for a record from outside, one that records for a stream outside, and both with each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from runtime.api import Device, Runtime
from runtime.feature.graph import CaptureMode

COUNT = 8
START = np.arange(1, COUNT + 1, dtype="i4")


@pytest.fixture(params=["fake://ascend910b1?seed=1&check=all", "fake://ascend950pr_9599?seed=1&check=all"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close()


def test_a_stream_records_and_a_graph_waits(device: Device) -> None:
    inner, outer = device.create_stream(), device.create_stream()
    event = device.create_event()
    source, target = device.alloc(4 * COUNT), device.alloc(4 * COUNT)
    with inner.capture(CaptureMode.RELAXED) as graph:
        inner.wait_external(event)
        inner.copy(target, source)
    device.copy(source, START)
    outer.record(event)
    graph.launch(inner)
    inner.synchronize(30_000)
    assert (device.download(target, "i4") == START).all()
    graph.close()


def test_a_graph_records_and_a_stream_waits(device: Device) -> None:
    inner, outer = device.create_stream(), device.create_stream()
    event = device.create_event()
    source, target, result = device.upload(START), device.alloc(4 * COUNT), device.alloc_host(4 * COUNT)
    with inner.capture(CaptureMode.RELAXED) as graph:
        inner.copy(target, source)
        inner.record_external(event)
    graph.launch(inner)
    outer.wait(event)
    outer.copy(result, target)
    outer.synchronize(30_000)
    assert (result.numpy("i4") == START).all()
    graph.close()


def test_one_graph_records_and_another_one_waits(device: Device) -> None:
    first, second = device.create_stream(), device.create_stream()
    event = device.create_event()
    source, middle, target = device.upload(START), device.alloc(4 * COUNT), device.alloc(4 * COUNT)
    with first.capture(CaptureMode.RELAXED) as one:
        first.copy(middle, source)
        first.record_external(event)
    with second.capture(CaptureMode.RELAXED) as other:
        second.wait_external(event)
        second.copy(target, middle)
    one.launch(first)
    other.launch(second)
    second.synchronize(30_000)
    assert (device.download(target, "i4") == START).all()
    one.close()
    other.close()
