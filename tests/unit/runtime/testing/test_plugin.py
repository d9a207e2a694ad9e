"""The pytest plug-in, as a project that uses it would see it."""

from __future__ import annotations

import json
import subprocess
import sys
from fnmatch import fnmatch

import pytest
from _pytest.pytester import SysModulesSnapshot

from tests.tools.pace import slowness

pytest_plugins = ["pytester"]

HEADER = "import pytest\n"


@pytest.fixture
def project(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project; the plug-in comes with the installed package."""
    monkeypatch.delenv("NPUHAL_URL", raising=False)
    # Only the modules of the project are forgotten between runs: ours, NumPy and others cannot be loaded twice.
    monkeypatch.setattr(
        pytest.Pytester, "_Pytester__take_sys_modules_snapshot",
        lambda _: SysModulesSnapshot(preserve=lambda name: not name.startswith(("test_", "conftest"))),
    )
    pytester: pytest.Pytester = request.getfixturevalue("pytester")
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


def run(project: pytest.Pytester, *arguments: object) -> pytest.RunResult:
    """Run the project's tests in this process: the plug-in gives back what it changes of it."""
    return project.runpytest_inprocess(*arguments)  # type: ignore[arg-type]


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
    run(project).assert_outcomes(passed=2)


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
    result = run(project, "--npu-schedules=8", "--npu-seed=40")
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    result.stdout.fnmatch_lines([
        "fails in the default order; found in 1 run. *",
        '{"test": "*::test_fails", "seed": "40", "plan": ""}',
    ])


def test_a_failing_schedule_is_shrunk_and_can_be_given_back(project: pytest.Pytester) -> None:
    file = project.makepyfile(HEADER + UNORDERED)
    run(project).assert_outcomes(passed=1)
    result = run(project, "--npu-schedules=16")
    result.assert_outcomes(failed=1)
    (line,) = [line for line in result.outlines if line.startswith('{"test"')]
    plan = json.loads(line)["plan"]
    assert 1 <= len(plan.split(",")) <= 6
    project.path.joinpath("failing.jsonl").write_text(line, encoding="utf-8")
    for _ in range(2):
        run(project, "--npu-replay=failing.jsonl", file).assert_outcomes(failed=1)


def test_a_replay_file_that_is_none_is_refused(project: pytest.Pytester) -> None:
    project.makefile(".jsonl", failing="no schedule")
    result = run(project, "--npu-replay=failing.jsonl")
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
    result = run(project)
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["race: bytes * are written by copy at position 0 of stream *"])
    run(project, "--npu-check=none", "-k", "test_race").assert_outcomes(passed=1, deselected=2)


def test_what_is_left_on_the_device_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
kept = []

def test_leak(npu):
    kept.append(npu.alloc(4096))

def test_forgotten_stream(npu):
    kept.append(npu.create_stream())

def test_dropped_buffers_are_no_leak(npu):
    npu.alloc(4096)

def test_program(npu):
    from runtime.cli.sample import minimal_kernel
    kept.append(npu.load(minimal_kernel("add_custom", arguments=3)))
""")
    result = run(project)
    result.assert_outcomes(passed=4, errors=3)
    result.stdout.fnmatch_lines([
        "left open on fake://*", "  <4096 bytes *, made at test_what_is_left_on_the_device_fails_the_test.py:6",
        "  <Stream *, made at test_what_is_left_on_the_device_fails_the_test.py:9",
        "  <program *, made at test_what_is_left_on_the_device_fails_the_test.py:16",
    ])


OWN = """
import os
import runtime
from runtime.core.process import lifetime

def code_under_test():
    with runtime.device(0).create_stream() as stream:
        stream.synchronize()
    return stream.device

def test_the_device_is_the_one_of_the_process(npu, npu_runtime):
    assert code_under_test() is npu is runtime.device(0)
    assert runtime.start() is npu_runtime
    assert os.environ["NPUHAL_URL"] == npu_runtime.url

def test_nothing_is_left_for_tests_without_it():
    assert lifetime.started() is None
    assert "NPUHAL_URL" not in os.environ

