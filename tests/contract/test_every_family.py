"""One chip of each family of the catalog: all of them run what every program does."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import runtime
from chips import all_socs, find_chip
from chips.binary.writer import KernelText, write_elf
from fakes import kernels
from runtime import errors
from runtime.cli.sample import minimal_kernel
from runtime.feature.graph import Model

FAMILIES = {find_chip(soc).family: soc for soc in reversed(all_socs())}
"""Family -> the first of its chips."""


@pytest.mark.parametrize("soc", FAMILIES.values(), ids=FAMILIES)
def test_a_chip_of_every_family_copies_launches_records_and_waits(soc: str) -> None:
    machine = runtime.Runtime(f"fake://{soc}")
    try:
        _run(machine)
    finally:
        machine.close()


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend5162A"])
def test_a_chip_of_whose_models_nothing_is_known_refuses_them(soc: str) -> None:
    machine = runtime.Runtime(f"fake://{soc}")
    try:
        with machine.device(0) as device, pytest.raises(errors.NotSupported, match=f"models on {soc}"):
            Model(device.context)
    finally:
        machine.close()


def test_a_mix_kernel_is_refused_where_no_command_describes_it() -> None:
    machine = runtime.Runtime("fake://ascend910a")
    meta = struct.pack("<HHI", 1, 4, 4)
    binary = write_elf([KernelText("add_mix_aic", bytes(64), meta)])
    try:
        with machine.device(0) as device, device.create_stream() as stream:
            add = device.load(binary).only
            for _ in range(2):
                with pytest.raises(errors.NotSupported, match="add is a mix kernel, and Ascend910A"):
                    add[8](1, 2, stream=stream)
            stream.synchronize()
    finally:
        machine.close()


def _run(machine: runtime.Runtime) -> None:
    given = np.arange(64, dtype=np.float32)
    with (
        machine.device(0) as device, device.create_stream() as first, device.create_stream() as second,
        device.create_event() as done,
    ):
        add = device.load(minimal_kernel("add_custom", arguments=3)).only
        device.hal.fake.attach(add.code, kernels.add())
        x, y = device.upload(given), device.alloc(given.nbytes)
        add[2](x, x, y, stream=first)
        first.record(done)
        second.wait(done)
        add[2](y, x, y, stream=second)
        back = device.alloc_host(given.nbytes)
        for _ in range(2):  # the second one may be sent prepared
            second.copy(back, y)
        second.synchronize()
        np.testing.assert_array_equal(back.numpy(np.float32), given * 3)
        np.testing.assert_array_equal(device.download(y, "f4"), given * 3)
