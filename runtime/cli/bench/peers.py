"""`npuhal bench --peers`: what launches of other Python stacks cost without a device, where these are installed.

Each runs in a process of its own, because both read what they run on when they are imported. These rows say what kind
of work a launch is elsewhere; they are no measure of a device.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from npuhal.tuples import NamedTuple
from runtime.cli.bench.measure import BASE_CALLS, Row, calibration, cost

_LIMIT_S = 300
_ROW = re.compile(r"^([^\t\n]+)\t(\d+\.?\d*)\t(\d+)$", re.MULTILINE)
"""A line of the loop; what a peer itself prints is passed by."""
_LOOP = """
import time
def told(name, call, calls):
    for _ in range(max(calls // 10, 3)): call()
    found = []
    for _ in range(5):
        began = time.process_time_ns()
        for _ in range(calls): call()
        found.append((time.process_time_ns() - began) / calls)
    print(name, sorted(found)[2], calls, sep="\\t")
"""
_NUMBA = """
import numpy
from numba import cuda
@cuda.jit
def nothing(values): pass
values = numpy.zeros(1, numpy.float32)
told("empty kernel, one block of one thread", lambda: nothing[1, 1](values), 100)
told("empty kernel, one block of 32 threads", lambda: nothing[1, 32](values), 10)
"""
_TINYGRAD = """
from tinygrad import Tensor, TinyJit
values = Tensor([1.0, 2.0]).realize()
told("one operation, eager", lambda: (values + 1).realize(), 50)
@TinyJit
def many(x):
    for _ in range(100): x = (x + 1).contiguous()
    return x.realize()
told("replay of 100 kernels", lambda: many(values), 50)
"""


class _Peer(NamedTuple):
    """A stack: the variables that take the device away, and the script that prints its rows."""

    name: str
    environment: dict[str, str]
    script: str


_PEERS = (
    _Peer("tinygrad, DEV=NULL", {"DEV": "NULL", "NULL": "1"}, _TINYGRAD),
    _Peer("numba, CUDA simulator", {"NUMBA_ENABLE_CUDASIM": "1"}, _NUMBA),
)


def rows() -> Iterator[Row]:
    """Yield the rows of each peer; one with 0 calls and the reason for a peer that is not there, or fails."""
    base = cost(calibration, BASE_CALLS)
    for peer in _PEERS:
        try:
            ran = subprocess.run(
                [sys.executable, "-c", _LOOP + peer.script], env={**os.environ, **peer.environment}, text=True,
                errors="replace", capture_output=True, timeout=_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            yield Row(f"not measured: no end within {_LIMIT_S} s", "-", peer.name, 0, 0.0, 0.0, 0.0)
            continue
        for name, value, calls in _ROW.findall(ran.stdout):
            yield Row(name, "-", peer.name, int(calls), float(value), 0.0, float(value) / base)
        if ran.returncode:
            why = (ran.stderr.strip().splitlines() or [f"status {ran.returncode}"])[-1]
            yield Row(f"not measured: {why}", "-", peer.name, 0, 0.0, 0.0, 0.0)
