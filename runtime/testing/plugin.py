"""The hooks and fixtures. This module loads nothing of the runtime until a test asks for a device."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from runtime.testing import choice, search, torch_tests
from runtime.testing.search import Schedule

if TYPE_CHECKING:
    from fakes.checkers import Reports
    from runtime.api import Device, Runtime
    from runtime.testing.machines import Left, Machine

_REPLAY = pytest.StashKey[dict[str, Schedule]]()
_SCHEDULE = pytest.StashKey[Schedule]()
_FAILURE = pytest.StashKey[BaseException]()
"""With what a test has failed: its traceback keeps the test's variables alive."""
_SHARED = pytest.StashKey["dict[str, Machine]"]()
"""Machines of modules and of the session that are open, by the name of their fixture."""
_TURN = pytest.StashKey["Machine | None"]()
"""The one of them that is the process's runtime, or was before the test took a machine of its own."""
_WIDE = ("npu_module", "npu_session")


# -- options -----------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    choice.add_options(parser)
    torch_tests.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and refuse what is wrong in the options."""
    config.stash[_SHARED], config.stash[_TURN] = {}, None
    config.addinivalue_line(
        "markers", "npu(soc, **options): the fake machine a test needs, e.g. npu('ascend950pr_9599', devices=2)"
    )
    config.addinivalue_line("markers", "npu_faults: the test injects faults or stand-in kernels, so it needs the fake")
    choice.schedules(config)
    if config.getoption(torch_tests.OPTION):
        torch_tests.configure(config, choice.of_test(config, None, Schedule(choice.seed(config))))
    if path := config.getoption("--npu-replay"):
        try:
            config.stash[_REPLAY] = search.read(path)
        except (OSError, ValueError) as wrong:
            raise pytest.UsageError(f"--npu-replay: {wrong}") from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which machine tests run on, where somebody has chosen one."""
    return [line] if (line := choice.header(config)) else []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a machine that there is not, once for all tests, when there is a test that wants one."""
    if any(name in _fixtures(item) for item in items for name in ("npu_runtime", *_WIDE)):
        choice.check(config)


# -- schedules ---------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that uses a device again and again, under one schedule after the other; it is reported once."""
    replayed = item.config.stash.get(_REPLAY, {}).get(item.nodeid)
    if replayed is not None:
        item.stash[_SCHEDULE] = replayed
        return None
    count, names = choice.schedules(item.config), _fixtures(item)
    if count <= 1 or "npu_schedule" not in names or any(name in names for name in _WIDE):
        return None
    reports: list[pytest.TestReport] = []

    def run(schedule: Schedule) -> bool:
        item.stash[_SCHEDULE] = schedule
        item._initrequest()  # type: ignore[attr-defined]
        reports[:] = runtestprotocol(item, nextitem=nextitem, log=False)
        found.over = any(report.skipped for report in reports)
        return any(report.failed for report in reports)

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    found = search.Search(run, choice.seed(item.config), count)
    failing = found.failing()
    for report in reports:
        if report.failed and failing is not None:
            report.sections.append(("npu schedules", _described(item, failing, found.runs)))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _described(item: pytest.Item, failing: Schedule, runs: int) -> str:
    changed = len((failing.plan or "").split(",")) if failing.plan else 0
    when = f"when {changed} scheduling decision{'s are' if changed > 1 else ' is'} changed"
    if failing.policy:
        when = f"under the policy {failing.policy}"
    elif not changed:
        when = "in the default order"
    return (
        f"fails {when}; found in {runs} run{'s' if runs > 1 else ''}. To repeat it, put the next line into a file and "
        f"run with --npu-replay=FILE\n{search.line(item.nodeid, failing)}"
    )


@pytest.fixture
def npu_schedule(request: pytest.FixtureRequest) -> Schedule:
    """The schedule of this run. A fixture that opens a fake of its own uses its `query` and sets its `machine`."""
    return request.node.stash.get(_SCHEDULE, None) or Schedule(choice.seed(request.config))


# -- devices of a test -------------------------------------------------------------------------------------------------


@pytest.fixture
def npu_runtime(request: pytest.FixtureRequest, npu_schedule: Schedule) -> Iterator[Runtime]:
    """The process's runtime while the test runs; afterwards nothing may be open, and nothing left on the device.

    The test has a machine of its own, unless it also asks for `npu_module` or `npu_session`: then it is theirs.
    """
    mark = request.node.get_closest_marker("npu")
    url = choice.of_test(request.config, mark, npu_schedule)
    if not choice.is_fake(url) and request.node.get_closest_marker("npu_faults"):
        pytest.skip(f"injects faults or stand-in kernels; {url} is a real machine")
    if (shared := _shared_with(request, url)) is not None:
        yield shared.runtime
        return
    machine = _open(url, "the test")
    npu_schedule.machine = machine.fake
    yield machine.runtime
    _forget_variables(request.node)
    _complain(request.node, machine.close())


@pytest.fixture
def npu(npu_runtime: Runtime) -> Device:
    """The first device of the process, `runtime.device(0)`: freshly opened, and closed after the test."""
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
        pytest.skip(f"needs the fake; this run is on {npu_runtime.url}, a real machine")
    return machine


