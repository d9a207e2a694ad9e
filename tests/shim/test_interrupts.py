"""Ctrl-C in Python programs on libascendcl.so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from npuhal import compiler
from tests.shim.conftest import HERE

STRIKE = """
#include <stdint.h>
int strike(void *function, int (*set)(unsigned long, void *), unsigned long thread, void *kind, void *stream, void *to,
           void *from) {
    int (*add)(void *, void *, uint64_t, int, int, void *, void *), (*wait)(void *);
    *(void **)&add = *(void **)&wait = function;
    set(thread, kind);
    return to ? add(to, from, 4, 10, 3, stream, 0) : wait(stream);
}
"""


@pytest.fixture(scope="session")
def strike(folder: Path) -> Path:
    """A library that sets an exception in the calling thread and calls another function."""
    source, made = folder / "strike.c", folder / "libstrike.so"
    source.write_text(STRIKE)
    compiler.compile_library(made, [source])
    return made


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_interrupts_come_behind_calls_and_end_waits(acl: Path, strike: Path, soc: str) -> None:
    program = [sys.executable, str(HERE / "interrupted.py"), str(acl / "libascendcl.so"), str(strike)]
    done = subprocess.run(
        ["env", "--default-signal=INT", *program], env={**os.environ, "NPUHAL_URL": f"fake://{soc}"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    once = [
        "signal KeyboardInterrupt [0] 1",
        "own handler OutOfTimeError [0] 1",
        "set by Python KeyboardInterrupt [500000] 0",
        "before the first line KeyboardInterrupt [0] 1",
    ]
    waits = ["wait KeyboardInterrupt [500000]", "wait OutOfTimeError [500000]"]
    assert done.stdout.splitlines() == [
        *once, *once,
        "in a thread KeyboardInterrupt [0]",
        "afterwards nothing [0, 0] 2",
        "interrupts 40 refused 0",
        "sum agrees True",
        *waits, *waits,
        "aclrtSynchronizeStream was broken off by KeyboardInterrupt",
        "wait before the first line KeyboardInterrupt [500000]",
        "wait without end OutOfTimeError [500000]",
        "goes on 0 0 [0]",
    ], done.stderr  # fmt: skip
    assert done.returncode == -signal.SIGINT
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert done.stderr.endswith("\nKeyboardInterrupt\n")
    assert "ignored" not in done.stderr
