"""Ctrl-C at each place of a close: the driver gets everything back, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.api import Device, Runtime
from tests.tools.interrupts import Interrupter

CHIPS = ("ascend910b3", "ascend950")
STRIDE = 7
"""Of so many places one is tried, on the two chips not the same; the storm comes to all of them."""


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


def interrupted(device: Device, make: Callable[[], Callable[[], object]], first: int, stride: int) -> int:
    """Interrupt what `make` makes at each of its places; whatever comes of it, afterwards as much is held as before."""
    interrupter, place = Interrupter(), first
    make()()
    device.synchronize(20_000)
    before = held(device)
    while interrupter.run(close := make(), place):
        close()
        device.synchronize(20_000)  # a wait makes what is left of a close
        device.synchronize(20_000)
        assert held(device) == before, f"interrupted at {interrupter.at}"
        place += stride
    return place


def test_a_stream_that_is_closed(device: Device) -> None:
    first = CHIPS.index(device.hal.url.partition("//")[2].partition("?")[0])
    assert interrupted(device, lambda: device.create_stream().close, first, STRIDE) > 100
