"""The bench: every row on each chip, ratios against the calibration of the same run."""

from __future__ import annotations

import pytest

from runtime.cli import bench

ROWS = [
    "encode a kernel, general builder", "encode an event record, general builder", "decode an entry",
    "encode 1,000 kernels at once", "launch, bound, arguments on the device", "launch, bound, buffers",
    "launch, kernel[blocks](...)", "event record", "synchronize an idle stream",
]  # fmt: skip


@pytest.mark.parametrize("chip", bench.CHIPS)
def test_rows(chip: str) -> None:
    rows = bench._chip_rows(chip, 20, 50.0)
    assert [row.name for row in rows] == ROWS
    assert all(row.ns > 0 and row.ratio == row.ns / 50.0 and row.spread >= 0 for row in rows)
    assert all(row.chip == chip and 1 <= row.calls <= 20 for row in rows)


def test_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([0, 100, 0, 300, 0, 200, 0, 900, 0, 400])
    monkeypatch.setattr("time.process_time_ns", lambda: next(readings))
    done: list[int] = []
    assert bench.measure(done.append, 10) == (30.0, (90.0 - 10.0) / 30.0)
    assert done == [1, 10, 10, 10, 10, 10]  # a warm-up first