def test_code_that_starts_anew_stays_on_the_machine(npu):
    runtime.shutdown(force=True)
    assert runtime.device(0) is not npu
    assert runtime.start().url == "fake://ascend910b3?seed=0&check=all"
    kept.append(runtime.device(0).create_stream(name="mine"))

kept = []

def test_pyacl_lands_there(npu):
    from runtime.capi import pyacl
    acl = pyacl.module()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    address, status = acl.rt.malloc(64, 0)
    assert status == 0 and address in npu.ledger.addresses()
    assert acl.rt.free(address) == acl.rt.reset_device(0) == acl.finalize() == 0

def test_a_failure_shows_what_is_open_without_an_error_of_its_own(npu):
    held = npu.alloc(64)
    kept.append(npu.create_stream(name="forgotten"))
    assert not held
"""


def test_the_fixture_is_the_runtime_of_the_process(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + OWN)
    result = run(project)
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(["* ERROR at teardown of test_code_that_starts_anew*", "  <*, made at *.py:25"])
    shown = result.stdout.str().partition("Captured npu teardown")[2].partition("summary info")[0]
    assert ", made at test_the_fixture_is_the_runtime_of_the_process.py:" in shown
    assert "64 bytes" not in shown  # only the failure kept it


def test_the_machine_is_that_of_the_variable_then_the_option_then_the_ini(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeini("[pytest]\nnpu_url = fake://ascend910b1?seed=3\nnpu_check = race\nnpu_schedules = 2\n")
    project.makepyfile(HEADER + """
seen = []

def test_url(npu_runtime):
    seen.append(npu_runtime.url)

def test_tell():
    assert not seen, seen
""")
    for options, variable, wanted in (
        ((), "", ["fake://ascend910b1[?]seed=3&plan=&check=race", "seed=3"]),
        (("--npu-url=fake://ascend910b2", "--npu-check=none", "--npu-schedules=1"), "", ["fake://ascend910b2[?]seed=0'"]),
        (("--npu-url=fake://ascend910b2", "--npu-seed=4"), "fake://ascend910b4?seed=9",
         ["fake://ascend910b4?seed=9 (NPUHAL_URL; --npu-url=fake://ascend910b2 is not used)",
          "fake://ascend910b4[?]seed=4&plan=&check=race"]),
    ):  # fmt: skip
        monkeypatch.setenv("NPUHAL_URL", variable)
        result = run(project, *options)
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines([f"*{line}*" for line in wanted])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--npu-url=fake://ascend910b3?colour=red",), "ERROR: npu (--npu-url): *unknown option 'colour'*"),
        (("--npu-url=fake://ascend999",), "ERROR: npu (--npu-url): *'ascend999'*"),
        (("--npu-url=card",), "ERROR: npu (--npu-url): *'card': expected scheme*"),
        (("--npu-check=race,speed",), "ERROR: npu (--npu-check): *'speed' is none of all, race,*"),
        (("-o", "npu_check=speed"), "ERROR: npu (npu_check in *): *'speed' is none of all, race,*"),
        (("-o", "npu_schedules=many"), "ERROR: npu_schedules*='many' is not a number*"),
    ],
)
def test_a_wrong_choice_is_one_line(project: pytest.Pytester, options: tuple[str, ...], said: str) -> None:
    project.makepyfile("def test_one(npu): pass\ndef test_two(npu): pass\n")
    result = run(project, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in (*result.outlines, *result.errlines) if "ERROR" in line]
    assert fnmatch(line, said)
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_wrong_variable_does_not_matter_to_tests_without_devices(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_URL", "nonsense")
    project.makepyfile("def test_it(): pass")
    run(project).assert_outcomes(passed=1)


WIDE = """
import numpy as np
import runtime
from fakes import kernels
from runtime.cli.sample import minimal_kernel

@pytest.fixture(scope="module")
def model(npu_module):
    program = npu_module.load(minimal_kernel("add", 3))
    npu_module.hal.fake.attach(program.only.code, kernels.add())
    return program.only, npu_module.upload(np.ones(16, "f4")), npu_module.create_stream(name="model")

first = []

def test_set_up(model, npu_module):
    kernel, ones, stream = model
    first.append(npu_module)
    first.append(npu_module.create_stream(name="forgotten"))
    npu_module.hal.fake.faults.out_of_memory_from = 1 << 20

