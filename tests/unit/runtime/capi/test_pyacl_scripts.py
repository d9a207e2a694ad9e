"""Scripts written for pyACL run as they are: the shapes of public samples, of load generators and of a framework."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.capi.pyacl.binding import process
from runtime.cli.script import run_script
from tests.unit.runtime.capi.acl_module import URLS, opened

SCRIPTS = Path(__file__).parents[3] / "data" / "scripts"

Run = Callable[..., list[str]]


@pytest.fixture(params=URLS)
def run(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs a script as `npuhal run` does, in this process; gives the lines it prints."""
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def started(script: str, *arguments: object) -> list[str]:
        status = run_script(str(SCRIPTS / script), [str(each) for each in arguments], request.param)
        out, err = capsys.readouterr()
        assert status == 0, err
        return out.splitlines()

    with opened(request.param):
        try:
            yield started
        finally:
            for name in [name for name in sys.modules if name == "acl" or name.startswith("acl.")]:
                del sys.modules[name]


def chip(machine: str) -> str:
    return "Ascend310B1" if "310b1" in machine else "Ascend910B3"


def test_copies_in_cycles_give_memory_back(run: Run) -> None:
    lines = run("copy_cycles.py", 2, 8)
    assert lines == ["[7 7 7 7 7 7 7 7] [7 7 7 7 7 7 7 7]"] * 2 + ["falls True returns True"]


def test_queued_copies_and_media_memory(run: Run) -> None:
    assert run("copy_async.py") == ["[7]", "run success!"]


def test_detection_needs_no_initialisation(run: Run, request: pytest.FixtureRequest) -> None:
    found = json.loads(run("detect.py")[0])
    machine = request.node.callspec.params["run"]
    assert found == {"methods": ["python_acl"], "devices": 2, "chip": chip(machine)}


def test_a_load_generator_passes(run: Run) -> None:
    lines = run("load.py", 3, 40, 1 << 16)
    assert lines[-1] == "PASS loops 3"
    assert all(line.endswith(" 0") for line in lines[:-1])


def test_the_device_layer_of_a_framework(run: Run, request: pytest.FixtureRequest) -> None:
    assert run("backend.py") == [f"{chip(request.node.callspec.params['run'])} True", "True True", "done"]


def test_callbacks_in_a_thread_of_their_own(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    assert run("callbacks.py") == ["[[1], [3], 'ended']"]
    assert "KeyError" in caplog.text
    assert process().initialised is False


def test_clean_up_after_everything_was_finalised() -> None:
    command = [sys.executable, "-m", "runtime.cli", "run", "--url", URLS[0], str(SCRIPTS / "late_cleanup.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert ended.stdout.splitlines() == ["finalize 0", "cleaned up ['int', 'int', 'int', 'int', 'int', 'int']"]
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
