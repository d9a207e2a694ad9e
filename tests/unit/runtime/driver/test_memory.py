"""Memory through the HAL: copies, attributes, space, and refusals with what was asked."""

from __future__ import annotations

import pytest

from chips.memory_rules import internal_flags
from runtime import errors
from runtime.api import Device, Runtime
from tests.unit.runtime.machines import V100, OpenMachine, holdings


def test_bytes_go_there_and_back(machine: Runtime, device: Device) -> None:
    memory, before = device.memory, holdings(machine)
    address = memory.alloc(64, internal_flags(hbm=True))
    for data in (b"read only", bytearray(b"writable"), memoryview(b"a view")):
        memory.write(address, data)
        assert memory.read(address, len(data)) == bytes(data)
    memory.fill(address, 64, 0xAB, 64)
    assert memory.read(address, 64) == b"\xab" * 64
    memory.free(address)
    assert holdings(machine) == before


def test_what_the_driver_refuses_says_what_was_asked(device: Device) -> None:
    memory = device.memory
    address = memory.alloc(64, internal_flags(hbm=True))
    with pytest.raises(errors.RuntimeFault, match=r"9 of 8 bytes"):
        memory.copy(address, 8, address, 9)
    memory.free(address)
    with pytest.raises(errors.RuntimeFault, match=f"address {address:#x}"):
        memory.free(address)
    with pytest.raises(errors.OutOfMemory, match=f"{1 << 60} bytes"):
        memory.alloc(1 << 60, internal_flags(hbm=True))


def test_space_shrinks_with_what_is_taken(device: Device) -> None:
    free, total = device.memory.space()
    buffer = device.alloc(32 << 20)
    after, same = device.memory.space()
    assert same == total
    assert free - after >= 32 << 20
    buffer.close()
    assert device.memory.space() == (free, total)


@pytest.mark.parametrize(("path", "bar"), [("dma", False), ("bar", True)])
def test_the_way_of_arguments_is_what_the_hal_answers(open_machine: OpenMachine, path: str, bar: bool) -> None:
    device = open_machine(f"fake://{V100}?args={path}").device(0)
    assert device.memory.bar_argument_memory() is bar
    assert device.facts.bar_arguments is bar


def test_features_of_a_driver_that_cannot_say(device: Device) -> None:
    device.hal.fake.faults.on_call("halMemCtl", "DRV_ERROR_NOT_SUPPORT")
    assert device.memory.feature_mask(1) == 0


def test_descriptors_are_made_and_freed(machine: Runtime, device: Device) -> None:
    before = holdings(machine).get("descriptors")
    host, buffer = device.alloc_host(64), device.alloc(64)
    chain = device.memory.convert(host.address, buffer.address, 64)
    assert holdings(machine)["descriptors"] != before
    device.memory.destroy_dma(chain)
    assert holdings(machine).get("descriptors") == before


def test_an_address_that_cannot_be_translated_is_zero(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}").device(0)
    buffer = device.alloc(64)
    assert device.memory.physical(buffer.address) != 0
    device.hal.fake.faults.on_call("drvMemAddressTranslate", "DRV_ERROR_INNER_ERR")
    assert device.memory.physical(buffer.address) == 0
