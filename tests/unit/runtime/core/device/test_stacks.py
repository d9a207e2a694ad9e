"""Core stacks: pools as large as chip and process say, and who is told of them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from chips.env import TaskIds
from chips.tasks import AicKernel
from runtime import errors
from runtime.api import Runtime
from runtime.core.device.limits import DeviceLimit
from tests.unit.runtime.machines import CHIPS, V100, V200, OpenMachine

_STANDARD = 32 * 1024
IDS = TaskIds(1, 1, 0)


def pools(machine: Runtime) -> list[int]:
    """Open the first device, and return the sizes of what it allocates between its argument pools and its queues."""
    machine.device(0)
    sizes: list[int] = []
    for record in machine.hal.records:  # type: ignore[attr-defined]
        if record.name == "halSqCqAllocate":
            break
        if record.name == "halMemAlloc" and record.before["size"] > 8:  # a stream's counter word
            sizes.append(record.before["size"])
    return sizes


def test_on_v1_a_pool_for_each_of_the_two_standard_sizes(open_machine: OpenMachine) -> None:
    assert pools(open_machine(f"trace+fake://{V100}"))[-2:] == [75 * _STANDARD, 75 * _STANDARD // 2]


def test_on_950_the_stack_of_simt_kernels_comes_first(open_machine: OpenMachine) -> None:
    machine = open_machine(f"trace+fake://{V200}")
    dies = machine.device(0).facts.die_count
    assert pools(machine)[-2:] == [dies * 36 * 64 * (36864 + 1024) + 128, 108 * _STANDARD + 128]


@pytest.mark.parametrize(("soc", "cores"), [(V100, 75), (V200, 108)])
def test_more_stack_per_core_makes_the_custom_pool(open_machine: OpenMachine, soc: str, cores: int) -> None:
    machine = open_machine(f"trace+fake://{soc}")
    machine.limits.set(DeviceLimit.SIMD_STACK, 100_000, machine.machine.chip)
    assert pools(machine)[-1] == cores * 114_688
    device = machine.device(0)
    assert (device.env.custom_stack_base != 0, device.env.custom_stack_size) == (True, 114_688)
    stream, plugin = device.create_stream(), device.plugin
    sent = [plugin.encode(AicKernel(pc=0, args=0, block_dim=1, min_stack_size=need), stream.env, IDS)
            for need in (32768, 32769)]
    named = struct.pack("<I", device.env.custom_stack_base & 0xFFFFFFFF)
    assert [named in raw for raw in sent] == [False, True]


@pytest.mark.parametrize(("soc", "most"), [(V100, 196_608), (V200, 131_072)])
def test_more_stack_than_a_core_can_have_is_told_at_opening(open_machine: OpenMachine, soc: str, most: int) -> None:
    machine = open_machine(f"fake://{soc}")
    machine.limits.set(DeviceLimit.SIMD_STACK, most + 1, machine.machine.chip)
    with pytest.raises(errors.DeviceUnavailable, match=f"at most {most}") as caught:
        machine.device(0)
    assert (caught.value.code, caught.value.message_id) == (507033, "EE1011")
    assert "SIMD_STACK" in caught.value.hint
    machine.limits.set(DeviceLimit.SIMD_STACK, most, machine.machine.chip)
    machine.device(0)


@pytest.mark.parametrize("flags", [0, 0x2000], ids=["plain", "SQ lock"])
def test_queues_of_950_name_the_simt_stack(open_machine: OpenMachine, flags: int) -> None:
    machine = open_machine(f"fake://{V200}")
    machine.limits.set(DeviceLimit.SIMT_STACK, 2048, machine.machine.chip)
    machine.limits.set(DeviceLimit.SIMT_DIVERGENCE_STACK, 256, machine.machine.chip)
    device = machine.device(0)
    base = device.simt_stack.base
    assert base % 128 == 0
    told = options(device, flags)
    assert len(told) == 108
    assert told[:64] == bytes(64)
    valid, locks, low, high, warp, diverged, *rest = struct.unpack("<QIIIIIIIII", told[64:])
    assert (valid, locks) == ((1, 3) if flags else (0, 0))
    assert (low | high << 32, warp, diverged, rest) == (base, 2048 * 32, 256, [0, 0, 0, 0])


def options(device: Any, flags: int) -> bytes:
    """Return what a queue made with flags would tell the scheduler."""
    from runtime.core.modes import StreamFlag
    from runtime.core.stream.queues import options_of

    extension: bytes = options_of(device, 0, 0, StreamFlag(flags), control=False).extension()
    return extension


@pytest.mark.parametrize("soc", CHIPS)
def test_every_pool_goes_with_the_device(open_machine: OpenMachine, soc: str) -> None:
    machine = open_machine(f"fake://{soc}")
    machine.limits.set(DeviceLimit.SIMD_STACK, 65_536, machine.machine.chip)
    machine.device(0).close()
    assert list(machine.hal.fake.memory.blocks) == []
