"""Measuring: CPU time per call over many calls, several times over, beside a calibration row of the same run."""

from __future__ import annotations

import ctypes
import gc
import statistics
import struct
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from chips import yaml_file
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

RUNS = 5
BASE_CALLS = 20_000
CALIBRATION = "calibration: pack 64 bytes"

Loop = Callable[[int], float | None]
"""Runs an operation so many times; what it returns, if anything, is its own measurement of one call."""


class Spec(NamedTuple):
    """What a row measures.

    Attributes:
        name: the row; those of vendor.yaml are compared.
        weight: how much longer than a launch it takes, about: so many times fewer calls are made.
        share: how many pieces of work one call does; the row is per piece.
        single: one call is a whole sample, as for opening a device: more calls would not be one thing.
        large: left out of a quick run.
        unit: "ns" of CPU time unless the loop says something else: "ns elapsed", "bytes", "%" of a core.
        limit: the most that we aim at in other units than a ratio; 0 where there is no such limit.
    """

    name: str
    weight: int = 1
    share: int = 1
    single: bool = False
    large: bool = False
    unit: str = "ns"
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One measured operation.

    Attributes:
        backend: what was behind it: "null" (Python), "null, compiled" (C, across ctypes) or "fake".
        value: the median: CPU time per call (per piece of work), or what `unit` says.
        spread: (largest - smallest run) / median.
        ratio: a time divided by the calibration row's of the same moment; 0 for other units, and for delays.
        vendor_ns: what the vendor's runtime takes, measured elsewhere; 0 where no figure is known.
        target_ratio: the most that we aim at, as a ratio to calibration; 0 where there is no target.
        unit, limit: as in `Spec`.
    """

    name: str
    chip: str
    backend: str
    calls: int
    value: float
    spread: float
    ratio: float
    vendor_ns: int = 0
    target_ratio: float = 0.0
    unit: str = "ns"
    limit: float = 0.0

    @property
    def met(self) -> bool | None:
        """Whether the target holds; None without one."""
        if self.limit:
            return self.value <= self.limit
        return self.ratio <= self.target_ratio if self.target_ratio else None


class Measured(NamedTuple):
    """What came out: median cost per call, (largest - smallest run) / median, median ratio."""

    value: float
    spread: float
    ratio: float


def measure(loop: Loop, calls: int) -> Measured:
    """Run `loop(calls)` several times after a warm-up, the calibration before each: the machine's speed may vary."""
    loop(max(calls // 10, 1))
    samples, ratios = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(RUNS):
            base = cost(calibration, BASE_CALLS)
            samples.append(cost(loop, calls))
            ratios.append(samples[-1] / base)
    finally:
        gc.enable()
    middle = statistics.median(samples)
    return Measured(middle, (max(samples) - min(samples)) / middle if middle > 0 else 0.0, statistics.median(ratios))


def cost(loop: Loop, calls: int) -> float:
    """Return what one of so many calls costs: CPU nanoseconds, or what the loop says."""
    started = time.process_time_ns()
    told = loop(calls)
    spent = (time.process_time_ns() - started) / calls
    return spent if told is None else told


def calibrate(calls: int) -> tuple[Row, Row]:
    """Return the row that ratios refer to, and one of an untyped foreign call."""
    base, foreign = measure(calibration, calls), measure(_foreign, calls)
    return (
        Row(CALIBRATION, "-", "-", calls, base.value, base.spread, 1.0),
        Row("calibration: untyped ctypes call", "-", "-", calls, *foreign),
    )


def calibration(calls: int) -> None:
    """The cheapest thing a launch must do: one 64-byte pack of constant runs and two words."""
    pack, buffer = struct.Struct("<6sH32sQ16s").pack_into, bytearray(64)
    first, middle, last = bytes(6), bytes(32), bytes(16)
    for number in range(calls):
        pack(buffer, 0, first, number & 0xFFFF, middle, 0x12C0C0000000, last)


def _foreign(calls: int) -> None:
    function = ctypes.CDLL(None).abs
    reference = ctypes.byref(ctypes.c_int())
    for _ in range(calls):
        function(0, reference)


def row(spec: Spec, loop: Loop, chip: str, backend: str, calls: int) -> Row:
    """Measure one operation with about the CPU time of `calls` launches; the fake has no vendor's figures beside it."""
    number = 1 if spec.single else max(calls // spec.weight, 1)
    found = measure(loop, number)
    ratio = found.ratio / spec.share if spec.unit == "ns" else 0.0
    beside = _target(spec.name, chip) if backend != "fake" else (0, float(targets()["fake"].get(spec.name, 0.0)))
    return Row(
        spec.name, chip, backend, number, found.value / spec.share, found.spread, ratio, *beside,
        unit=spec.unit, limit=spec.limit,
    )  # fmt: skip


def _target(name: str, chip: str) -> tuple[int, float]:
    """Return the vendor's figure and the target ratio of a row."""
    from chips import find_chip

    table = targets()
    if name in table["limits_ns"]:
        return 0, table["limits_ns"][name] / table["calibration_ns"]
    known = table["rows"].get(name)
    generation = find_chip(chip).generation if known else ""
    if known is None or generation not in known:
        return 0, 0.0
    vendor_ns = int(known[generation])
    # The targets are set against the figures of the 910B; other chips are shown beside them.
    target = vendor_ns * known["target"] / table["calibration_ns"] if generation == table["targets_of"] else 0.0
    return vendor_ns, target


@lru_cache
def targets() -> dict[str, Any]:
    """Return what vendor.yaml states: figures of the vendor's runtime, and what we aim at, by the names of rows."""
    loaded: dict[str, Any] = yaml_file.load(Path(__file__).with_name("vendor.yaml"))
    return loaded
