"""The hooks and fixtures. This module loads nothing of the runtime until a test asks for a device."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from runtime.testing import search
from runtime.testing.search import Schedule

if TYPE_CHECKING:
    from fakes.checkers import Reports
    from runtime.api import Device, Runtime

_DEFAULT_URL = "fake://ascend910b3"
_REPLAY = pytest.StashKey[dict[str, Schedule]]()
_SCHEDULE = pytest.StashKey[Schedule]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("npu", "Ascend NPU, real or fake")
    group.addoption("--npu-url", default=_DEFAULT_URL, help="machine that tests run on (default: %(default)s)")
    group.addoption("--npu-seed", type=int, default=0, help="seed of the fake's facts and schedule (default: 0)")
    group.addoption(
        "--npu-schedules", type=int, default=1, metavar="N",
        help="search N schedules of the fake for one under which a test fails; it is shrunk and printed",
    )
    group.addoption(
        "--npu-replay", metavar="FILE", help="run tests under the schedules that failing tests have printed, one a line"
    )
    group.addoption(
        "--npu-check", default="all", metavar="NAMES",
        help="checkers of the fake that are on: all, none, or names such as race,uaf (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks."""
    config.addinivalue_line(
        "markers", "npu(soc, **options): the fake machine a test needs, e.g. npu('ascend950pr_9599', devices=2)"
    )
    if path := config.getoption("--npu-replay"):
        try:
            config.stash[_REPLAY] = search.read(path)
        except (OSError, ValueError) as wrong:
            raise pytest.UsageError(f"--npu-replay: {wrong}") from None
    config.addinivalue_line("markers", "npu_faults: the test injects faults or stand-in kernels, so it needs the fake")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that uses a device again and again, under one schedule after the other; it is reported once."""
    replayed = item.config.stash.get(_REPLAY, {}).get(item.nodeid)
    if replayed is not None:
        item.stash[_SCHEDULE] = replayed
        return None
    count = item.config.getoption("--npu-schedules")
    if count <= 1 or "npu_schedule" not in getattr(item, "fixturenames", ()):
        return None
    reports: list[pytest.TestReport] = []

    def run(schedule: Schedule) -> bool:
        item.stash[_SCHEDULE] = schedule
        item.npu_failed = False  # type: ignore[attr-defined]
        item._initrequest()  # type: ignore[attr-defined]
        reports[:] = runtestprotocol(item, nextitem=nextitem, log=False)
        found.over = any(report.skipped for report in reports)
        return any(report.failed for report in reports)

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    found = search.Search(run, item.config.getoption("--npu-seed"), count)
    failing = found.failing()
    for report in reports:
        if report.failed and failing is not None:
            report.sections.append(("npu schedules", _told(item, failing, found.runs)))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _told(item: pytest.Item, failing: Schedule, runs: int) -> str:
    decisions = len((failing.plan or "").split(",")) if failing.plan else 0
    kind = f"with {decisions} decision(s) unlike the default ones" if decisions else "with the default order"
    if failing.policy:
        kind = f"of policy {failing.policy}"
    return (
        f"failed under a schedule {kind}, found in {runs} runs. To repeat it, put the next line into a file and run "
        f"with --npu-replay=FILE\n{search.line(item.nodeid, failing)}"
    )


@pytest.fixture
def npu_schedule(request: pytest.FixtureRequest) -> Schedule:
    """The schedule of this run. A fixture that opens a fake of its own uses its `query` and sets its `machine`."""
    return request.node.stash.get(_SCHEDULE, None) or Schedule(request.config.getoption("--npu-seed"))


@pytest.fixture
def npu_runtime(request: pytest.FixtureRequest, npu_schedule: Schedule) -> Iterator[Runtime]:
    """A runtime of its own for the test; afterwards no object may be open and nothing may be left on the device."""
    from runtime.api import Runtime

    url = _url(request, npu_schedule)
    runtime = Runtime(url)
    npu_schedule.machine = getattr(runtime.hal, "fake", None)
    yield runtime
    from runtime.testing.leaks import holdings, open_objects

    failed = getattr(request.node, "npu_failed", False)  # its traceback keeps the test's variables alive
    left = [] if failed else open_objects(runtime)
    cards = {device.device_id for device in runtime.open_devices()}
    machine = npu_schedule.machine
    mistakes = [] if machine is None or machine.checks is None else [str(report) for report in machine.reports.take()]
    runtime.close(force=True)
    if machine is not None:
        left += [f"card {card} {kind}: {items}" for card in cards for kind, items in holdings(machine, card).items()]
    if left:
        mistakes.append(f"left behind on {url}: {'; '.join(left)}")
    if mistakes:
        pytest.fail("\n".join(mistakes), pytrace=False)


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


@pytest.fixture
def npu_reports(fake_hal: Any) -> Reports:
    """What the fake's checkers have found; `with npu_reports.expected("race") as found:` allows what a test provokes.

    What is left there at the end of a test fails it.
    """
    reports: Reports = fake_hal.reports
    return reports


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remember that a test failed: its traceback keeps its variables alive, which are no leak then."""
    report = yield
    if report.when == "call":
        item.npu_failed = report.failed  # type: ignore[attr-defined]
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
    options |= schedule.query
    check = request.config.getoption("--npu-check")
    if check != "none":
        options.setdefault("check", check)
    mark = request.node.get_closest_marker("npu")
    if mark is not None:
        soc = mark.args[0] if mark.args else soc
        options.update({key: str(value) for key, value in mark.kwargs.items()})
    return f"{scheme}://{soc}?" + "&".join(f"{key}={value}" for key, value in options.items())
