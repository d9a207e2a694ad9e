"""Measuring: CPU time per call over many calls, several times over, beside a calibration row of the same run."""

from __future__ import annotations

import ctypes
import gc
import statistics
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

RUNS = 5
_BASE_CALLS = 20_000
CALIBRATION = "calibration: pack 64 bytes"

Loop = Callable[[int], None]
"""Runs an operation so many times."""


class Operation(NamedTuple):
    """One thing to measure.

    Attributes:
        name: the row; those of vendor.yaml are compared.
        loop: runs it so many times.
        weight: how much longer than a launch it takes, about: so many times fewer calls are made.
        share: how many pieces of work one call does; the row is per piece.
    """

    name: str
    loop: Loop
    weight: int = 1
    share: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One measured operation.

    Attributes:
        door: what was behind it: "null" (Python), "null, compiled" (C, across ctypes) or "fake".
        value: the median: CPU time per call (per piece of work), or what `unit` says.
        spread: (largest - smallest run) / median.
        ratio: a time divided by the calibration row's of the same moment; 0 for other units, and for delays.
        vendor_ns: what the vendor's runtime takes, measured elsewhere; 0 where no figure is known.
        target_ratio: the most that we aim at, as a ratio to calibration; 0 where there is no target.
        unit: "ns", "bytes", "%" of a core.
        limit: the most that we aim at in other units than a ratio; 0 where there is no such limit.
    """

    name: str
    chip: str
    door: str
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
    """What came out: median CPU nanoseconds per call, (largest - smallest run) / median, median ratio."""

    ns: float
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
            base = _cost(calibration, _BASE_CALLS)
            samples.append(_cost(loop, calls))
            ratios.append(samples[-1] / base)
    finally:
        gc.enable()
    middle = statistics.median(samples)
    return Measured(middle, (max(samples) - min(samples)) / middle if middle else 0.0, statistics.median(ratios))


def _cost(loop: Loop, calls: int) -> float:
    started = time.process_time_ns()
    loop(calls)
    return (time.process_time_ns() - started) / calls


def calibrate(calls: int) -> tuple[Row, Row]:
    """Return the row that ratios refer to, and one of an untyped foreign call."""
    base, foreign = measure(calibration, calls), measure(_foreign, calls)
    return (
        Row(CALIBRATION, "-", "-", calls, base.ns, base.spread, 1.0),
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


def row(operation: Operation, chip: str, generation: str, door: str, calls: int, *, compared: bool) -> Row:
    """Measure one operation with about the CPU time of `calls` launches.

    Args:
        compared: set the vendor's figure and the target beside it.
    """
    number = max(calls // operation.weight, 1)
    found, share = measure(operation.loop, number), operation.share
    beside = _target(operation.name, generation) if compared else (0, 0.0)
    return Row(operation.name, chip, door, number, found.ns / share, found.spread, found.ratio / share, *beside)


def middle(
    name: str, chip: str, door: str, samples: list[float], base_ns: float = 0.0, *, unit: str = "ns", limit: float = 0.0
) -> Row:
    """Return the row of something that is measured a few times only; `base_ns`: the calibration row, for its ratio."""
    value = statistics.median(samples)
    spread = (max(samples) - min(samples)) / value if value > 0 else 0.0
    ratio = value / base_ns if base_ns else 0.0
    return Row(name, chip, door, len(samples), value, spread, ratio, unit=unit, limit=limit)


def added(name: str, chip: str, door: str, loops: Iterable[Loop], calls: int) -> Row:
    """Return the row of what the second of two loops costs more than the first."""
    without, beside = (measure(loop, calls) for loop in loops)
    spread, ratio = max(without.spread, beside.spread), beside.ratio - without.ratio
    return Row(name, chip, door, calls, beside.ns - without.ns, spread, ratio, *_target(name, ""))


def _target(name: str, generation: str) -> tuple[int, float]:
    """Return the vendor's figure and the target ratio of a row."""
    table = _vendor()
    if name in table["limits_ns"]:
        return 0, table["limits_ns"][name] / table["calibration_ns"]
    known = table["rows"].get(name)
    if known is None or generation not in known:
        return 0, 0.0
    vendor_ns = int(known[generation])
    # The targets are set against the figures of the 910B; other chips are shown beside them.
    target = vendor_ns * known["target"] / table["calibration_ns"] if generation == "v100" else 0.0
    return vendor_ns, target


@lru_cache
def _vendor() -> dict[str, Any]:
    import yaml

    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("vendor.yaml").read_text())
    return loaded
