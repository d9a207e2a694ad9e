"""The bench: every row on each chip, ratios to the calibration of the same run, targets beside the vendor's figures."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator

import pytest

from npuhal.compiler import find_compiler as compiler
from runtime.cli import bench
from runtime.cli.bench import measure
from runtime.cli.bench.groups import CHIPS, Plan, Suite, find, plans, suites
from runtime.cli.bench.measure import Row, Spec
from runtime.cli.output import Output
from runtime.cli.parser import UsageError

ON_NULL = [suite for suite in suites(compiled=True) if suite.backend.startswith("null")]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure so little that the figures mean nothing."""
    monkeypatch.setattr(measure, "RUNS", 1)
    monkeypatch.setattr(measure, "BASE_CALLS", 10)


def arguments(**given: object) -> argparse.Namespace:
    return argparse.Namespace(
        **{"json": False, "quick": True, "rows": "codec", "against": None, "pairs": None, "library": None, "kernel": "",
           "peers": False, **given}
    )


def measured(suite: Suite, calls: int = 8) -> list[Row]:
    return list(bench.rows(list(plans([suite])), calls))[2:]  # behind the two calibration rows


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("suite", ON_NULL, ids=lambda suite: f"{suite.chip}-{suite.backend}")
def test_every_figure_of_the_vendor_has_a_row(suite: Suite) -> None:
    if "compiled" in suite.backend and compiler() is None:
        pytest.skip("this machine has no C compiler")
    operations = tuple(name for name in suite.groups if name.startswith("operations:") and "watching" not in name)
    rows = measured(suite._replace(groups=operations))
    table = measure.targets()
    names = {row.name for row in rows}
    missing = set(table["rows"]) - names
    assert not missing
    assert all(row.value > 0 and row.ratio > 0 and row.chip == suite.chip for row in rows)
    assert {row.name for row in rows if row.vendor_ns} == set(table["rows"])
    assert all(row.met is not None for row in rows if row.name in table["rows"]) == (suite.chip == "ascend910b1")


def test_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([0, 20_000, 0, 100, 0, 20_000, 0, 300, 0, 40_000, 0, 200, 0, 20_000, 0, 900, 0, 20_000, 0, 400])
    done: list[int] = []
    monkeypatch.setattr("time.process_time_ns", lambda: next(readings))
    monkeypatch.setattr(measure, "calibration", lambda _calls: None)
    found = measure.measure(done.append, 10)
    assert done == [1, 10, 10, 10, 10, 10]  # a warm-up first
    assert (found.value, found.spread) == (30.0, (90.0 - 10.0) / 30.0)
    assert found.ratio == 30.0  # of 10, 30, 10 (the machine was half as fast), 90 and 40


@pytest.mark.usefixtures("brief")
def test_what_a_loop_says_itself_counts() -> None:
    row = measure.row(Spec("memory", single=True, unit="bytes", limit=100), lambda _: 96.0, CHIPS[0], "null", 1000)
    assert (row.calls, row.value, row.ratio, row.met) == (1, 96.0, 0.0, True)


def test_work_in_pieces_is_counted_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "measure", lambda _loop, _calls: measure.Measured(6400.0, 0.5, 64.0))
    name = "64 launches with one call, per launch"
    row = measure.row(Spec(name, 20, 64), lambda _: None, CHIPS[0], "null", 1000)
    assert (row.calls, row.value, row.ratio) == (50, 100.0, 1.0)
    assert row.met
    assert row.vendor_ns == 560
    assert row.target_ratio == pytest.approx(560 * 0.4 / 73)
    assert measure.row(Spec(name), lambda _: None, CHIPS[0], "fake", 1000).met is None


def test_json_has_one_object_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(_chosen: list[Plan], calls: int) -> Iterator[Row]:
        yield Row("event record", "ascend910b1", "null", calls, 900.0, 0.1, 9.0, 1255, 17.2)
        yield Row("slow", "ascend910b1", "null", calls, 9000.0, 0.1, 90.0, 458, 9.4)

    monkeypatch.setattr(bench, "rows", rows)
    text = io.StringIO()
    assert bench.run(arguments(json=True, rows="event record"), Output(text)) == 0
    first, second = json.loads(text.getvalue())
    assert (first["met"], second["met"], first["calls"]) == (True, False, 5000)
    assert first["backend"] == first["door"] == "null"
    plain = io.StringIO()
    bench.run(arguments(rows="event record"), Output(plain))
    assert "17.2 met" in plain.getvalue()
    assert "9.4 MISSED" in plain.getvalue()


