"""`npuhal bench --library PATH`: the same operations in C over any libascendcl.so, in the same run as ours."""

from __future__ import annotations

import os
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


def rows(library: str, calls: int, kernel: str = "") -> Iterator[Row]:
    """Compile the loop, run it in a process of its own, and yield its rows; one that failed has 0 calls.

    Args:
        library: the path of a libascendcl.so, or its name where the loader finds it.
        calls: how often each operation is called per run.
        kernel: "FILE:NAME" of a kernel for the rows of launches, which the device runs; without one they are left out.

    Raises:
        UsageError: there is no compiler, the library cannot be loaded, or it cannot open device 0.
    """
    file, _, name = kernel.rpartition(":")
    if bool(kernel) != bool(file):
        raise UsageError(f"--kernel {kernel}: a file and the name of a kernel in it", "give FILE:NAME")
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
        ran = subprocess.run(
            [str(program), library, str(calls), file, name], capture_output=True, text=True, check=False,
            timeout=_LIMIT_S, env=os.environ,
        )  # fmt: skip
    if ran.returncode:
        raise UsageError(f"--library {library}: {ran.stderr.strip() or f'status {ran.returncode}'}",
                         "give a libascendcl.so that finds its device")
    return ran.stdout.splitlines()
