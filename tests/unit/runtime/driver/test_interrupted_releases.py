"""Ctrl-C at each place of a close: the driver gets everything back, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from tests.tools.interrupts import Interrupter

CHIPS = ("ascend910b3", "ascend950")
TRIES = 16
"""Places of each close that are tried, on the two chips not the same; the storm comes to all of them."""


@pytest.fixture(params=CHIPS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(f"fake://{request.param}?seed=1")
    yield machine.device(0)
    machine.close(force=True)


def held(device: Device) -> dict[str, Any]:
    """Return what the runtime holds, and what the card says that it does; spare queues go back first."""
    device.sq_pool.close()
    table, card = device.resource_table, device.hal.fake.devices[0]  # type: ignore[attr-defined]
    runtime = {"ids": set(table.ids), "queues": set(table.queues), "logic": set(table.logic_queues),
               "bound": set(table.bound)}  # fmt: skip
    pools = {kind: set(pool.used) for kind, pool in card.ids.items()}
    return {**runtime, **pools, "queues of the card": set(card.queues), "by stream": set(card.by_stream),
            "refused": set(table.refused)}  # fmt: skip


def interrupt(device: Device, make: Callable[[], Callable[[], object]]) -> None:
    """Interrupt closes that `make` returns; whatever comes of it, afterwards as much is held as before."""
    interrupter, first = Interrupter(), CHIPS.index(device.hal.url.partition("//")[2].partition("?")[0])
    make()()
    device.synchronize(20_000)
    before, places = held(device), interrupter.count(make())
    assert places > TRIES
    for place in range(first, places, places // TRIES):
        close = make()
        interrupter.run(close, place)
        close()
        device.synchronize(20_000)  # a wait makes what is left of a close
        device.synchronize(20_000)
        assert held(device) == before, f"interrupted at {interrupter.at}"


def test_a_stream_that_is_closed(device: Device) -> None:
    interrupt(device, lambda: device.create_stream().close)


def test_a_graph_that_is_closed(device: Device) -> None:
    kernel = device.load(minimal_kernel("note", 1)).only
    device.hal.fake.attach(kernel.code, lambda context: None, name="note", grid=True)  # type: ignore[attr-defined]
    stream = device.create_stream()

    def make() -> Callable[[], object]:
        with stream.capture() as graph:
            kernel[1](1, stream=stream)
        graph.launch(stream)
        stream.synchronize(20_000)
        return graph.close

    interrupt(device, make)