def test_what_was_measured_before_an_interrupt_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(_chosen: list[Plan], _calls: int) -> Iterator[Row]:
        yield Row("host memory of a stream", "ascend910b1", "null", 1, 57_000.0, 0.0, 0.0, unit="bytes")
        yield Row("waiting thread", "ascend910b1", "fake", 3, 7.0, 0.0, 0.0, unit="%", limit=5.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "rows", rows)
    text = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        bench.run(arguments(rows="host memory"), Output(text))
    assert "57,000 bytes" in text.getvalue()
    assert "5 % MISSED" in text.getvalue()


@pytest.mark.usefixtures("brief")
def test_what_a_trace_adds_is_set_against_its_limit() -> None:
    (row,) = measured(Suite(CHIPS[0], "null", f"null://{CHIPS[0]}", ("operations:watching",)), 16_000)
    assert row.target_ratio == pytest.approx(1500 / 73)
    assert row.met is not None
    assert row.value > 0


@pytest.mark.usefixtures("brief")
def test_what_is_paid_once_has_rows() -> None:
    rows = measured(Suite(CHIPS[0], "null", f"null://{CHIPS[0]}", ("resources:once", "resources:sizes")))
    assert [row.name for row in rows[:3]] == ["device open", "kernel file load (ELF)", "first launch of a kernel"]
    assert all(row.value > 0 and row.ratio > 0 and row.calls == 1 for row in rows[:3])
    assert {row.unit for row in rows[3:]} == {"bytes"}
    assert all(row.value > 100 for row in rows[3:])


@pytest.mark.usefixtures("brief")
def test_a_new_process_opens_a_device_and_launches() -> None:
    opened, launched = measured(Suite(CHIPS[1], "fake", f"fake://{CHIPS[1]}", ("resources:starts",)))
    assert min(opened.value, launched.value) > 1e6


@pytest.mark.usefixtures("brief")
def test_imports_have_rows_of_no_chip() -> None:
    (suite,) = [suite for suite in suites(compiled=False) if suite.chip == "-"]
    rows = measured(suite)
    assert [row.name for row in rows] == ["import npuhal", "import runtime", "import runtime, and its first name"]
    assert all(row.met is None for row in rows)


@pytest.mark.usefixtures("brief")
def test_many_streams_nodes_and_threads_have_rows() -> None:
    suite = Suite(CHIPS[0], "null", f"null://{CHIPS[0]}", ("growth:streams", "growth:nodes", "growth:threads"))
    quick = list(plans([suite], quick=True))
    names = [row.name for row in bench.rows(quick, 8)][2:]
    assert names == [spec.name for group in suite.groups for spec in find(group).specs if not spec.large]
    assert len(names) == 10


def test_rows_are_chosen_by_their_full_name() -> None:
    def chosen(pattern: str) -> set[tuple[str, str, str]]:
        return {
            (name, plan.suite.chip, plan.suite.backend)
            for plan in plans(suites(compiled=True), pattern)
            for names in plan.wanted.values()
            for name in names
        }

    assert chosen("event record and *910b1, null") == {("event record and wait", "ascend910b1", "null")}
    (name,) = {name for name, _, _ in chosen("kernel[blocks](...), four buffers, ascend")}
    assert name == "kernel[blocks](...), four buffers"
    assert {name for name, _, _ in chosen("kernel[[]blocks]*")} == set()
    assert {backend for _, _, backend in chosen("Notify Record")} == {"null", "null, compiled", "fake"}
    assert len(chosen("")) > 150


def test_wrong_arguments_are_named() -> None:
    for given, said in (
        ({"rows": "no such row"}, "no row matches 'no such row'"),
        ({"pairs": 15, "rows": ""}, "--pairs counts the pairs of a comparison"),
        ({"pairs": 5, "against": ".", "rows": ""}, "--pairs 5: fewer than 6"),
        ({"against": "tests", "rows": ""}, "--against tests: no package 'npuhal' in it"),
    ):
        with pytest.raises(UsageError, match=said.replace("(", r"\(")):
            bench.run(arguments(**given), Output(io.StringIO()))
