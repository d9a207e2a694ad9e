"""The bench: every row on each chip, ratios to the calibration of the same run, targets beside the vendor's figures."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator
from functools import partial

import pytest

from fakes.compiled import compiler
from runtime.cli import bench
from runtime.cli.bench import measure, resources
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
    assert all(row.value > 0 and row.ratio > 0 and row.chip == chip for row in rows)
    assert {row.name for row in rows if row.vendor_ns} == set(table["rows"])
    assert all(row.met is not None for row in rows if row.name in table["rows"]) == (chip == "ascend910b1")


def test_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([0, 20_000, 0, 100, 0, 20_000, 0, 300, 0, 40_000, 0, 200, 0, 20_000, 0, 900, 0, 20_000, 0, 400])
    done: list[int] = []
    monkeypatch.setattr("time.process_time_ns", lambda: next(readings))
    monkeypatch.setattr(measure, "calibration", lambda _calls: None)
    found = measure.measure(done.append, 10)
    assert done == [1, 10, 10, 10, 10, 10]  # a warm-up first
    assert (found.ns, found.spread) == (30.0, (90.0 - 10.0) / 30.0)
    assert found.ratio == 30.0  # of 10, 30, 10 (the machine was half as fast), 90 and 40


def test_work_in_pieces_is_counted_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "measure", lambda _loop, _calls: measure.Measured(6400.0, 0.5, 64.0))
    name = "64 launches with one call, per launch"
    row = measure.row(Operation(name, lambda _: None, 20, 64), "x", "v100", "null", 1000, compared=True)
    assert (row.calls, row.value, row.ratio) == (50, 100.0, 1.0)
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


def test_what_was_measured_before_an_interrupt_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(calls: int, *, quick: bool) -> Iterator[Row]:
        yield Row("host memory of a stream", "ascend910b1", "null", calls, 57_000.0, 0.0, 0.0, unit="bytes")
        yield Row("waiting thread", "ascend910b1", "fake", 3, 7.0, 0.0, 0.0, unit="%", limit=5.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "rows", rows)
    text = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        bench.run(argparse.Namespace(json=False, quick=True), Output(text))
    assert "57,000 bytes" in text.getvalue()
    assert "5 % MISSED" in text.getvalue()


@pytest.mark.usefixtures("brief")
def test_what_a_trace_adds_is_set_against_its_limit() -> None:
    (row,) = bench._with("null://ascend910b1", partial(bench._watching, chip="ascend910b1", calls=2000))
    assert row.target_ratio == pytest.approx(1500 / 73)
    assert row.met is not None
    assert row.value > 0


def test_what_is_paid_once_has_rows() -> None:
    rows = list(resources.once("null://ascend910b1", "ascend910b1", "null", 100.0))
    assert [row.name for row in rows] == ["device open", "kernel file load (ELF)", "first launch of a kernel"]
    assert all(row.value > 0 and row.ratio == row.value / 100 for row in rows)


def test_objects_have_a_size() -> None:
    rows = list(bench._with("null://ascend910b1", partial(resources.sizes, chip="ascend910b1")))
    assert {row.unit for row in rows} == {"bytes"}
    assert all(row.value > 100 for row in rows)
