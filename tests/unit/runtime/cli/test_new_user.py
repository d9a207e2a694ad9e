"""Every command the way somebody tries it who has never used it: no mistake ends in a traceback."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from chips import all_socs
from runtime.capi import pyacl as acl
from runtime.cli import COMMANDS, main
from runtime.cli.parser import Parser

ROOT = Path(__file__).resolve().parents[4]
MACHINE = "fake://ascend910b3"

RIGHT = {
    "demo": ["--url", MACHINE], "info": ["--url", MACHINE], "doctor": [], "validate": ["--chip", "Ascend910B3"],
    "sqe": ["decode", "--chip", "Ascend910B3", "00" * 64], "abi": ["check", "nowhere.yaml"],
    "elf": ["nowhere.o"], "run": ["nowhere.py"], "explain": ["107002"], "fake": ["coverage"],
    "trace": ["nowhere.py"], "bench": ["--quick"], "shim": ["driver", "--out", "nowhere", "--url", "fake://nope"],
    "serve": ["--wire", "99", "--library", "nowhere.so"], "completion": ["bash"],
    "top": ["--url", MACHINE],
}  # fmt: skip
"""A plain use of every command; those that need a file get one that is not there."""

WRONG = [
    ("info", ["--chip", "Ascend910B33"], "Ascend910B3"), ("validate", ["--chip", "nope"], "nope"),
    ("sqe", ["decode", "--chip", "nope", "00" * 64], "nope"), ("fake", ["coverage", "--chip", "nope"], "nope"),
    ("elf", ["--chip", "nope", "nowhere.o"], "nope"), ("info", ["--url", "fake://nope"], "nope"),
    ("info", ["--url", "nope"], "nope"), ("demo", ["--url", "fake://nope"], "nope"),
    ("info", ["--url", "hal://"], "libascend_hal"), ("demo", ["--url", "hal://"], "libascend_hal"),
    ("demo", ["--url", MACHINE, "--elf", "nowhere.o"], "nowhere.o"), ("run", ["nowhere.py"], "nowhere.py"),
    ("trace", ["nowhere.py"], "nowhere.py"), ("elf", ["nowhere.o"], "nowhere.o"),
    ("abi", ["check", "nowhere.yaml"], "nowhere.yaml"), ("sqe", ["check", "nowhere.json"], "nowhere.json"),
    ("explain", ["nope"], "nope"), ("demo", ["--url", MACHINE, "--blocks", "100000"], "1 to 65535 blocks"),
    ("run", ["--url", "nope", "-c", "pass"], "nope"), ("doctor", ["--url", "fake://nope"], "nope"),
    ("run", ["--url", "fake://ascend910b3?devics=2", "-c", "pass"], "devics"),
    ("fake", ["campaign", "nowhere.py"], "nowhere.py"), ("fake", ["sweep", "nowhere.py"], "nowhere.py"),
]  # fmt: skip
"""Wrong chip, no device, no file: what is wrong must be named."""


def npuhal(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, which is a second faster than in one of its own.

    What looks for a driver needs its own: another test may have loaded one here.
    """
    if "hal://" in arguments:
        return subprocess.run(
            [sys.executable, "-m", "runtime.cli", *arguments], env={**os.environ, **variables}, capture_output=True,
            text=True, timeout=250, check=False,
        )  # fmt: skip
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, variables), redirect_stdout(out), redirect_stderr(err):
        status = main(list(arguments))
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def test_the_table_knows_every_command() -> None:
    assert RIGHT.keys() == {command.name for command in COMMANDS}


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_help_teaches(name: str) -> None:
    done = npuhal(name, "--help", COLUMNS="40")  # a narrow terminal
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: npuhal {name}")
    assert len(done.stdout.split()) > 30


@pytest.mark.parametrize(("name", "arguments", "named"), WRONG)
def test_a_mistake_is_named_without_a_traceback(name: str, arguments: list[str], named: str) -> None:
    done = npuhal(name, *arguments)
    assert done.returncode in (1, 2), done.stderr
    assert named in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


ONE_LINE = [row for row in WRONG if "hal://" not in row[1]]


