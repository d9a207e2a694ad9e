"""Campaigns: jobs in processes of their own, failures kept once per cause, interrupted and resumed, on any executor."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from runtime import errors
from runtime.cli import main
from runtime.testing.campaigns import campaign, executors, kinds
from runtime.testing.campaigns.folder import Folder
from runtime.testing.campaigns.jobs import Coverage, Failure, Job, Result
from runtime.testing.campaigns.work import perform

ROOT = str(Path(__file__).parents[4])
PROGRAMS = "tests.unit.runtime.testing.programs"
URL = "fake://ascend910b3?check=leak"


class Inline(Executor):
    """An executor that does everything at once; the smallest that a campaign takes."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as raised:
            future.set_exception(raised)
        return future


def sweeping(program: str) -> dict[str, Any]:
    return {"program": f"{PROGRAMS}:{program}", "url": URL, "cases": [[1, "halMemAlloc", 1, 17]]}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Jobs are done by a function here, which notes them: a failure in each third, of one of two causes."""
    done: list[tuple[Any, ...]] = []

    def do(kind: str, facts: dict[str, Any], _patience: float) -> dict[str, Any]:
        done.append((kind, facts))
        number = facts["number"]
        found = Failure(f"cause {number % 2}", f"failed at {number}", "print('again')\n")
        failures = [] if number % 3 else [found]
        return Result(10, failures, Coverage({"calls": {"halMemAlloc": number}})).to_data()

    monkeypatch.setattr(campaign, "perform", do)
    return done


def jobs(count: int) -> list[Job]:
    return [Job("sweep", {"number": number}) for number in range(count)]


def test_failures_are_kept_once_per_cause(counted: list[Any], tmp_path: Path) -> None:
    lines: list[str] = []
    summary = campaign.run(
        jobs(12), Inline(), 2, folder=Folder(tmp_path), progress=lambda now: lines.append(str(now))
    )
    assert (summary.done, summary.runs, len(counted)) == (12, 120, 12)
    assert {cause: each.count for cause, each in summary.failures.items()} == {"cause 0": 2, "cause 1": 2}
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".jsonl", ".py", ".py", ".txt", ".txt"]
    assert "found 2 times" in next(tmp_path.glob("cause-0-*.txt")).read_text()
    assert {kind: all_ for kind, _, all_ in summary.coverage.rows()}["calls"] == sum(range(12))
    assert len(lines) == 12
    assert " s left" in lines[0]
    assert "12 of 12 jobs, 120 runs" in lines[-1]


def test_what_is_done_is_left_out_when_resumed(counted: list[Any], tmp_path: Path) -> None:
    first = campaign.run(jobs(5), Inline(), folder=Folder(tmp_path))
    with (tmp_path / "done.jsonl").open("ab") as file:
        file.write(b'\xff\n\0\n{"job": "cut o')  # as a machine that lost power leaves it
    again = campaign.run(jobs(8), Inline(), folder=Folder(tmp_path), resume=True)
    assert len(counted) == len(Folder(tmp_path).done()) == 8
    assert (first.runs, again.runs, again.done) == (50, 80, 8)
    campaign.run(jobs(2), Inline(), folder=Folder(tmp_path))
    assert len(counted) == 10


def test_an_interrupt_keeps_what_there_is(counted: list[Any], tmp_path: Path) -> None:
    def interrupt(summary: campaign.Summary) -> None:
        if summary.done == 4:
            raise KeyboardInterrupt

    summary = campaign.run(jobs(100), Inline(), folder=Folder(tmp_path), progress=interrupt)
    assert summary.interrupted
    assert summary.done == 4
    assert len(Folder(tmp_path).done()) == 4


def test_an_executor_that_loses_a_job_is_a_failure(tmp_path: Path) -> None:
    class Losing(Inline):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(lambda: 1 // 0)

    summary = campaign.run(jobs(3), Losing(), folder=Folder(tmp_path))
    assert [each.count for each in summary.failures.values()] == [3]


def test_a_crash_and_a_hang_of_a_job_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    died = Result.from_data(perform("sweep", sweeping("dying"), 60))
    assert "SIGABRT" in died.failures[0].cause
    hung = Result.from_data(perform("sweep", sweeping("hanging"), 6))
    assert "hanging" in hung.failures[0].text  # where it hangs
    assert "did not end" in hung.failures[0].cause or "status 1" in hung.failures[0].cause


def test_what_a_sweep_finds_repeats_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    planned = kinds.plan(f"{PROGRAMS}:leaking", URL, calls=["halMemAlloc"], codes=["IOCRL_FAIL"]).rows
    assert planned == [[planned[0][0], "halMemAlloc", 1, 17]]
    result = kinds.do("sweep", sweeping("leaking"))
    assert result.totals["leak"]
    assert result.coverage.counts["faults"]["halMemAlloc 17"]
    script = tmp_path / "again.py"
    script.write_text(result.failures[0].replay)
    again = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": ROOT}
    )
    assert again.returncode == 1
    assert "leak" in again.stdout


TESTS = '''
import numpy as np
from hypothesis import given, strategies as st

def test_of_two_streams(npu, fake_hal):
    """Right only where the first stream comes first."""
    fake_hal.checks = None
    data = npu.upload(np.zeros(8, np.int64))
    with npu.create_stream() as one, npu.create_stream() as two:
        for number in range(4):
            one.write_value(data, 1)
            two.write_value(data, 2)
        one.synchronize()
        two.synchronize()
    assert npu.download(data, np.int64)[0] == 2

def test_fine(npu):
    assert npu.device_id == 0
'''


def test_a_campaign_of_tests_finds_an_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test_order.py").write_text(TESTS)
    assert main(["fake", "campaign", "test_order.py", "--seeds", "16", "--jobs", "2", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["done"] == told["jobs"] == 2
    assert told["coverage"]["schedules"]["different"] > 8
    assert told["coverage"]["task types"]["different"]
    assert [each["cause"].partition(" ")[0] for each in told["failures"]] == ["test_order.py::test_of_two_streams"]
    again = subprocess.run(
        [sys.executable, f"npuhal-failures/{told['failures'][0]['file']}"], capture_output=True, text=True, timeout=60
    )
    assert again.returncode == 1, again.stdout
    assert "test_of_two_streams" in again.stdout


def test_a_script_is_swept_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text(
        "import runtime\nwith runtime.device(0).alloc(64) as buffer:\n    pass\nruntime.device(0).close()\n"
    )
    assert main(["fake", "sweep", "--call", "halMemFree", "--sample", "3", "job.py"]) == 0
    assert "3 runs" in capsys.readouterr().out
    assert main(["fake", "sweep", "--call", "halNothing", "job.py"]) == 2
    assert "halNothing" in capsys.readouterr().err


def test_chips_are_validated_with_each_seed() -> None:
    result = kinds.chips(["Ascend910B1"], [1, 2])
    assert (result.runs, result.failures) == (2, [])
    assert result.totals["checks"] > 100


@pytest.mark.parametrize("name", ["thread", "dask", "processes:2", "ray:"])
def test_unknown_executors_are_refused(name: str) -> None:
    with pytest.raises(errors.InvalidArgument, match="executor"), executors.opened(name):
        pass


def test_ray_gets_functions_by_its_own_means() -> None:
    class Reference:
        def future(self) -> Future[int]:
            future: Future[int] = Future()
            future.set_result(7)
            return future

    class Remote:
        def __init__(self, function: Any) -> None:
            self.function = function

        def remote(self, *args: Any) -> Reference:
            assert (self.function, args) == (perform, ("sweep", {}))
            return Reference()

    class Ray:
        remote = Remote

    assert executors.RayExecutor(Ray()).submit(perform, "sweep", {}).result() == 7


@pytest.mark.soak
def test_a_campaign_on_a_dask_cluster_of_two_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    distributed = pytest.importorskip("distributed", reason="pip install 'npuhal[dask]'")
    monkeypatch.chdir(tmp_path)
    Path("test_order.py").write_text(TESTS)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        where = f"dask:{cluster.scheduler_address}"
        assert main(["fake", "campaign", "test_order.py", "--seeds", "32", "--executor", where, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["done"] == told["jobs"] == 4
    assert len(told["failures"]) == 1
