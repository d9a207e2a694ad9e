"""The driver refuses to take something back, once: it stays open, and the next close gives it back."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Runtime
from tests.contract.holdings import holdings

MiB = 1 << 20


def _registered(device: Device) -> Any:
    return device.register_host(np.frombuffer(mmap.mmap(-1, 8192), np.uint8))


def _managed(device: Device) -> Any:
    try:
        return device.alloc_managed(2 * MiB)
    except errors.NotSupported:
        pytest.skip("no managed memory")


MADE: dict[str, tuple[Callable[[Device], Any], str]] = {
    "device memory": (lambda device: device.alloc(4096), "halMemFree"),
    "pinned memory": (lambda device: device.alloc_host(4096), "halMemFree"),
    "an array": (lambda device: device.empty(16, "f4"), "halMemFree"),
    "physical memory": (lambda device: device.create_physical(2 * MiB), "halMemRelease"),
    "a range": (lambda device: device.reserve(2 * MiB), "halMemAddressFree"),
    "registered memory": (_registered, "halHostUnregisterEx"),
    "managed memory": (_managed, "halMemFree"),
}


@pytest.fixture(params=["fake://ascend910b3", "fake-abi://ascend950"])
def device(request: pytest.FixtureRequest):
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close(force=True)


@pytest.mark.parametrize("what", MADE)
def test_what_is_refused_stays_open_and_goes_with_the_next_close(device: Device, what: str) -> None:
    make, call = MADE[what]
    for _ in range(2):
        before = holdings(device.hal.fake)
        thing = make(device)
        device.hal.fake.faults.on_call(call, "DRV_ERROR_BUSY")
        with pytest.raises(errors.RuntimeFault):
            thing.close()
        assert not thing.closed
        thing.close()
        assert thing.closed
        thing.close()
        assert holdings(device.hal.fake) == before


def test_memory_that_is_still_there_can_still_be_used(device: Device) -> None:
    buffer = device.upload(b"contents")
    part = buffer.view(2, 4)
    device.hal.fake.faults.on_call("halMemFree", "DRV_ERROR_BUSY")
    with pytest.raises(errors.RuntimeFault):
        buffer.close()
    assert bytes(device.download(part)) == b"nten"
    buffer.close()
    with pytest.raises(errors.RuntimeFault):
        device.download(part)


def test_a_mapping_is_tried_again(device: Device) -> None:
    before = holdings(device.hal.fake)
    addresses, physical = device.reserve(2 * MiB), device.create_physical(2 * MiB)
    mapping = addresses.map(physical)
    device.hal.fake.faults.on_call("halMemUnmap", "DRV_ERROR_BUSY")
    with pytest.raises(errors.RuntimeFault):
        addresses.close()
    assert (addresses.closed, mapping.closed) == (False, False)
    addresses.close()
    physical.close()
    assert mapping.closed
    assert holdings(device.hal.fake) == before


def test_a_dropped_buffer_is_tried_again_at_the_next_chance(device: Device, caplog: pytest.LogCaptureFixture) -> None:
    before = holdings(device.hal.fake)
    buffer = device.alloc(4096)
    device.hal.fake.faults.on_call("halMemFree", "DRV_ERROR_BUSY")
    del buffer
    with caplog.at_level("WARNING"):
        other = device.alloc(64)  # nothing of it is this call's mistake
    assert "tried again" in caplog.text
    other.close()
    device.alloc(64).close()
    assert holdings(device.hal.fake) == before


def _graph(device: Device) -> Any:
    with device.create_stream() as stream, stream.capture() as graph:
        stream.record(device.create_event())
    return graph


IDS: dict[str, tuple[Callable[[Device], Any], str]] = {
    "a stream's id": (lambda device: device.create_stream(), "halResourceIdFree"),
    "a stream's queue": (lambda device: device.create_stream(), "halSqCqFree"),
    "a notify": (lambda device: device.create_notify(), "halResourceIdFree"),
    "a graph": (_graph, "halResourceIdFree"),
    "memory of a graph": (_graph, "halMemFree"),
}


def _amounts(device: Device) -> dict[str, int]:
    """Return how much of each kind the card thinks the process holds."""
    held = holdings(device.hal.fake)
    return {kind: len(numbers) for kind, numbers in held["ids"].items()} | {"memory": len(held["memory"])}


@pytest.mark.parametrize("what", IDS)
def test_ids_and_queues_are_asked_for_again_at_the_next_wait(
    device: Device, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    make, call = IDS[what]
    for _ in range(6):  # until the reserve of queues for graphs is full
        make(device).close()
    for _ in range(2):
        device.synchronize()
        before = _amounts(device)
        thing = make(device)
        device.hal.fake.faults.on_call(call, "DRV_ERROR_BUSY")
        with pytest.raises(errors.RuntimeFault, match="asked for again at the next wait"):
            thing.close()
        thing.close()
        assert thing.closed
        del thing
        assert _amounts(device) != before
        device.hal.fake.faults.on_call(call, "DRV_ERROR_BUSY")
        with caplog.at_level("WARNING"):
            device.synchronize()
        assert "will be tried again" in caplog.text
        device.synchronize()
        assert _amounts(device) == before
        assert not device.resource_table.refused


@pytest.mark.parametrize("url", ["fake://ascend910b3?check=leak&devices=2", "fake-abi://ascend950?check=leak&devices=2"])
def test_a_close_by_force_takes_back_virtual_memory_that_was_refused(url: str) -> None:
    machine = Runtime(url)
    for _ in range(2):
        device, other = machine.device(0), machine.device(1)
        addresses, physical = device.reserve(4 * MiB), device.create_physical(2 * MiB)
        mapping = addresses.map(physical)
        for call, thing in (("halMemUnmap", mapping), ("halMemRelease", physical), ("halMemAddressFree", addresses)):
            rule = machine.hal.fake.faults.on_call(call, "DRV_ERROR_BUSY", times=2)
            with pytest.raises(errors.RuntimeFault):
                thing.close()
            machine.hal.fake.faults.withdraw(rule)
        device.close(force=True)
        assert set(machine.hal.in_use(0)) >= {"physical memory", "reserved ranges"}
        assert not any(machine.hal.in_use(0).values())
        other.close(force=True)  # addresses are the process's: they go with its last device
        again = machine.device(0).reserve(4 * MiB, addresses.address)
        assert again.address == addresses.address
        addresses.close()
        with again.map(machine.device(0).create_physical(2 * MiB)):
            pass  # the old range's close has not given the new one back
        machine.device(0).close(force=True)
    machine.close()
    assert not machine.hal.fake.reports.take()