def test_again(model, npu_module, npu, npu_reports):
    kernel, ones, stream = model
    assert npu is npu_module is first[0] is runtime.device(0)
    assert npu_module.hal.fake.faults.out_of_memory_from is None
    assert [each.name for each in npu.context.streams] == ["model"]
    with npu.alloc(64) as result:
        kernel[1](ones, ones, result, stream=stream)
        stream.synchronize()
        assert (npu.download(result, "f4") == 2).all()
    with pytest.raises(AssertionError, match="expected a report of race, got: none"), npu_reports.expected("race"):
        pass

def test_a_stream_that_hangs(model, npu_module):
    kernel, ones, stream = model
    npu_module.hal.fake.attach(kernel.code, lambda context: 1 / 0)
    kernel[1](ones, ones, ones, stream=stream)
    with pytest.raises(runtime.RuntimeFault):
        stream.synchronize()
    npu_module.hal.fake.attach(kernel.code, kernels.add())
    npu_module.default_stream.fill(ones, 0)  # nobody waits for it

def test_a_machine_of_its_own(npu):
    assert npu is runtime.device(0) is not first[0]

def test_back(model, npu_module):
    assert npu_module is first[0] is runtime.device(0)
    assert not model[2].ring.pending and model[2].failure.first is None

def test_two(npu_module, npu_session):
    pass

@pytest.mark.npu("ascend950")
def test_another_machine(npu, npu_module):
    pass

def test_closes_what_is_not_its_own(npu_module):
    npu_module.close()
"""


def test_a_module_may_share_a_machine(project: pytest.Pytester) -> None:
    project.makepyfile(
        HEADER + WIDE, test_session="def test_it(npu_session):\n    assert npu_session.alloc(1)\n",
        test_session_again="def test_it(npu_session):\n    assert npu_session\n",
    )
    result = run(project, "--npu-schedules=4")
    result.assert_outcomes(passed=8, failed=0, errors=4)
    result.stdout.fnmatch_lines_random([
        "* ERROR at teardown of test_set_up*", "  <*forgotten*, made at *.py:19", "a test has one machine: *",
        "the test's mark asks for fake://ascend950*", "*belongs to npu_module and was closed*",
    ])


def test_mistakes_are_expected_as_warnings_are(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
from runtime.testing import expected

def mistake(npu):
    target, source = npu.alloc(64), npu.alloc(64)
    with npu.create_stream() as one, npu.create_stream() as two:
        one.copy(target, source)
        two.copy(target, source)

def test_found(npu):
    with expected("race", match="nothing orders") as found:
        mistake(npu)
    assert len(found) == 1 and found[0].check == "race" and found[:] == found.reports

def test_another_text(npu):
    with expected("race", match="no such text"):
        mistake(npu)

def test_an_error_of_the_block_is_not_hidden(npu):
    with pytest.raises(KeyError), expected("race"):
        raise KeyError

def test_what_others_find_stays(npu):
    with pytest.raises(AssertionError), expected("uaf"):
        mistake(npu)

def test_wrong_names(npu):
    with pytest.raises(TypeError, match="no such checker"):
        expected("races")

@pytest.mark.npu(check="")
def test_nothing_looks(npu):
    with pytest.raises(RuntimeError, match="no checker is on"):
        expected("race")

def test_no_machine():
    with pytest.raises(RuntimeError, match="ask for the fixture npu"):
        expected("race")
""")
    result = run(project)
    result.assert_outcomes(passed=6, failed=1, errors=1)
    result.stdout.fnmatch_lines(["* ERROR at teardown of test_what_others_find_stays*", "race: *"])
    result.stdout.fnmatch_lines(["E * AssertionError: expected a report that matches 'no such text', got: race: *"])
    assert "report.py" not in result.stdout.str()  # the traceback ends in the test


def test_tests_that_need_faults_are_skipped_on_a_real_machine(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
@pytest.mark.npu_faults
def test_fault(npu):
    pass
""")
    run(project, "--npu-url=hal:///nowhere/libascend_hal.so").assert_outcomes(skipped=1)


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
    run(project, "-p", "npuhal.pytest_entry").assert_outcomes(passed=1)


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
