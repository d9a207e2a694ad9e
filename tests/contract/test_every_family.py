"""One chip of each family of the catalog: all of them run what every program does."""

from __future__ import annotations

import numpy as np
import pytest

import runtime
from chips import all_socs, find_chip
from fakes import kernels
from runtime.cli.sample import minimal_kernel

FAMILIES = {find_chip(soc).family: soc for soc in reversed(all_socs())}
"""Family -> the first of its chips."""


@pytest.mark.parametrize("soc", FAMILIES.values(), ids=FAMILIES)
def test_a_chip_of_every_family_copies_launches_records_and_waits(soc: str) -> None:
    machine = runtime.Runtime(f"fake://{soc}")
    try:
        _run(machine)
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
