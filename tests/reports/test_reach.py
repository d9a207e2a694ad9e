"""A card reaches another one's memory only where it was let: by kernels, values, reductions and fills as by copies."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from fakes import kernels
from fakes.errors import MemoryFault
from runtime import errors
from runtime.api import Device
from runtime.cli.sample import minimal_kernel
from runtime.memory.device import DeviceBuffer
from tests.unit.runtime.machines import OpenMachine

URLS = ["fake-abi://ascend910b3?devices=2", "fake://ascend950?devices=2",
        pytest.param("fake://ascend910b3?devices=2", marks=pytest.mark.soak)]  # fmt: skip
pytestmark = pytest.mark.timeout(60)


def launch(device: Device, near: DeviceBuffer, far: DeviceBuffer) -> None:
    kernel = device.load(minimal_kernel("copying", 2)).only
    device.hal.fake.attach(kernel.code, kernels.copy())
    kernel[1](near, far, stream=device.default_stream)


CALLS: dict[str, Callable[[Device, DeviceBuffer, DeviceBuffer], object]] = {
    "kernel": launch,
    "write_value": lambda device, _near, far: device.default_stream.write_value(far, 1),
    "wait_value": lambda device, _near, far: device.default_stream.wait_value(far, 0),
    "fill": lambda device, _near, far: device.default_stream.fill(far, 1),
    "rows to": lambda device, near, far: device.default_stream.copy_rows(far, 8, near, 8, 8, 2),
    "rows from": lambda device, near, far: device.default_stream.copy_rows(near, 8, far, 8, 8, 2),
    "reduce to": lambda device, near, far: device.default_stream.reduce(far, near),
    "reduce from": lambda device, near, far: device.default_stream.reduce(near, far),
}


@pytest.mark.parametrize("url", URLS[:1] + URLS[2:])  # the other generation has no generator
def test_random_numbers_need_it_too(open_machine: OpenMachine, url: str) -> None:
    machine = open_machine(url)
    device, other = machine.device(0), machine.device(1)
    generator, far = device.create_generator(3), other.upload(bytes(64))
    generator.uniform(device.default_stream, far)
    with pytest.raises(errors.RuntimeFault, match="not reachable from device 0"):
        device.synchronize(30_000)
    device.enable_peer_access(other)
    generator.uniform(device.default_stream, far)
    device.synchronize(30_000)


@pytest.mark.parametrize("url", URLS)
def test_programs_of_conditions_need_it_too(open_machine: OpenMachine, url: str) -> None:
    machine = open_machine(url)
    device, other = machine.device(0), machine.device(1)
    registers, far = machine.hal.fake.device(0).registers, other.upload(bytes(64))
    with pytest.raises(MemoryFault, match="store by a condition of 8 bytes"):
        registers.store(far.address, bytes(8), False)
    with pytest.raises(MemoryFault, match="load by a condition of 8 bytes"):
        registers.load(far.address, 8, False)
    device.enable_peer_access(other)
    registers.store(far.address, bytes([1]) * 8, False)
    assert registers.load(far.address, 8, False) == bytes([1]) * 8


@pytest.mark.parametrize("url", URLS)
def test_a_condition_loads_the_word_that_a_block_begins(open_machine: OpenMachine, url: str) -> None:
    machine = open_machine(f"{url}&check=bounds")
    card = machine.device(0).hal.fake.device(0)
    block = card.machine.memory.allocate_device(0, 2)
    assert card.registers.load(block.base, 8, False) == bytes(8)
    for address in (block.base + 2, block.base + 8):  # not the first byte of a word, and a word behind the block
        with pytest.raises(MemoryFault, match="load by a condition"):
            card.registers.load(address, 8, False)
    with pytest.raises(MemoryFault, match="store by a condition"):
        card.registers.store(block.base, bytes(8), False)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("name", CALLS)
def test_memory_of_another_card_needs_peer_access(open_machine: OpenMachine, url: str, name: str) -> None:
    machine = open_machine(url)
    device, other = machine.device(0), machine.device(1)
    near, far = device.upload(bytes(64)), other.upload(bytes(64))

    def use() -> None:
        CALLS[name](device, near, far)
        device.synchronize(30_000)

    with pytest.raises(errors.RuntimeFault) as caught:
        use()
    assert "not reachable from device 0" in str(caught.value)
    assert not re.search(" (of|to|from) of ", str(caught.value))
    device.enable_peer_access(other)
    for _ in range(2):
        use()


@pytest.mark.parametrize("url", URLS)
def test_a_copy_at_once_between_two_cards_needs_it_on_one_of_them(open_machine: OpenMachine, url: str) -> None:
    """The call names no card: either may do the copy. Host memory reaches every card through its own driver."""
    machine = open_machine(url)
    device, other = machine.device(0), machine.device(1)
    near, far = device.upload(b"nearnear"), other.upload(b"far away")
    for _ in range(2):
        for copying in (device, other):
            for dst, src in ((near, far), (far, near)):
                with pytest.raises(errors.InvalidArgument, match="none of them reaches the other") as caught:
                    copying.copy(dst, src)
                assert "enable_peer_access" in (caught.value.hint or "")
    device.copy(far, b"anywhere")
    assert bytes(device.download(far)) == b"anywhere"
    other.enable_peer_access(device)
    device.copy(near, far)
    assert bytes(device.download(near)) == b"anywhere"
