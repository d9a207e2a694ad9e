"""What this process uses is counted as its own: queues of graphs, physical memory; what is left open is named."""

from __future__ import annotations

import pytest

from fakes.checkers import CheckFailed
from runtime import errors
from runtime.api import Device, Runtime
from tests.reports.test_spare_queues import fill
from tests.unit.runtime.machines import OpenMachine

MiB = 1 << 20
CHIPS = ("ascend910b3", "ascend950")


@pytest.fixture(params=CHIPS)
def soc(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(soc: str, open_machine: OpenMachine) -> Runtime:
    return open_machine(f"fake://{soc}?sqs=20&hbm=2g")


def test_queues_and_streams_of_graphs_are_this_process_s(device: Device) -> None:
    streams = [device.create_stream() for _ in range(4)]
    with streams[0].capture() as graph:
        for other in streams[1:]:
            other.wait(streams[0].record(device.create_event()))
            streams[0].wait(other.record(device.create_event()))
    card = device.hal.fake.device(device.device_id)
    card.hold(streams[0].stream_id)
    graph.launch(streams[0])
    _kept, fault = fill(device.create_stream)
    assert ", 0 of them by other owners" in str(fault)
    assert "4 by graphs and the runtime of this process" in str(fault)
    card.release(streams[0].stream_id)
    device.synchronize(30_000)


def test_physical_memory_is_in_the_numbers(device: Device) -> None:
    before = device.memory_report()
    physical = device.create_physical(64 * MiB)
    report = device.memory_report()
    assert (report.physical - before.physical, report.rest) == (64 * MiB, before.rest)
    assert "physical" in str(report)
    for ask in (device.create_physical, device.alloc):
        with pytest.raises(errors.OutOfMemory) as caught:
            ask(1 << 40)
        assert f"{64 * MiB} bytes are physical memory of this process" in str(caught.value)
        assert "are free" in str(caught.value)
    physical.close()
    assert device.memory_report().physical == before.physical


def test_memory_that_is_only_kept_makes_room_for_physical_memory(device: Device) -> None:
    free = device.memory_info()[0] // (2 * MiB) * 2 * MiB - 64 * MiB
    device.pool.alloc(free // 2).close()
    assert device.memory_info()[0] < free
    device.create_physical(free // 4 * 3 // (2 * MiB) * 2 * MiB).close()


@pytest.mark.parametrize("what", ["physical memory", "reserved ranges"])
def test_what_a_reset_leaves_behind_is_named_with_its_place(soc: str, what: str) -> None:
    for _ in range(2):
        machine = Runtime(f"fake://{soc}?check=leak")
        device = machine.device(0)
        left = device.create_physical(2 * MiB) if what == "physical memory" else device.reserve(2 * MiB)
        with pytest.raises(CheckFailed, match=f"{what} in use: .*{__file__}"):
            machine.close()
        del left
        with Runtime(f"fake://{soc}?check=leak").device(0) as clean:
            clean.create_physical(2 * MiB).close()
            clean.reserve(2 * MiB).close()
