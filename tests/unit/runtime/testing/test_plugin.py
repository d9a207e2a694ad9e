"""The pytest plug-in, as a project that uses it would see it."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_schedules_repeat_tests_and_are_named_on_failure(project: pytest.Pytester) -> None:
    project.makepyfile(HEADER + """
def test_many(npu):
    with npu.create_stream() as stream:
        assert stream.query()

def test_fails(npu):
    assert False

def test_without_device():
    pass
""")
    result = project.runpytest_subprocess("--npu-schedules=3", "--npu-seed=40")
    result.assert_outcomes(passed=4, failed=3)
    result.stdout.fnmatch_lines(["*repeat with --npu-seed=42, policy *"])


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


def test_loading_the_plugin_costs_less_than_20_ms() -> None:
    code = (
        "import pytest, time; began = time.process_time(); import runtime.testing.plugin; "
        "print(time.process_time() - began)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.020


def test_the_plugin_draws_from_all_policies() -> None:
    from fakes.scheduler import POLICIES
    from runtime.testing import plugin

    assert set(plugin._POLICIES) == set(POLICIES)
