"""The machines that the contract runs on: both tiers of the fake, seven chips, three seeds, three argument paths.

`make test` runs every test on a chip of each main generation, on one of the two through both tiers, and on one of the
others through one tier, with a seed and an argument path that differ from test to test and from chip to chip;
`make soak` runs all combinations. A module that sets `BOTH_QUEUES` runs its tests with a driver that binds queues to
memory of streams (software SQs) or one that does not, by the same rule. With --npu-url of a machine they run on it:
`pytest tests/contract -m hardware_safe --npu-url hal://`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import pytest

from chips import find_chip
from fakes.checkers import CheckFailed
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.testing.search import Schedule

TIERS = ("fake", "fake-abi")
MAIN = ("ascend910b1", "ascend950pr_9599")
OTHERS = ("ascend910_9391", "mc62cm12a", "ascend310b1")
COMMANDS = ("ascend310p3", "ascend310")
"""Chips that take commands, without a table of streams the second: for modules that set `COMMANDS`, and there for tests
that are not marked `stars`."""
SEEDS = (1, 2, 3)
PATHS = ("dma", "bar", "ub")
QUEUES = ("&swsq=1", "&swsq=0")
VARIANTS = tuple(itertools.product(SEEDS, PATHS))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the machines of a test."""
    if "url" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--npu-url") or "fake://"
    if not given.startswith("fake"):
        metafunc.parametrize("url", [pytest.param(given, id="hal-0")])
        return
    name = metafunc.definition.nodeid.rpartition("/")[2]
    everything = metafunc.config.option.markexpr == "soak"
    machines, draw = [], crc32(name.encode())
    both = getattr(metafunc.module, "BOTH_QUEUES", False)
    takes_commands = getattr(metafunc.module, "COMMANDS", False) and not metafunc.definition.get_closest_marker("stars")
    others = (*OTHERS, *(COMMANDS if takes_commands else ()))
    for place, chip in enumerate((*MAIN, *others)):
        rotated = VARIANTS[(draw + 4 * place) % len(VARIANTS)]  # 4 steps change seed and path
        if everything:
            tiers = TIERS
        elif chip in MAIN:
            tiers = TIERS if draw % len(MAIN) == place else TIERS[:1]
        else:
            tiers = _one_tier(others.index(chip), len(others), draw)
        for tier in tiers:
            queues = ("",) if not both else QUEUES if everything else (QUEUES[(draw + place) % 2],)
            for (seed, path), queue in itertools.product(VARIANTS if everything else (rotated,), queues):
                machines.append(pytest.param(
                    f"{tier}://{chip}?seed={seed}&args={path}{queue}",
                    id=f"{tier}-{chip}-{seed}-{path}{queue.replace('&', '-').replace('=', '')}",
                    marks=[pytest.mark.soak] if everything else [],
                ))  # fmt: skip
    metafunc.parametrize("url", machines)


def _one_tier(place: int, count: int, draw: int) -> tuple[str, ...]:
    """Return the tier that a test takes on one of the other chips; none on all but one of them."""
    return (TIERS[draw // count % len(TIERS)],) if draw % count == place else ()


@pytest.fixture
def generation(url: str) -> str:
    """The generation of the machine's chip, known before it is opened."""
    return find_chip(url.partition("://")[2].partition("?")[0]).generation


@pytest.fixture
def machine(url: str, npu_schedule: Schedule, request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """A runtime of its own on the machine; what a test leaves open is closed by force.

    All checkers of the fake are on. What they find fails the test, but for the checks that a mark `misuse(...)` names.
    """
    options = {"check": "all", **npu_schedule.query}
    options.pop("seed")  # the machine's own is in the URL
    runtime = Runtime(url + "".join(f"&{key}={value}" for key, value in options.items()) if "fake" in url else url)
    npu_schedule.machine = getattr(runtime.hal, "fake", None)
    yield runtime
    try:
        runtime.close(force=True)
    except CheckFailed as failed:
        meant = {check for mark in request.node.iter_markers("misuse") for check in mark.args}
        if found := [str(report) for report in failed.reports if report.check not in meant]:
            pytest.fail("\n".join(found), pytrace=False)


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
