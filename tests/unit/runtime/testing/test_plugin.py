"""The pytest plug-in, as a project that uses it would see it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.tools.pace import slowness

pytest_plugins = ["pytester"]

HEADER = "import pytest\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """An empty project ; the plug-in comes with the installed package."""
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


def test_devices_come_fresh_and_on_the_machine_asked_for(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
def test_default(npu):
    assert npu.chip.soc == "Ascend910B3"
    npu.alloc(4096)

@pytest.mark.npu("ascend950pr_9599", devices=2)
def test_marked(npus, fake_hal):
    assert [device.chip.generation for device in npus] == ["v200", "v200"]
    assert len(fake_hal.devices) == 2
""")
    project.runpytest_subprocess().assert_outcomes(passed=2)


UNORDERED = """
from runtime.cli.sample import minimal_kernel

def test_luck(npu, fake_hal):
    log, kernel = [], npu.load(minimal_kernel("k", 1)).only
    fake_hal.attach(kernel.code, lambda context: log.append(context.args[0]), grid=True)
    with npu.create_stream() as one, npu.create_stream() as two, npu.create_event() as event:
        for number in range(6):
            kernel[1](number, stream=one)
            one.record(event)
        kernel[1](100, stream=two)
        one.synchronize()
        two.synchronize()
    assert log.index(100) < 4, log
"""


def test_a_search_reports_each_test_once_and_the_schedule_that_fails(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
runs = []

def test_fine(npu, npu_schedule):
    runs.append(str(npu_schedule))

def test_runs():
    assert len(set(runs)) == len(runs) == 4  # no second half: nothing in it records or waits

def test_fails(npu):
    assert False

def test_skipped(npu):
    runs.clear()
    runs.append(0)
    pytest.skip("once")

def test_without_device():
    assert runs == [0]
""")
    result = project.runpytest_subprocess("--npu-schedules=8", "--npu-seed=40")
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    result.stdout.fnmatch_lines([
        "failed under a schedule with the default order, found in 1 runs*",
        '{"test": "*::test_fails", "seed": "40", "plan": ""}',
    ])


def test_a_failing_schedule_is_shrunk_and_can_be_given_back(project: pytest.Pytester) -> None:
    file = project.makepyfile(HEADER + UNORDERED)
    project.runpytest_subprocess().assert_outcomes(passed=1)
    result = project.runpytest_subprocess("--npu-schedules=16")
    result.assert_outcomes(failed=1)
    (line,) = [line for line in result.outlines if line.startswith('{"test"')]
    plan = json.loads(line)["plan"]
    assert 1 <= len(plan.split(",")) <= 6
    project.path.joinpath("failing.jsonl").write_text(line, encoding="utf-8")
    for _ in range(2):
        project.runpytest_subprocess("--npu-replay=failing.jsonl", file).assert_outcomes(failed=1)


def test_a_replay_file_that_is_none_is_refused(project: pytest.Pytester) -> None:
    project.makefile(".jsonl", failing="no schedule")
    result = project.runpytest_subprocess("--npu-replay=failing.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*failing.jsonl:1: no schedule as a failing test prints it: 'no schedule'"])


def test_what_the_checkers_find_fails_a_test_unless_it_is_expected(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
def mistake(npu):
    target, source = npu.alloc(64), npu.alloc(64)
    with npu.create_stream() as one, npu.create_stream() as two:
        one.copy(target, source)
        two.copy(target, source)

def test_race(npu):
    mistake(npu)

def test_expected(npu, npu_reports):
    with npu_reports.expected("race") as found:
        mistake(npu)
    assert "nothing orders the two" in str(found)

@pytest.mark.npu(check="uaf")
def test_not_looked_for(npu):
    mistake(npu)
""")
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["race: bytes * are written by copy at position 0 of stream *"])
    project.runpytest_subprocess("--npu-check=none", "-k", "test_race").assert_outcomes(passed=1, deselected=2)


def test_what_is_left_on_the_device_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
kept = []

def test_leak(npu):
    kept.append(npu.alloc(4096))

def test_forgotten_stream(npu):
    npu.create_stream()

def test_dropped_buffers_are_no_leak(npu):
    npu.alloc(4096)
""")
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*left behind on fake://*4096 bytes*", "*left behind on fake://*<stream *"])


def test_tests_that_need_faults_are_skipped_on_a_real_machine(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
@pytest.mark.npu_faults
def test_fault(npu):
    pass
""")
    project.runpytest_subprocess("--npu-url=hal:///nowhere/libascend_hal.so").assert_outcomes(skipped=1)


def test_loading_the_plugin_imports_no_runtime() -> None:
    code = (
        "import sys; import runtime.testing.plugin; "
        "sys.exit(sorted(m for m in sys.modules if m.split('.')[0] in ('chips', 'fakes', 'npuhal', 'numpy')) != [])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 1, "npuhal: the plug-in is off*finds *runtime.py*"),
        (("-q",), 1, "npuhal: the plug-in is off*finds *runtime.py*"),
        (("--npu-seed=1",), 4, "*npuhal: the plug-in is off*finds *runtime.py*"),
    ],
)
def test_a_foreign_package_turns_the_plugin_off_and_is_named(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: int, said: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.makepyfile(
        runtime="HERE = True",
        test_it="import runtime\ndef test_own(): assert runtime.HERE\ndef test_npu(npu): pass\n",
    )
    ended = project.run(sys.executable, "-m", "pytest", "-p", "npuhal.pytest_entry", *options)
    assert ended.ret == status
    (ended.stderr if status == 4 else ended.stdout).fnmatch_lines([said])
    if status == 1:
        ended.assert_outcomes(passed=1, errors=1)


def test_the_entry_point_loads_the_plugin(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.makepyfile("def test_it(npu): assert npu.chip")
    project.runpytest_subprocess("-p", "npuhal.pytest_entry").assert_outcomes(passed=1)


def test_loading_the_plugin_costs_less_than_20_ms() -> None:
    code = (
        "import pytest, time; began = time.process_time(); import runtime.testing.plugin; "
        "print(time.process_time() - began)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.020 * slowness()


def test_the_plugin_draws_from_all_policies() -> None:
    from fakes.schedule.scheduler import POLICIES, RoundRobin
    from runtime.testing import search

    assert {*search.POLICIES, RoundRobin.name} == set(POLICIES)
