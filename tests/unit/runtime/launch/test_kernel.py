"""Kernels and programs: finding, counting, loading, ending."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, LaunchOptions, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from tests.unit.runtime.machines import V200, MakeKernel, OpenMachine, holdings


def test_a_program_is_loaded_when_a_kernel_is_first_asked_for(machine: Runtime, device: Device) -> None:
    before = holdings(machine)["memory"]
    program = device.load(minimal_kernel("add", 3), name="lazy")
    assert program.address == 0
    kernel = program.kernel("add")
    assert program.address
    assert program.kernel("add") is kernel
    assert program.only is kernel
    assert len(program) == 1
    assert device.memory.read(program.address, 64) == program.binary.image[:64]
    program.close()
    program.close()
    assert holdings(machine)["memory"] == before
    with pytest.raises(errors.InvalidHandle, match="was unloaded"):
        program.kernel("add")


def test_unknown_names_bring_near_ones(device: Device) -> None:
    with pytest.raises(errors.RuntimeFault, match="add_kernel"):
        device.load(minimal_kernel("add_kernel", 3)).kernel("add_kernal")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"no elf at all" * 10, minimal_kernel("cut", 2)[:200]])
def test_files_that_are_no_programs(machine: Runtime, device: Device, data: bytes) -> None:
    before = holdings(machine)
    with pytest.raises(errors.RuntimeFault, match="broken") as caught:
        device.load(data, name="broken")
    assert caught.value.code in (107000, 107018, 507899, 107019) or caught.value.code // 100000 in (1, 5)
    assert holdings(machine) == before


def test_a_missing_file_says_so(device: Device, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"cannot open '.*none\.o': no such file") as caught:
        device.load(tmp_path / "none.o")
    assert caught.value.message_id == "EE1012"


def test_a_write_that_fails_leaves_no_block(machine: Runtime, device: Device) -> None:
    before = holdings(machine)["memory"]
    program = device.load(minimal_kernel("unwritten", 1))
    device.hal.fake.faults.on_call("drvMemcpy", "DRV_ERROR_INNER_ERR")
    with pytest.raises(errors.RuntimeFault):
        program.kernel("unwritten")
    assert program.address == 0
    assert holdings(machine)["memory"] == before
    assert program.kernel("unwritten").address
    program.close()
    assert holdings(machine)["memory"] == before


@pytest.mark.parametrize("wrong", [1.0, True, np.float32(1)])
def test_a_number_that_equals_a_block_count_which_was_used_is_refused(
    stream: Stream, make_kernel: MakeKernel, wrong: Any
) -> None:
    kernel = make_kernel("blocks")
    grid = kernel[1]
    grid(0, stream=stream)
    assert kernel[np.int64(1)] is grid
    for launch in (lambda: kernel[wrong], lambda: kernel.launch(stream, wrong, 0)):
        with pytest.raises(errors.InvalidArgument, match="blocks; allowed are 1 to 65535"):
            launch()
    kernel.launch(stream, np.int64(1), 0)


@pytest.mark.parametrize("blocks", [0, -1, 65536, 1.0, None, "8"])
def test_block_counts_that_no_launch_has(stream: Stream, make_kernel: MakeKernel, blocks: object) -> None:
    kernel = make_kernel("blocks")
    with pytest.raises(errors.InvalidArgument, match="blocks; allowed are 1 to 65535") as caught:
        kernel[blocks](0, stream=stream)  # type: ignore[index]
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")
    assert stream.ring.submitted == 0


def test_argument_counts_come_from_the_compiler(stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("counted", arguments=3)
    assert kernel.argument_count == 3
    for arguments in ((), (1, 2), (1, 2, 3, 4)):
        with pytest.raises(errors.InvalidArgument, match=f"takes 3 arguments, {len(arguments)} were? given"):
            kernel[1](*arguments, stream=stream)
    with pytest.raises(errors.InvalidArgument, match="takes 3 arguments, 2 were given"):
        kernel.bind(stream, 1, count=2)


@pytest.mark.parametrize(
    ("name", "value"), [("timeout_us", -1), ("timeout_us", 1 << 64), ("schedule", 2), ("dynamic_ub_bytes", 262145)]
)
def test_options_that_no_chip_takes(name: str, value: int) -> None:
    with pytest.raises(errors.InvalidArgument, match=rf"LaunchOptions.{name} is {value}; allowed are"):
        LaunchOptions(**{name: value})


def test_a_kernel_of_another_device_is_refused(machine: Runtime, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("here")
    there = machine.device(1).create_stream()
    with pytest.raises(errors.ContextError, match="the stream is on device 1") as caught:
        kernel[1](0, stream=there)
    assert (caught.value.code, caught.value.message_id) == (107003, "EE1010")


def test_programs_go_with_their_device(machine: Runtime, device: Device) -> None:
    program = device.load(minimal_kernel("left", 1))
    kernel = program.kernel("left")
    device.close()
    assert program.closed
    assert holdings(machine) == {}
    with pytest.raises(errors.RuntimeFault):
        kernel[1](0)


def test_the_code_of_a_dropped_program_goes_when_its_launches_are_done(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend310b1?check=all")  # a chip without a pool for code
    device = machine.device(0)
    card, held = machine.hal.fake.device(0), device.resource_table.memory
    stream, other = device.create_stream(), device.create_stream()
    kernel = device.load(minimal_kernel("once", 1)).only
    code = device.memory.address_range(kernel.program.address)[0]
    machine.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    kernel[1](0, stream=stream)
    stream.close()
    card.hold()
    other.submit(Nop())
    del kernel
    gc.collect()  # program and kernel hold each other
    device.deferred_frees.sweep()
    assert code in held
    card.release()
    other.synchronize(30_000)
    device.deferred_frees.sweep()
    assert code not in held
    device.load(minimal_kernel("late", 1)).load()
    gc.collect()
    machine.close()  # and no leak is reported


@pytest.mark.parametrize(("link", "code", "loads"), [
    ("ub", "DRV_ERROR_NOT_SUPPORT", True), ("ub", "DRV_ERROR_INVALID_VALUE", True),
    ("ub", "DRV_ERROR_IOCRL_FAIL", False), ("dma", "DRV_ERROR_IOCRL_FAIL", True),
])  # fmt: skip
def test_over_ub_code_is_made_writable_for_the_copy(
    open_machine: OpenMachine, link: str, code: str, loads: bool
) -> None:
    machine = open_machine(f"fake://{V200}?args={link}&seed=1")
    device = machine.device(0)
    before = holdings(machine)["memory"]
    program = device.load(minimal_kernel("locked", 1))
    device.hal.fake.faults.on_call("halMemAdvise", code)
    if loads:
        assert program.kernel("locked").address
    else:
        with pytest.raises(errors.RuntimeFault, match="halMemAdvise"):
            program.kernel("locked")
    program.close()
    assert holdings(machine)["memory"] == before
