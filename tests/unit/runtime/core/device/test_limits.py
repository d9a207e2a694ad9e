"""Saturation modes, sizes and cores that users set (core_spec 2.8, 4.3, 22)."""

from __future__ import annotations

import gc

import pytest

import chips
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.device.limits import CoreLimits, DeviceLimits, SaturationMode
from runtime.core.modes import StreamFlag
from runtime.core.stream.queues import options_of
from tests.unit.runtime.machines import OpenMachine

SOCS = {"910B": "Ascend910B1", "950": "Ascend950PR_9599"}


@pytest.mark.parametrize(
    ("soc", "mode", "code"),
    [
        ("910B", 0, 0), ("910B", 1, 0), ("910B", 2, 107000), ("910B", -1, 107000), ("950", 0, 207000), ("950", 1, 0),
    ],
)  # fmt: skip
def test_which_saturation_modes_a_chip_has(open_machine: OpenMachine, soc: str, mode: int, code: int) -> None:
    machine = open_machine(f"fake://{SOCS[soc].lower()}")
    assert machine.saturation is SaturationMode.INF_NAN
    if code:
        with pytest.raises(errors.RuntimeFault) as caught:
            machine.saturation = mode  # type: ignore[assignment]
        assert caught.value.code == code
        assert machine.saturation is SaturationMode.INF_NAN
    else:
        machine.saturation = mode  # type: ignore[assignment]
        assert machine.saturation is SaturationMode(mode)


def test_the_saturation_mode_reaches_queues_made_afterwards(machine: Runtime) -> None:
    if machine.machine.chip.generation != "v100":
        pytest.skip("this chip has one mode only")
    machine.saturation = SaturationMode.SATURATION  # type: ignore[assignment]
    device = machine.set_device(0)
    before = options_of(device, 0, 0, StreamFlag.DEFAULT, control=False)
    machine.saturation = SaturationMode.INF_NAN  # type: ignore[assignment]
    after = options_of(device, 0, 0, StreamFlag.DEFAULT, control=False)
    assert [options.words()[2] >> 1 & 1 for options in (before, after)] == [0, 1]


@pytest.mark.parametrize(
    ("soc", "kind", "set_code", "read"),
    [
        ("910B", 0, 207000, 207000), ("910B", 1, 207000, 207000), ("910B", 2, 0, 65536), ("910B", 3, 0, 65536),
        ("910B", 4, 207000, 207000), ("910B", 5, 207000, 207000), ("950", 0, 0, 2097152), ("950", 1, 0, 65536),
        ("950", 2, 0, 65536), ("950", 3, 0, 65536), ("950", 4, 107000, 2097152), ("950", 9, 207000, 207000),
    ],
)  # fmt: skip
def test_sizes_as_recorded_when_65536_is_asked_for(soc: str, kind: int, set_code: int, read: int) -> None:
    limits, chip = DeviceLimits(), chips.find_chip(SOCS[soc])
    assert _code(lambda: limits.set(kind, 65536, chip)) == set_code
    if read == 207000:
        assert _code(lambda: limits.get(kind, chip)) == read
    else:
        assert limits.get(kind, chip) == read


@pytest.mark.parametrize(
    ("kind", "asked", "code", "read"),
    [
        (0, None, 0, 36864), (0, 1, 0, 4096), (0, 128, 0, 4096), (0, 129, 0, 8192), (0, 0, 0, 0),
        (1, None, 0, 1024), (1, 1000, 0, 1024), (1, 1025, 0, 1152),
        (2, None, 0, 32768), (2, 0, 0, 32768), (2, 32768, 0, 32768), (2, 32769, 0, 49152), (2, 98304, 0, 98304),
        (3, None, 0, 32768), (3, 1023, 107000, 32768), (3, 1024, 0, 1024), (3, 1025, 0, 1032),
        (3, 64 << 20, 0, 64 << 20), (3, (64 << 20) + 1, 107000, 32768), (3, -1, 107000, 32768),
        (4, None, 0, 2 << 20), (4, (1 << 20) - 1, 107000, 2 << 20), (4, 1 << 20, 0, 1 << 20),
    ],
)  # fmt: skip
def test_how_sizes_are_rounded_and_refused(kind: int, asked: int | None, code: int, read: int) -> None:
    limits, chip = DeviceLimits(), chips.find_chip(SOCS["950"])
    if asked is not None:
        assert _code(lambda: limits.set(kind, asked, chip)) == code
    assert limits.get(kind, chip) == read


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_not_both_stacks_of_simt_may_be_0(first: int, second: int) -> None:
    limits, chip = DeviceLimits(), chips.find_chip(SOCS["950"])
    limits.set(first, 0, chip)
    with pytest.raises(errors.InvalidArgument) as caught:
        limits.set(second, 0, chip)
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1011")


def test_a_stream_goes_before_the_device_and_that_before_the_hardware(device: Device) -> None:
    stream = device.create_stream()
    limits = CoreLimits((24, 48))
    own = limits.of_stream(stream)
    assert limits.in_force(1, own) == 48
    limits.limit_device(1, 8)
    assert limits.in_force(1, own) == limits.of_device(1) == 8
    limits.limit_stream(stream, 1, 3)
    assert (limits.in_force(1, own), limits.in_force(1, None), limits.in_force(0, own)) == (3, 8, 24)
    limits.free_device()
    own.clear()
    assert limits.in_force(1, own) == 48


def test_a_threads_choice_outlives_the_stream(device: Device) -> None:
    stream = device.create_stream()
    limits = CoreLimits((24, 48))
    limits.limit_stream(stream, 0, 3)
    own = limits.of_stream(stream)
    stream.close()
    del stream
    gc.collect()
    assert limits.in_force(0, own) == 3


@pytest.mark.parametrize(("kind", "value"), [(0, 25), (0, 1000), (0, -1), (1, 49), (2, 1), (-1, 1)])
def test_more_cores_than_there_are_is_refused(kind: int, value: int) -> None:
    limits = CoreLimits((24, 48))
    with pytest.raises(errors.InvalidArgument) as caught:
        limits.limit_device(kind, value)
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")
    assert (limits.of_device(0), limits.of_device(1)) == (24, 48)


def test_devices_know_their_cores(machine: Runtime) -> None:
    device = machine.device(0)
    assert (device.core_limits.of_device(0), device.core_limits.of_device(1)) == device.core_counts


def _code(call: object) -> int:
    try:
        call()  # type: ignore[operator]
    except errors.RuntimeFault as fault:
        return fault.code
    return 0
