"""`npuhal trace`: scripts that are watched, and recordings of HAL calls that are replayed and compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npuhal.trace import load
from runtime.cli import main

SCRIPT = """
import sys
import runtime
device = runtime.device(0)
stream = device.create_stream()
stream.copy(device.alloc(64), device.alloc_host(64))
stream.synchronize()
print("arguments", sys.argv[1:])
sys.exit(3)
"""


def trace(folder: Path, *arguments: str, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    (folder / "job.py").write_text(script)
    root = Path(__file__).resolve().parents[4]
    environ = {**os.environ, "NPUHAL_URL": "fake://ascend910b3", "PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, "-m", "runtime.cli", "trace", *arguments], cwd=folder, env=environ, capture_output=True,
        text=True, timeout=100, check=False,
    )  # fmt: skip


def test_a_script_is_run_watched_and_keeps_its_status(tmp_path: Path) -> None:
    done = trace(tmp_path, "job.py", "--flag", "7")
    assert done.returncode == 3, done.stderr
    assert "arguments ['--flag', '7']" in done.stdout
    assert "no kernel was launched" in done.stdout
    assert "traceEvents" in json.loads((tmp_path / "job.trace.json").read_text())
    assert (tmp_path / "job.trace.html").is_file()


def test_own_options_stand_before_the_script_or_behind_two_dashes(tmp_path: Path) -> None:
    done = trace(tmp_path, "job.py", "-o", "t.json")
    assert "arguments ['-o', 't.json']" in done.stdout
    assert "note: -o after the script's name is an argument of the script" in done.stderr
    assert not (tmp_path / "t.json").exists()
    done = trace(tmp_path, "-m", "job", "--flag", "--", "-o", "u.json", "--json")
    assert json.loads(done.stdout)["files"] == ["u.json"]
    assert "arguments ['--flag']" in done.stderr  # what the script prints stays out of the JSON
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope.py",), "error: cannot open 'nope.py': no such file\ncure: give the path of a Python file\n"),
        (("-m", "nope"), "error: there is no module 'nope'\n"),
        (("-m",), "error: -m needs a module\n"),
        (("-c",), "error: -c needs a text\n"),
        (("job.py", "--", "--flag"), "error: npuhal trace: unrecognized arguments: --flag\n"),
        (("-c", "", "--", "word"), "error: 'word' behind -- is no option of npuhal trace\n"),
        (("--url", "fake://ascend", "job.py"), "error: no chip file describes the SoC 'ascend'; these begin so: "),
    ],
)
def test_a_wrong_command_line_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "job.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPUHAL_URL", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["trace", *arguments]) == 2
    done = capsys.readouterr()
    assert done.err.startswith(said)
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.py"]


def test_memory_is_told_in_words_and_in_json_though_the_script_prints(tmp_path: Path) -> None:
    done = trace(tmp_path, "--memory", "--json", "job.py")
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    (memory,) = told["memory"]
    assert memory["high_water_bytes"] == memory["at_high_water"]["device"] > 0
    assert any(row["owner"] == "device" and "job.py:6" in row["site"] for row in memory["holders"])
    assert any(line.startswith("memory: device 0 held at most") for line in told["verdict"])
    assert "arguments []" in done.stderr


@pytest.mark.parametrize(("machines", "kind"), [(0, list), (1, dict), (2, list)])
def test_json_is_one_document_however_many_machines_there_were(tmp_path: Path, machines: int, kind: type) -> None:
    script = "from runtime.api import Runtime\n" + "Runtime('fake://ascend910b3').device(0)\n" * machines
    done = trace(tmp_path, "--json", "job.py", script=script)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert type(told) is kind
    assert len(told if kind is list else [told]) == machines


def test_a_pyacl_script_is_watched_too(tmp_path: Path) -> None:
    script = (
        "import acl\nacl.init(); acl.rt.set_device(0)\nstream, _ = acl.rt.create_stream()\n"
        "event, _ = acl.rt.create_event()\nacl.rt.record_event(event, stream)\nacl.rt.synchronize_stream(stream)\n"
        "acl.rt.reset_device(0); acl.finalize()\n"
    )
    done = trace(tmp_path, "-o", "t.json", "job.py", script=script)
    assert done.returncode == 0, done.stderr
    names = [event["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]]
    assert "event record" in names
    assert "wait for stream" in names


def test_recordings_of_the_same_program_are_the_same_and_another_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        assert trace(tmp_path, "-o", "t.json", "--hal", name, "job.py").returncode == 3
    assert main(["trace", "--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out.startswith("the same ")
    lines = (tmp_path / "b").read_text().splitlines()
    (tmp_path / "b").write_text("\n".join(lines[:-5]) + "\n")
    assert main(["trace", "--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "number of calls" in capsys.readouterr().out
    assert main(["trace", "--json", "--diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "number of calls" in json.loads(capsys.readouterr().out)["difference"]


def test_a_recording_is_replayed_until_the_machine_answers_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace(tmp_path, "-o", "t.json", "--hal", "a", "job.py")
    recording = tmp_path / "a"
    assert main(["trace", "--replay", str(recording), "--url", "fake://ascend950pr_9599"]) == 1
    assert "differs at #0 " in capsys.readouterr().out
    recording.write_text("\n".join(recording.read_text().splitlines()[:20]) + "\n")
    assert main(["trace", "--replay", str(recording), "--url", "fake://ascend910b3"]) == 0
    assert capsys.readouterr().out.startswith("replayed 20 of 20 calls")
    assert main(["trace", "--json", "--replay", str(recording), "--url", "fake://ascend910b3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["replayed"], told["calls"], told["difference"]) == (20, 20, None)


DEMO = "import os, sys; from runtime.cli import main; sys.exit(main(['demo', '--url', os.environ['NPUHAL_URL']]))"

# A process of its own, as the recorded program was.
REPLAY = """
import sys, npuhal
from npuhal.replay import replay
from npuhal.trace import load
hal = npuhal.open_hal(sys.argv[1])
done = replay(load("a"), hal)
print(done.divergence, done.replayed, done.skipped, list(hal.fake.problems))
hal.close()
"""


@pytest.mark.parametrize(
    "machine",
    [
        "ascend910b3", "ascend950pr_9599?args=ub", pytest.param("ascend950pr_9599", marks=pytest.mark.soak),
        pytest.param("ascend310b1?args=bar", marks=pytest.mark.soak),
    ],
)
def test_a_recording_of_the_demo_is_replayed_to_its_end(machine: str, tmp_path: Path) -> None:
    done = trace(tmp_path, "--url", f"fake://{machine}", "-o", "t.json", "--hal", "a", "job.py", script=DEMO)
    assert done.returncode == 0, done.stderr
    url = f"fake://{machine}{'&' if '?' in machine else '?'}kernels=noop"
    again = subprocess.run(
        [sys.executable, "-c", REPLAY, url], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[4])},
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert again.stdout == f"None {len(load(tmp_path / 'a'))} [] []\n"


@pytest.mark.parametrize("arguments", [[], ["nowhere.py"], ["--diff", "nowhere", "nowhere"], ["--replay", "nowhere"]])
def test_mistakes_are_usage_errors(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err


STRACE = """\
[pid 812] ioctl(7</dev/davinci_manager>, 0xc02c5800, 0x7ffd1c) = 0
[pid 812] ioctl(7</dev/davinci_manager>, _IOC(_IOC_READ|_IOC_WRITE, 0x58, 0xf, 0x60), 0x7f) = -1 ENOSPC (No space)
[pid 812] ioctl(1, TCGETS, 0x7f) = 0
"""


def test_an_strace_is_shown_as_named_driver_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "box.txt"
    path.write_text(STRACE)
    assert main(["trace", "--strace", str(path)]) == 0
    told = capsys.readouterr().out
    assert "2 driver calls: 1 TRS_RES_ID_ALLOC, 1 TRS_SQCQ_ALLOC" in told
    assert "DRV_ERROR_NO_RESOURCES" in told
    assert main(["trace", "--json", "--strace", str(path)]) == 0
    first, second = json.loads(capsys.readouterr().out)["calls"]
    assert (first["line"], first["process"], first["descriptor"]) == (1, 812, 7)
    assert (second["request"], second["result"], second["errno"]) == ("TRS_SQCQ_ALLOC", -1, "ENOSPC")


def test_an_strace_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "--strace", str(tmp_path / "none.txt")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    path = tmp_path / "other.txt"
    path.write_text("hello\n")
    assert main(["trace", "--json", "--strace", str(path)]) == 2
    assert "no call of a driver's node" in capsys.readouterr().err
