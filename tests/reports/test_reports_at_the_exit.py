"""What checkers have found reaches standard error and the exit status, whoever owns the machine and however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.checkers import CheckFailed

RACE = """
import atexit, gc, sys
atexit.register(print, "exit handler")
from runtime.api import Runtime
import runtime

def race(device):
    first, second = device.create_stream(), device.create_stream()
    target, source = device.alloc(4096), device.alloc_host(4096)
    first.copy(target, source)
    second.copy(target, source)
    first.synchronize()
    second.synchronize()

def pyacl():
    import acl
    acl.init()
    acl.rt.set_device(0)
    streams = [acl.rt.create_stream()[0] for _ in range(2)]
    target, source = acl.rt.malloc(4096, 0)[0], acl.rt.malloc_host(4096)[0]
    for stream in streams:
        acl.rt.memcpy_async(target, 4096, source, 4096, 1, stream)
    for stream in streams:
        acl.rt.synchronize_stream(stream)
    acl.rt.reset_device(0)
    acl.finalize()

owner, end = sys.argv[1], sys.argv[2]
if owner == "own":
    kept = Runtime()
    race(kept.device(0))
elif owner == "dropped":
    race(Runtime().device(0))
    gc.collect()
elif owner == "pyacl":
    pyacl()
else:
    race(runtime.device(0))
if end == "raise":
    raise ValueError("the program's own")
sys.exit(int(end))
"""
BARE, RUN = (), ("-m", "runtime.cli", "run")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exit") / "race.py"
    path.write_text(RACE)
    return path


def run(script: Path, *words: str, way: tuple[str, ...] = BARE, url: str = "fake://ascend910b3?check=race"):
    return subprocess.run(
        [sys.executable, *way, str(script), *words], env={**os.environ, "NPUHAL_URL": url}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("way", "owner", "url"),
    [
        (BARE, "process", "fake://ascend910b3?check=race"),
        (BARE, "own", "fake-abi://ascend950?check=race"),
        (BARE, "dropped", "fake://ascend950?check=race"),
        (RUN, "pyacl", "fake://ascend910b3?check=race"),
        (RUN, "process", "fake://ascend950?check=race"),
    ],
)
def test_a_race_that_nobody_asked_about_is_told_and_is_the_status(
    script: Path, way: tuple[str, ...], owner: str, url: str
) -> None:
    ended = run(script, owner, "0", way=way, url=url)
    assert ended.returncode == CheckFailed.exit_status
    assert ended.stderr.count("race: bytes") == 1
    assert ended.stderr.count("race.py") >= 2  # both copies, by file and line
    assert ended.stdout == "exit handler\n"  # registered before the runtime's own, so it runs after it


def test_an_uncaught_exception_keeps_its_status(script: Path) -> None:
    ended = run(script, "process", "raise")
    assert ended.returncode == 1
    assert "ValueError: the program's own" in ended.stderr
    assert "race: bytes" in ended.stderr


def test_without_checks_the_status_is_the_programs_own(script: Path) -> None:
    ended = run(script, "process", "5", url="fake://ascend910b3")
    assert (ended.returncode, ended.stderr) == (5, "")
