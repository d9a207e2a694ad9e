"""The bench: every row on each chip, ratios to the calibration of the same run, targets beside the vendor's figures."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator

import pytest

from fakes.compiled import compiler
from runtime.cli import bench
from runtime.cli.bench import measure
from runtime.cli.bench.measure import Operation, Row
from runtime.cli.output import Output


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure so little that the figures mean nothing."""
    monkeypatch.setattr(measure, "RUNS", 1)
    monkeypatch.setattr(measure, "_BASE_CALLS", 10)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("chip", bench.CHIPS)
@pytest.mark.parametrize("query", ["", "?compiled=1"])
def test_every_figure_of_the_vendor_has_a_row(chip: str, query: str) -> None:
    if query and compiler() is None:
        pytest.skip("this machine has no C compiler")
    rows = list(bench._measured(f"null://{chip}{query}", chip, "null", 8, bench._operations))
    table = measure._vendor()
    names = {row.name for row in rows}
    missing = set(table["rows"]) - names
    assert not missing
    assert all(row.ns > 0 and row.ratio > 0 and row.chip == chip for row in rows)
    assert {row.name for row in rows if row.vendor_ns} == set(table["rows"])
    assert all(row.met is not None for row in rows if row.name in table["rows"]) == (chip == "ascend910b1")


def test_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([0, 20_000, 0, 100, 0, 20_000, 0, 300, 0, 40_000, 0, 200, 0, 20_000, 0, 900, 0, 20_000, 0, 400])
    done: list[int] = []
    monkeypatch.setattr("time.process_time_ns", lambda: next(readings))
    monkeypatch.setattr(measure, "_pack", lambda _calls: None)
    found = measure.measure(done.append, 10)
    assert done == [1, 10, 10, 10, 10, 10]  # a warm-up first
    assert (found.ns, found.spread) == (30.0, (90.0 - 10.0) / 30.0)
    assert found.ratio == 30.0  # of 10, 30, 10 (the machine was half as fast), 90 and 40


def test_work_in_pieces_is_counted_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "measure", lambda _loop, _calls: measure.Measured(6400.0, 0.5, 64.0))
    name = "64 launches with one call, per launch"
    row = measure.row(Operation(name, lambda _: None, 20, 64), "x", "v100", "null", 1000, compared=True)
    assert (row.calls, row.ns, row.ratio) == (50, 100.0, 1.0)
    assert row.met
    assert row.vendor_ns == 560
    assert row.target_ratio == pytest.approx(560 * 0.4 / 73)
    assert measure.row(Operation(name, lambda _: None), "x", "v100", "fake", 1000, compared=False).met is None


def test_json_has_one_object_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(calls: int, *, quick: bool) -> Iterator[Row]:
        yield Row("event record", "ascend910b1", "null", calls, 900.0, 0.1, 9.0, 1255, 17.2)
        yield Row("slow", "ascend910b1", "null", calls, 9000.0, 0.1, 90.0, 458, 9.4 if quick else 0.0)

    monkeypatch.setattr(bench, "rows", rows)
    text = io.StringIO()
    assert bench.run(argparse.Namespace(json=True, quick=True), Output(text)) == 0
    first, second = json.loads(text.getvalue())
    assert (first["met"], second["met"], first["calls"]) == (True, False, 5000)
    plain = io.StringIO()
    bench.run(argparse.Namespace(json=False, quick=True), Output(plain))
    assert "17.2 met" in plain.getvalue()
    assert "9.4 MISSED" in plain.getvalue()
