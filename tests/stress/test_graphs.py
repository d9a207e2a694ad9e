"""Many graphs: captured, executed in any order, ended; nothing is left over."""

from __future__ import annotations

import random

import pytest

from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.feature.graph import Graph
from tests.contract.holdings import holdings


@pytest.mark.parametrize("url", ["fake://ascend910b1?seed=1", "fake://ascend950pr_9599?seed=1"])
@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_graphs_leave_nothing_behind(url: str, count: int) -> None:
    machine = Runtime(url)
    device, chance = machine.device(0), random.Random(1)
    log: list[int] = []
    note = device.load(minimal_kernel("note", 1), name="note").only
    device.hal.fake.attach(note.code, lambda context: log.append(context.args[0]), name="note", grid=True)
    stream = device.create_stream()

    def captured(number: int) -> Graph:
        with stream.capture() as made:
            for place in range(100):
                note[1](100 * number + place, stream=stream)
        return made

    first = captured(0)
    first.launch(stream)
    stream.synchronize(20_000)
    first.close()
    device.sq_pool.close()
    device.sq_memory.close()
    before = holdings(device.hal.fake)
    graphs = [captured(number) for number in range(count)]
    order = list(range(count))
    chance.shuffle(order)
    for number in order:
        log.clear()
        graphs[number].launch(stream)
        stream.synchronize(20_000)
        assert log == list(range(100 * number, 100 * number + 100))
    chance.shuffle(order)
    for number in order:
        graphs[number].close()
    device.sq_pool.close()
    device.sq_memory.close()
    after = holdings(device.hal.fake)
    assert after["ids"] == before["ids"]
    assert after["queues"] == before["queues"]
    assert sum(size for _, size in after["memory"]) <= sum(size for _, size in before["memory"]) + (2 << 20)
    machine.close(force=True)
