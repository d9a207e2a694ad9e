"""Ctrl-C ends a program with an open device as it ends any other: by the signal, with the traceback, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOOP = """
import os, signal
import runtime
device = runtime.device(0)
stream = device.create_stream()
buffer = device.alloc(64)
for turn in range(10_000):
    stream.fill(buffer, 1)
    stream.synchronize()
    if turn == 20:
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("way", "status", "url"),
    [
        ((), -signal.SIGINT, "fake://ascend910b3"),
        ((), -signal.SIGINT, "fake-abi://ascend950"),
        (("-m", "runtime.cli", "run"), 130, "fake-abi://ascend950"),
        (("-m", "runtime.cli", "trace"), 130, "fake://ascend910b3"),
    ],
)
def test_ctrl_c_with_an_open_device(tmp_path: Path, way: tuple[str, ...], status: int, url: str) -> None:
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    ended = subprocess.run(
        [sys.executable, *way, str(script)], cwd=tmp_path, env={**os.environ, "NPUHAL_URL": url}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == status
    assert "loop.py" in ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")


STANDING = """
import threading
import runtime
stream = runtime.device(0).create_stream(name="work")
inside = threading.Event()

def stands():
    inside.set()
    threading.Event().wait()

stream.host_function(stands)
inside.wait()
"""


def test_the_exit_does_not_wait_for_ever_for_a_host_function() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STANDING], env={**os.environ, "NPUHAL_URL": "fake://ascend950"}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0
    assert "stands" in ended.stderr
    assert "3 s" in ended.stderr
