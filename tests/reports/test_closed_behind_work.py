"""Registrations and mappings that are closed while queued work uses them end when that work is done."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Iterator

import numpy as np
import pytest

from runtime.api import Device, Runtime
from tests.contract.holdings import holdings

MiB = 1 << 20


@pytest.fixture(params=["fake://ascend910b3", "fake-abi://ascend950"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close(force=True)


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_a_registration_ends_behind_queued_work(device: Device, how: str) -> None:
    memory = mmap.mmap(-1, 4096)
    memory[:] = bytes([5]) * 4096
    stream, target = device.create_stream(), device.alloc(4096)
    card = device.hal.fake.device(device.device_id)
    for _ in range(2):
        before = holdings(device.hal.fake)
        registered = device.register_host(memory)
        card.hold(stream.stream_id)
        stream.copy(target, registered)
        if how == "closed":
            registered.close()
        del registered
        gc.collect()
        device.memory_info()
        assert len(device.runtime.host_memory) == 1
        card.release(stream.stream_id)
        stream.synchronize()
        assert len(device.runtime.host_memory) == 0
        assert (device.download(target) == 5).all()
        assert holdings(device.hal.fake) == before


@pytest.mark.parametrize("what", ["mapping", "range"])
def test_a_mapping_ends_behind_queued_work(device: Device, what: str) -> None:
    before = holdings(device.hal.fake)
    addresses, physical = device.reserve(4 * MiB), device.create_physical(2 * MiB)
    stream, target = device.create_stream(), device.alloc(64)
    card = device.hal.fake.device(device.device_id)
    for round_ in range(2):
        mapping = addresses.map(physical)
        addresses.set_access(mapping, device=device.device_id)
        device.copy(mapping.view(0, 64), np.full(64, round_, np.uint8))
        card.hold(stream.stream_id)
        stream.copy(target, mapping.view(0, 64))
        if what == "mapping" or round_ == 0:
            mapping.close()
        else:
            addresses.close()
            physical.close()
            assert addresses.closed
        assert mapping.closed
        card.release(stream.stream_id)
        stream.synchronize()
        assert (device.download(target) == round_).all()
    for thing in (mapping, addresses, physical, stream, target):
        thing.close()
    device.synchronize()
    assert holdings(device.hal.fake) == before
