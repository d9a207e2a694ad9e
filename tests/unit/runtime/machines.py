"""Fake machines for tests of the runtime: opened by URL, closed by force, and looked into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.api import Device, Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import compiled

V100, V200 = "ascend910b1", "ascend950pr_9599"
CHIPS = (V100, V200)

OpenMachine = Callable[[str], Runtime]
MakeKernel = Callable[..., Kernel]


@pytest.fixture
def open_machine() -> Iterator[OpenMachine]:
    """Return a function that opens a runtime of its own on a URL."""
    opened: list[Runtime] = []

    def start(url: str) -> Runtime:
        opened.append(Runtime(url))
        return opened[-1]

    yield start
    for machine in opened:
        machine.close(force=True)


@pytest.fixture
def python_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare sends as Python functions, for tests that look at these; what was prepared before stays as it is."""
    monkeypatch.setattr(compiled, "extension", None)


@pytest.fixture(params=CHIPS)
def chip(request: pytest.FixtureRequest) -> str:
    """One SoC of each STARS generation."""
    return str(request.param)


@pytest.fixture
def machine(chip: str, open_machine: OpenMachine) -> Runtime:
    """A machine with two cards."""
    return open_machine(f"fake://{chip}?devices=2&seed=1")


@pytest.fixture
def device(machine: Runtime) -> Device:
    """The first card."""
    return machine.device(0)


@pytest.fixture
def stream(device: Device) -> Stream:
    """A stream of the first card."""
    return device.create_stream()


@pytest.fixture
def make_kernel(device: Device) -> MakeKernel:
    """Return a function that makes a kernel out of a Python function that stands for its code."""

    def make(name: str, function: Callable[[Any], object] = lambda _context: None, arguments: int = 1) -> Kernel:
        kernel = device.load(minimal_kernel(name, arguments), name=name).only
        device.hal.fake.attach(kernel.code, function, name=name, grid=True)
        return kernel

    return make


def holdings(machine: Runtime, index: int = 0) -> dict[str, Any]:
    """Return what a fake card thinks the process holds: memory, queues, ids; empty when it holds nothing."""
    fake = machine.hal.fake if hasattr(machine.hal, "fake") else machine.hal.inner.fake
    card = fake.device(index)
    held = {
        "memory": [hex(block.base) for block in fake.memory.blocks],
        "queues": sorted(card.queues), "logic queues": sorted(card.logic), "descriptors": sorted(card.dma),
    }  # fmt: skip
    held.update({f"{kind} ids": sorted(pool.used) for kind, pool in card.ids.items()})
    return {what: some for what, some in held.items() if some}
