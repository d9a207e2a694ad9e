"""Objects that are dropped instead of closed: what they hold comes back, with the collector switched off, too."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph.model.model import Model
from tests.contract.holdings import holdings

MiB = 1 << 20


@pytest.fixture(params=["fake://ascend910b3?sqs=24", "fake://ascend950?sqs=24"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    gc.disable()
    with Runtime(request.param) as machine:
        yield machine.device(0)
    gc.enable()


def _executed(device: Device) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        stream.fill(device.pool.alloc(64, stream), 1)
        stream.record(device.create_event())
    graph.launch(stream)


def _never_executed(device: Device) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        stream.fill(device.alloc(64), 1)
    assert graph.nodes


def _by_hand(device: Device) -> None:
    model, stream = Model(device.context), device.create_stream(flags=StreamFlag.PERSISTENT)
    model.bind(stream)
    stream.fill(device.alloc(64), 1)


def _busy(device: Device) -> None:
    device.create_stream().fill(device.alloc(64), 1)


MADE: dict[str, Callable[[Device], Any]] = {
    "an idle stream": lambda device: device.create_stream(),
    "a stream with work": _busy,
    "a graph that was executed": _executed,
    "a graph that was not": _never_executed,
    "a model made by hand": _by_hand,
}


def _amounts(device: Device) -> dict[str, int]:
    """Return how many ids of each kind the process holds."""
    return {kind: len(numbers) for kind, numbers in holdings(device.hal.fake)["ids"].items()}


@pytest.mark.parametrize("what", MADE)
def test_a_loop_that_drops_never_runs_out(device: Device, what: str) -> None:
    for _ in range(30):
        MADE[what](device)


@pytest.mark.parametrize("what", MADE)
def test_a_wait_gives_back_what_the_collector_has_found(device: Device, what: str) -> None:
    for _ in range(6):  # the runtime's own reserves are full then
        MADE[what](device)
        gc.collect()
        device.synchronize()
        device.pool.trim()
    before = _amounts(device)
    MADE[what](device)
    assert _amounts(device) != before
    gc.collect()
    device.synchronize()
    device.pool.trim()
    assert _amounts(device) == before
    assert not device.context.dropped_models
    assert not [graph for graph in device.context.models if not graph.closed]


def test_a_graph_that_is_being_executed_ends_first(device: Device) -> None:
    card, stream, target = device.hal.fake.device(0), device.create_stream(), device.alloc(64)
    device.fill(target, 0)
    with stream.capture() as graph:
        stream.fill(target, 7)
    card.hold(stream.stream_id)
    graph.launch(stream)
    del graph
    gc.collect()
    device.default_stream.synchronize()
    card.release(stream.stream_id)
    stream.synchronize()
    device.synchronize()
    assert set(bytes(device.download(target))) == {7}


def test_trim_gives_back_what_was_dropped(device: Device) -> None:
    device.pool.trim()
    before = device.pool.memory_reserved()
    kept = device.pool.alloc(32 * MiB)
    assert device.pool.memory_reserved() > before
    del kept
    assert device.pool.trim() >= 32 * MiB
    assert device.pool.memory_reserved() == before


def test_an_event_that_a_capture_has_seen_comes_back_too(device: Device) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        stream.record(device.create_event())
    graph.close()
    del graph
    gc.collect()
    device.synchronize()
    stream.synchronize()
    assert not list(device.signals.events)


def _fails_while_a_stream_hangs(machine: Runtime) -> None:
    with machine:
        stream = machine.device(0).create_stream()
        machine.hal.fake.device(0).hold(stream.stream_id)
        stream.fill(machine.device(0).alloc(64), 1)
        raise ZeroDivisionError


def test_the_runtime_ends_with_its_block() -> None:
    for url in ("fake://ascend910b3?check=all,leak", "fake://ascend950"):
        with Runtime(url) as machine:
            device = machine.device(0)
            kept = device.alloc(64), device.create_event(), device.create_stream()
        assert machine.closed
        assert all(each.closed for each in kept)
        with pytest.raises(errors.RuntimeFault, match="this runtime was closed"), machine:
            pass
        machine = Runtime(url)
        with pytest.raises(ZeroDivisionError):
            _fails_while_a_stream_hangs(machine)
        assert machine.closed
