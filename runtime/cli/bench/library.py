"""`npuhal bench --library PATH`: the same operations in C over any libascendcl.so, in the same run as ours."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from npuhal.compiler import BuildError, compiler
from runtime.cli.bench.measure import BASE_CALLS, Row, calibration, cost
from runtime.cli.parser import UsageError

_SOURCE = Path(__file__).with_name("library.c")
_LEAST_CALLS = 500
_LIMIT_S = 600
_ROW = re.compile(r"[^\t]+\t(\d+\.\d|-\t.*)")
"""A line of the compiled loop."""


def rows(library: str, calls: int, kernel: str = "") -> Iterator[Row]:
    """Compile the loop, run it in a process of its own, and yield its rows; one that failed has 0 calls.

    Where the process is ended by the library, a last row says so. What the library itself prints is passed by.

    Args:
        library: the path of a libascendcl.so, or its name where the loader finds it.
        calls: how often each operation is called per run.
        kernel: "FILE:NAME" of a kernel for the rows of launches, which the device runs; without one they are left out.

    Raises:
        UsageError: there is no compiler or no such kernel file, the library cannot be loaded, or cannot open device 0.
    """
    file, _, name = kernel.rpartition(":")
    if bool(kernel) != bool(file):
        raise UsageError(f"--kernel {kernel}: a file and the name of a kernel in it", "give FILE:NAME")
    if file and not Path(file).is_file():
        raise UsageError(f"--kernel {kernel}: there is no file {file}", "give FILE:NAME")
    if "/" in library or Path(library).exists():
        library = str(Path(library).absolute())
    base = cost(calibration, BASE_CALLS)
    for told in _run(library, max(calls, _LEAST_CALLS), str(Path(file).absolute()) if file else "", name):
        operation, value, *why = told.split("\t")
        if value == "-":
            yield Row(f"{operation}: {why[0]}", "-", "library", 0, 0.0, 0.0, 0.0)
        else:
            yield Row(operation, "-", "library", max(calls, _LEAST_CALLS), float(value), 0.0, float(value) / base)


def _run(library: str, calls: int, file: str, name: str) -> list[str]:
    """Return the lines of the compiled loop."""
    with tempfile.TemporaryDirectory(prefix="npuhal-bench-") as folder:
        program = Path(folder) / "bench"
        try:
            command = [*shlex.split(compiler()), "-std=gnu11", "-O2", "-o", str(program), str(_SOURCE), "-ldl"]
        except BuildError as missing:
            raise UsageError(f"--library: {missing}", "install a C compiler") from None
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            raise UsageError(f"--library: {shlex.join(command)} failed: {built.stderr.strip()}", "see what it says")
        try:
            ran = subprocess.run(
                [str(program), library, str(calls), file, name], capture_output=True, text=True, errors="replace",
                check=False, timeout=_LIMIT_S, env=os.environ,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise UsageError(f"--library {library}: its calls do not end within {_LIMIT_S} s",
                             "see whether its device answers") from None
    told = [line for line in ran.stdout.splitlines() if _ROW.fullmatch(line)]
    if not ran.returncode:
        return told
    why = (ran.stderr.strip().splitlines() or [f"status {ran.returncode}"])[-1]
    if ran.returncode > 0 or not told:
        raise UsageError(f"--library {library}: {why}", "give a libascendcl.so that finds its device")
    return [*told, f"ended by signal {-ran.returncode} behind these\t-\t{why}"]
