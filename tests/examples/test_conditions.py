"""Branches inside a graph: IF, WHILE and SWITCH over a value that the graph's own kernels write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.api import Device, Kernel, Stream
from runtime.feature import graph
from runtime.feature.graph import Condition, ConditionKind, Graph, Handle
from tests.examples.conftest import StandIn


@pytest.fixture
def write(stand_in: StandIn) -> Kernel:
    """A kernel that writes a word."""

    def write_word(context: Any) -> None:
        context.args.array(0, "u8", 1)[0] = context.args[1]

    return stand_in(write_word, 2)


@pytest.fixture
def add(stand_in: StandIn) -> Kernel:
    """A kernel that adds to a word."""

    def add_to_word(context: Any) -> None:
        context.args.array(0, "i8", 1)[0] += context.args.scalar(8, "i8")

    return stand_in(add_to_word, 2)


def conditional(
    device: Device, stream: Stream, kind: ConditionKind, count: int, value: Callable[[Handle], object],
    body: Callable[[int, Handle, Stream], object],
) -> Graph:
    """Capture a kernel that sets the value, then the node with its branches."""
    made = graph.begin(stream)
    handle = Handle(made, 0, assigned=True)
    value(handle)
    node = Condition(stream, handle, kind, count)
    inner = device.create_stream()
    for number, branch in enumerate(node.branches):
        graph.begin(inner, into=branch)
        body(number, handle, inner)
        graph.end(inner)
    return graph.end(stream)


def run(device: Device, stream: Stream, made: Graph, result: Any) -> int:
    made.execute(stream)
    stream.synchronize(30_000)
    made.close()
    return int(device.download(result, "i8")[0])


@pytest.mark.parametrize(("chosen", "result"), [(1, 10), (0, 20)])
def test_if(device: Device, stream: Stream, write: Kernel, add: Kernel, chosen: int, result: int) -> None:
    total = device.upload(bytes(8))
    made = conditional(
        device, stream, ConditionKind.IF, 2, lambda handle: write[1](handle.address, chosen, stream=stream),
        lambda number, _, inner: add[1](total, 10 * (number + 1), stream=inner),
    )
    assert run(device, stream, made, total) == result


def test_while(device: Device, stream: Stream, write: Kernel, add: Kernel) -> None:
    """Three rounds: each adds 5 and counts the value down to 0."""
    total = device.upload(bytes(8))

    def body(_: int, handle: Handle, inner: Stream) -> None:
        add[1](total, 5, stream=inner)
        add[1](handle.address, np.int64(-1), stream=inner)

    made = conditional(
        device, stream, ConditionKind.WHILE, 1, lambda handle: write[1](handle.address, 3, stream=stream), body
    )
    assert run(device, stream, made, total) == 15


@pytest.mark.parametrize(("chosen", "result"), [(0, 1), (2, 3), (7, 0)])
def test_switch(device: Device, stream: Stream, write: Kernel, add: Kernel, chosen: int, result: int) -> None:
    total = device.upload(bytes(8))
    made = conditional(
        device, stream, ConditionKind.SWITCH, 3, lambda handle: write[1](handle.address, chosen, stream=stream),
        lambda number, _, inner: add[1](total, number + 1, stream=inner),
    )
    assert run(device, stream, made, total) == result


SAMPLE = [
    (ConditionKind.IF, (2.0, 0.5), [(1, 2.0), (0, 0.5)]),
    (ConditionKind.WHILE, (1.0,), [(1, 1.0)]),
    (ConditionKind.SWITCH, (1.0, 2.0, 0.5), [(0, 1.0), (1, 2.0), (2, 0.5)]),
]


@pytest.mark.parametrize(("kind", "factors", "runs"), SAMPLE)
def test_the_host_sets_the_value_of_each_execution(
    device: Device, stream: Stream, write: Kernel, stand_in: StandIn, kind: ConditionKind,
    factors: tuple[float, ...], runs: list[tuple[int, float]],
) -> None:
    """The sample's arrays: each branch adds the second one, times its own factor, to the first."""

    def add_scaled(context: Any) -> None:
        target, left, right = (context.args.array(slot, "f4", 8) for slot in range(3))
        target[:] = left + right * context.args.scalar(24, "f4")

    kernel, left, right = stand_in(add_scaled, 4), np.arange(1, 9, dtype="f4"), np.arange(1, 9, dtype="f4") / 2
    target, one, two = device.upload(np.zeros(8, "f4")), device.upload(left), device.upload(right)
    made = graph.begin(stream)
    handle = Handle(made, 0, assigned=False)
    node, inner = Condition(stream, handle, kind, len(factors)), device.create_stream()
    for branch, factor in zip(node.branches, factors, strict=True):
        graph.begin(inner, into=branch)
        kernel[1](target, one, two, np.float32(factor), stream=inner)
        if kind is ConditionKind.WHILE:
            write[1](handle.address, 0, stream=inner)  # one round
        graph.end(inner)
    graph.end(stream)
    for value, factor in runs:
        device.memory.write(handle.address, value.to_bytes(8, "little"))
        made.execute(stream)
        stream.synchronize(30_000)
        assert np.array_equal(device.download(target, "f4"), left + right * np.float32(factor))
    made.close()