@pytest.mark.parametrize(("name", "arguments", "named"), ONE_LINE)
def test_a_wrong_command_line_is_one_line_with_its_cure_and_status_2(
    name: str, arguments: list[str], named: str
) -> None:
    done = npuhal(name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    error, *cure = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert [line for line in cure if not line.startswith("cure: ")] == []
    assert len(cure) <= 1


@pytest.mark.parametrize("name", ["info", "explain", "fake", "sqe", "validate"])
def test_a_closed_pipe_ends_a_command_quietly(name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "runtime.cli", name, *RIGHT[name]], stdout=writer, stderr=subprocess.PIPE, timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "redirection", "status", "told"),
    [
        ("--help", ">&-", 0, ""), ("explain 107002", ">&- 2>&-", 0, ""),
        ("explain 107002", ">/dev/full", 1, "error: No space left on device\n"),
    ],
)  # fmt: skip
def test_a_job_without_streams_or_on_a_full_disk_ends_in_order(
    arguments: str, redirection: str, status: int, told: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m runtime.cli {arguments} {redirection}"], capture_output=True, text=True,
        timeout=100, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (status, told)


TAKES_FILES = [
    ["elf"], ["sqe", "check"], ["sqe", "decode"], ["abi", "check"], ["trace", "--replay"], ["validate", "--chips"],
    ["demo", "--url", MACHINE, "--elf"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", TAKES_FILES, ids=" ".join)
def test_a_folder_an_empty_file_and_binary_noise_are_refused_by_name(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00\x80" * 7)
    for name in ("folder", "empty", "noise"):
        done = npuhal(*arguments, str(tmp_path / name), NPUHAL_URL=MACHINE)
        assert done.returncode in (1, 2), (name, done.stderr)
        assert name in done.stderr or "are not whole entries of 64" in done.stderr
        assert "unexpected" not in done.stderr


def test_a_trace_that_cannot_be_written_is_refused_before_the_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    for where in (tmp_path / "nowhere" / "t.html", tmp_path):
        done = npuhal("trace", "-o", str(where), str(script))
        assert done.returncode == 2
        assert "cannot write" in done.stderr
    assert not (tmp_path / "ran").exists()


def examples() -> Iterator[tuple[str, list[str]]]:
    """Every example of every help text: its command, and the words behind it."""
    for command in COMMANDS:
        for line, _ in importlib.import_module(command.module).EXAMPLES:
            words = shlex.split(re.sub(r'^eval "\$\((.*)\)"$', r"\1", line).partition(" > ")[0])
            yield command.name, words[words.index("npuhal") + 1 :]


@pytest.mark.parametrize(("name", "words"), list(examples()), ids=lambda words: " ".join(words))
def test_the_examples_of_a_help_text_are_command_lines(name: str, words: list[str]) -> None:
    module = importlib.import_module(f"runtime.cli.{name}")
    parser = Parser(f"npuhal {name}")
    module.configure(parser)
    assert words[0] == name
    parser.parse_args(words[1:])


def test_the_demo_needs_no_checkout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from runtime.cli import demo

    monkeypatch.setattr(demo, "_SAMPLES", ROOT / "nowhere")
    monkeypatch.delenv("NPUHAL_URL", raising=False)
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "in the source tree only" in told
    assert told.count("result as NumPy computes it") == told.count("kernel DenseToJagged: ") + 1 == 3


def test_the_demo_is_not_for_machines_that_do_not_compute() -> None:
    done = npuhal("demo", "--url", "null://ascend910b3")
    assert done.returncode == 2
    assert "--elf FILE" in done.stderr
    assert npuhal("demo", "--kernel", "k").returncode == 2


def test_all_socs_are_listed() -> None:
    told = npuhal("info", "--chips").stdout.split()
    assert set(all_socs()) <= set(told)
    assert json.loads(npuhal("info", "--chips", "--json").stdout).keys() == set(all_socs())


def test_ctrl_c_in_a_long_command_gives_130() -> None:
    job = subprocess.Popen(
        [sys.executable, "-m", "runtime.cli", "bench"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
    )  # fmt: skip
    stat = Path(f"/proc/{job.pid}/stat")
    deadline = time.monotonic() + 60
    while int(stat.read_text().rpartition(")")[2].split()[11]) < 100 and time.monotonic() < deadline:
        os.sched_yield()
    job.send_signal(signal.SIGINT)
    _, told = job.communicate(timeout=250)
    assert job.returncode in (130, -signal.SIGINT), told  # the latter is 130 in a shell
    assert told == "interrupted\n"


@pytest.mark.parametrize("name", ["info", "doctor", "validate", "fake", "explain"])
def test_json_is_json(name: str) -> None:
    done = npuhal(name, *RIGHT[name], "--json", NPUHAL_URL=MACHINE)
    assert done.returncode in (0, 1), done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize("command", ["run", "trace"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def work():\n    raise ValueError('no such tile')\nwork()\n", "ValueError: no such tile"),
        ("1 +\n", "SyntaxError"),
    ],
    ids=["an error of its own", "no Python"],
)
def test_a_script_that_fails_shows_its_own_traceback(
    command: str, text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(acl, "install", lambda: None)  # other tests share this process
    with mock.patch.object(sys, "argv"), mock.patch.object(sys, "path", [*sys.path]):
        done = npuhal(command, "--url", MACHINE, str(tmp_path / "job.py"))
    check_traceback(done, told, tmp_path / "job.py")


@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_script_that_ends_in_a_fault_of_the_runtime_shows_where(command: str, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import runtime\nruntime.device(77)\n")
    done = subprocess.run(
        [sys.executable, "-m", "runtime.cli", command, "--url", MACHINE, str(script)], cwd=tmp_path,
        capture_output=True, text=True, timeout=100, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    check_traceback(done, "device(77)", script)


def check_traceback(done: subprocess.CompletedProcess[str], told: str, script: Path) -> None:
    """A traceback is there, it is the script's, and nobody calls it a defect of ours."""
    assert done.returncode == 1
    assert told in done.stderr
    assert f'File "{script}"' in done.stderr
    assert "runpy" not in done.stderr
    assert "unexpected" not in done.stderr