@pytest.fixture
def npu_reports(fake_hal: Any) -> Reports:
    """What the fake's checkers have found; `with npu_reports.expected("race") as found:` allows what a test provokes.

    What is left there at the end of a test fails it.
    """
    reports: Reports = fake_hal.reports
    return reports


# -- devices of a module, or of the session ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def npu_module(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The first device of a machine that the tests of a module share, for set-ups that are slow.

    After each test what it has left open is closed and reported, its streams are emptied and faults forgotten; what
    fixtures of a wider scope have made stays. `pytestmark = pytest.mark.npu(...)` chooses the machine.
    """
    yield from _wide(request, "npu_module", request.node.get_closest_marker("npu"))


@pytest.fixture(scope="session")
def npu_session(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The first device of a machine that all tests share which ask for it; see `npu_module`."""
    yield from _wide(request, "npu_session", None)


def _wide(request: pytest.FixtureRequest, name: str, mark: pytest.Mark | None) -> Iterator[Device]:
    config = request.config
    url = choice.of_test(config, mark, Schedule(choice.seed(config)))
    if not choice.is_fake(url) and (already := next(iter(config.stash[_SHARED].values()), None)) is not None:
        yield already.runtime.device(0)  # one process opens a real device once
        return
    _take_turn(config, None)
    machine = _open(url, name)
    config.stash[_SHARED][name] = config.stash[_TURN] = machine
    yield machine.runtime.device(0)
    del config.stash[_SHARED][name]
    _take_turn(config, machine)
    config.stash[_TURN] = None
    if text := machine.close().text:
        pytest.fail(text, pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the turn to the shared machine that the test asks for."""
    names = [name for name in _WIDE if name in _fixtures(item)]
    if len(names) > 1:
        pytest.fail(f"a test has one machine: ask for {names[0]} or for {names[1]}", pytrace=False)
    if names and (machine := item.config.stash[_SHARED].get(names[0])) is not None:
        _take_turn(item.config, machine)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Let stay open on a shared machine what a fixture for several tests has made there."""
    if fixturedef.scope == "function":
        return (yield)
    machine = request.config.stash[_TURN]
    before = [] if machine is None else machine.holds()
    made = yield
    now = request.config.stash[_TURN]
    if now is not None:
        now.learn(before if now is machine else [])
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Bring a shared machine back to how the test has found it, and fail the test for what it has left."""
    try:
        result = yield
    finally:
        machine, left = item.config.stash[_TURN], None
        if machine is not None and any(name in _fixtures(item) for name in _WIDE):
            _forget_variables(item)
            left = machine.tidy()
    if left is not None:
        _complain(item, left)
    return result


def _take_turn(config: pytest.Config, machine: Machine | None) -> None:
    if (now := config.stash[_TURN]) is not machine:
        if now is not None:
            now.leave()
        if machine is not None:
            machine.enter()
        config.stash[_TURN] = machine


def _shared_with(request: pytest.FixtureRequest, url: str) -> Machine | None:
    """Return the shared machine that a test's own fixtures stand for."""
    shared = request.config.stash[_SHARED]
    for name in _WIDE:
        if name in request.fixturenames:
            request.getfixturevalue(name)
            machine = shared.get(name) or next(iter(shared.values()))
            if request.node.get_closest_marker("npu") and url != machine.url:
                pytest.fail(
                    f"the test's mark asks for {url}, but it shares {machine.url} through {name}: put the mark on the "
                    "module, or do not ask for both", pytrace=False,
                )
            return machine
    return None if choice.is_fake(url) else next(iter(shared.values()), None)


# -- what both have in common ------------------------------------------------------------------------------------------


def _open(url: str, owner: str) -> Machine:
    from runtime.testing.machines import Machine

    try:
        return Machine(url, owner)
    except choice.unusable() as wrong:
        said = str(wrong)
    pytest.fail(f"npu: {url} cannot be opened: {said}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember with what a test failed."""
    report = yield
    if report.failed and call.excinfo is not None and report.when != "teardown":
        item.stash[_FAILURE] = call.excinfo.value
        problem = call.excinfo.value
        for one in (problem, *getattr(problem, "exceptions", ())):
            if script := getattr(one, "npu_script", ""):  # of `runtime.testing.script`
                report.sections.append(("program", script))
    return report


def _forget_variables(item: pytest.Item) -> None:
    """Drop the variables of the functions that a failure came through: the report has its text by now."""
    seen: set[int] = set()
    todo = [item.stash.get(_FAILURE, None)]
    while todo:
        problem = todo.pop()
        if problem is not None and id(problem) not in seen:
            seen.add(id(problem))
            for frame, _ in traceback.walk_tb(problem.__traceback__):
                with suppress(RuntimeError):  # it is running
                    frame.clear()
                frame.f_locals  # noqa: B018 - before Python 3.13 it is a copy, which is brought in line when asked for
            todo += [problem.__cause__, problem.__context__, *getattr(problem, "exceptions", ())]


def _complain(item: pytest.Item, left: Left) -> None:
    """Fail a test for what it has left. One that has failed could not close things: they are shown in its report."""
    failed = item.stash.get(_FAILURE, None) is not None
    if _FAILURE in item.stash:
        del item.stash[_FAILURE]
    if failed and left.objects:
        item.add_report_section("teardown", "npu", f"{left.opened}\n")
    text = "\n".join(left.mistakes) if failed else left.text
    if text:
        pytest.fail(text, pytrace=False)


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])
