"""Opening, identifying and closing devices."""

from __future__ import annotations

import ctypes

import pytest

from npuhal import structs
from runtime import errors
from runtime.api import Device, Runtime
from tests.contract.holdings import NOTHING, holdings

COMMANDS = True


def test_device_says_what_it_is(machine: Runtime, device: Device) -> None:
    assert device.chip.soc.lower() in machine.url
    described = device.chip.ini.get("SoCInfo", {})
    assert device.core_counts == (described.get("ai_core_cnt", 1), described.get("vector_core_cnt") or 1)


def test_facts_come_from_the_machine_not_from_constants(device: Device) -> None:
    identity = device.hal.fake.device(0).identity
    assert device.facts.phy_chip_id == identity.chip_id
    assert device.facts.phy_die_id == identity.die_id
    assert device.env.tsd_qos == identity.qos
    assert device.env.ssid == identity.ssid


@pytest.mark.hardware_safe
def test_same_index_gives_the_same_device(machine: Runtime, device: Device) -> None:
    assert machine.device(0) is device


@pytest.mark.hardware_safe
def test_index_out_of_range_names_the_range(machine: Runtime) -> None:
    count = machine.device_count
    with pytest.raises(errors.InvalidArgument, match=f"valid are 0 to {count - 1}") as caught:
        machine.device(count)
    assert caught.value.code == 107001
    assert caught.value.message_id == "EE1003"


def test_close_gives_everything_back(machine: Runtime, device: Device) -> None:
    fake = machine.hal.fake
    stream = device.create_stream()
    device.alloc(1 << 20)
    event = device.create_event()
    event.record(stream)
    stream.synchronize()
    device.close()
    assert holdings(fake) == NOTHING


@pytest.mark.hardware_safe
def test_device_opens_again_after_close(machine: Runtime, device: Device) -> None:
    device.close()
    again = machine.device(0)
    assert again is not device
    buffer = again.upload(b"hello")
    assert again.download(buffer).tobytes() == b"hello"


@pytest.mark.hardware_safe
def test_closed_device_says_so(device: Device) -> None:
    device.close()
    with pytest.raises(errors.ContextError, match="was closed"):
        device.alloc(16)
    device.close()  # twice is fine


@pytest.mark.hardware_safe
def test_second_runtime_in_the_process_is_refused_by_name(machine: Runtime) -> None:
    hal = machine.hal
    assert hal.halDeviceOpen(
        0, ctypes.byref(structs.hal_dev_open_in()), ctypes.byref(structs.hal_dev_open_out())
    ) == 0
    with pytest.raises(errors.RuntimeFault, match="another runtime lives here"):
        machine.device(0)
    assert hal.halDeviceClose(0, None) == 0


def test_failed_boot_leaves_nothing_behind(machine: Runtime) -> None:
    fake = machine.hal.fake
    fake.faults.on_call("halSqCqAllocate", "DRV_ERROR_NO_RESOURCES")
    with pytest.raises(errors.DeviceUnavailable, match="halSqCqAllocate") as caught:
        machine.device(0)
    assert caught.value.code == 507033
    assert isinstance(caught.value.__cause__, errors.ResourceExhausted)
    assert holdings(fake) == NOTHING
    machine.device(0)  # the rule has struck once; now it opens


@pytest.mark.hardware_safe
def test_memory_info_moves_with_allocations(device: Device) -> None:
    before, total = device.memory_info()
    buffer = device.alloc(64 << 20)
    during, _ = device.memory_info()
    buffer.close()
    after, _ = device.memory_info()
    assert before <= total
    assert before - during >= 64 << 20
    assert after == before
