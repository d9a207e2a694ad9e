"""The hooks and fixtures. This module loads nothing of the runtime until a test asks for a device."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runtime.api import Device, Runtime

_DEFAULT_URL = "fake://ascend910b3"
_FIXTURES = frozenset({"npu", "npus", "npu_runtime", "fake_hal"})
_POLICIES = ("round_robin", "random", "host_ahead", "device_ahead", "starved")


@dataclass(frozen=True)
class Schedule:
    """How the fake device interleaves its queues in one run of a test; `policy` "" is the device's default."""

    seed: int
    policy: str = ""

    def __str__(self) -> str:
        return f"seed={self.seed}" + (f"&policy={self.policy}" if self.policy else "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("npu", "Ascend NPU, real or fake")
    group.addoption("--npu-url", default=_DEFAULT_URL, help="machine that tests run on (default: %(default)s)")
    group.addoption("--npu-seed", type=int, default=0, help="seed of the fake's facts and schedule (default: 0)")
    group.addoption(
        "--npu-schedules", type=int, default=1, metavar="N",
        help="run each test that uses a device over N schedules of the fake; a failure prints which",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks."""
    config.addinivalue_line(
        "markers", "npu(soc, **options): the fake machine a test needs, e.g. npu('ascend950pr_9599', devices=2)"
    )
    config.addinivalue_line("markers", "npu_faults: the test injects faults or stand-in kernels, so it needs the fake")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat tests that use a device over the schedules asked for."""
    if not _FIXTURES.intersection(metafunc.fixturenames):
        return
    seed, count = metafunc.config.getoption("--npu-seed"), metafunc.config.getoption("--npu-schedules")
    if count <= 1:
        return
    draw = random.Random(seed)
    schedules = [Schedule(seed + number, draw.choice(_POLICIES)) for number in range(count)]
    metafunc.parametrize("npu_schedule", schedules, ids=str, indirect=True)


@pytest.fixture
def npu_schedule(request: pytest.FixtureRequest) -> Schedule:
    """The schedule of this run."""
    return getattr(request, "param", None) or Schedule(request.config.getoption("--npu-seed"))


@pytest.fixture
def npu_runtime(request: pytest.FixtureRequest, npu_schedule: Schedule) -> Iterator[Runtime]:
    """A runtime of its own for the test; afterwards no object may be open and nothing may be left on the device."""
    from runtime.api import Runtime

    url = _url(request, npu_schedule)
    runtime = Runtime(url)
    yield runtime
    from runtime.testing.leaks import holdings, open_objects

    failed = getattr(request.node, "npu_failed", False)  # its traceback keeps the test's variables alive
    left = [] if failed else open_objects(runtime)
    cards = {device.device_id for device in runtime.open_devices()}
    machine = getattr(runtime.hal, "fake", None)
    runtime.close(force=True)
    if machine is not None:
        left += [f"card {card} {kind}: {items}" for card in cards for kind, items in holdings(machine, card).items()]
    if left:
        pytest.fail(f"left behind on {url}: {'; '.join(left)}", pytrace=False)


@pytest.fixture
def npu(npu_runtime: Runtime) -> Device:
    """The first device, freshly opened."""
    return npu_runtime.device(0)


@pytest.fixture
def npus(npu_runtime: Runtime) -> list[Device]:
    """All devices of the machine."""
    return [npu_runtime.device(index) for index in range(npu_runtime.device_count)]


@pytest.fixture
def fake_hal(npu_runtime: Runtime) -> Any:
    """The fake machine below the runtime: faults, schedules, attached kernels, the log of what ran."""
    machine = getattr(npu_runtime.hal, "fake", None)
    if machine is None:
        pytest.skip("needs the fake; this run uses --npu-url of a real machine")
    return machine


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Say under which schedule a test failed, so that the run can be repeated."""
    report = yield
    if report.when == "call":
        item.npu_failed = report.failed  # type: ignore[attr-defined]
    schedule = getattr(item, "funcargs", {}).get("npu_schedule")
    if report.failed and schedule is not None:
        report.sections.append((
            "npu schedule", f"repeat with --npu-seed={schedule.seed}, policy {schedule.policy or 'default'}"
        ))
    return report


def _url(request: pytest.FixtureRequest, schedule: Schedule) -> str:
    """Put the URL together: the command line's, changed by the test's mark and the schedule."""
    base = request.config.getoption("--npu-url")
    scheme, _, rest = base.partition("://")
    fake = scheme.rpartition("+")[2] in ("fake", "fake-abi")
    if not fake:
        if request.node.get_closest_marker("npu_faults"):
            pytest.skip(f"injects faults or stand-in kernels; {base} is a real machine")
        return str(base)
    soc, _, query = rest.partition("?")
    options = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
    options["seed"] = str(schedule.seed)
    if schedule.policy:
        options["policy"] = schedule.policy
    mark = request.node.get_closest_marker("npu")
    if mark is not None:
        soc = mark.args[0] if mark.args else soc
        options.update({key: str(value) for key, value in mark.kwargs.items()})
    return f"{scheme}://{soc}?" + "&".join(f"{key}={value}" for key, value in options.items())
