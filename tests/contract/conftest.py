"""The machines that the contract runs on: both tiers of the fake, three chips, three seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel

TIERS = ("fake", "fake-abi")
CHIPS = ("ascend910b3", "ascend910_9391", "ascend950pr_9599")
SEEDS = (1, 2, 3)
MACHINES = [f"{tier}://{chip}?seed={seed}" for tier in TIERS for chip in CHIPS for seed in SEEDS]


@pytest.fixture(params=MACHINES, ids=lambda url: url.replace("://", "-").replace("?seed=", "-"))
def url(request: pytest.FixtureRequest) -> str:
    """One machine of the matrix."""
    return str(request.param)


@pytest.fixture
def machine(url: str) -> Iterator[Runtime]:
    """A runtime of its own on the machine; what a test leaves open is closed by force."""
    runtime = Runtime(url)
    yield runtime
    runtime.close(force=True)


@pytest.fixture
def device(machine: Runtime) -> Device:
    """The first device."""
    return machine.device(0)


@pytest.fixture
def make_kernel(device: Device) -> Callable[..., Kernel]:
    """Return a function that makes a kernel out of a Python function that stands for its code."""

    def make(name: str, function: Callable[[Any], object], arguments: int = 3, *, grid: bool = False) -> Kernel:
        kernel = device.load(minimal_kernel(name, arguments), name=name).only
        device.hal.fake.attach(kernel.code, function, name=name, grid=grid)
        return kernel

    return make
