"""`npuhal bench --against`: both trees by one text, intervals of ratios, verdicts, and processes that fail."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from runtime.cli import bench, main
from runtime.cli.bench import paired
from runtime.cli.bench.groups import CHIPS, Suite, plans
from runtime.cli.bench.measure import Spec
from runtime.cli.bench.paired import ChildFailed, Pairing
from runtime.cli.output import Output
from tests.unit.runtime.test_cli_bench import arguments

ROOT = Path(__file__).resolve().parents[3]
SUITE = Suite(CHIPS[0], "null", f"null://{CHIPS[0]}", ("operations:watching", "operations:memory"))
PACKAGES = ("npuhal", "chips", "runtime", "fakes")


def checkout(at: Path, changed: str, text: str) -> Path:
    """Make a checkout that differs from this one in the `__init__` of one package."""
    for name in PACKAGES:
        (at / name).symlink_to(ROOT / name)
    folder = at / changed
    for parent in [*reversed(folder.relative_to(at).parents), folder.relative_to(at)][1:]:
        (at / parent).unlink()
        (at / parent).mkdir()
        for inside in (ROOT / parent).iterdir():
            (at / parent / inside.name).symlink_to(inside)
    (folder / "__init__.py").unlink()
    (folder / "__init__.py").write_text(text)
    return at


def test_a_tree_beside_itself(capfd: pytest.CaptureFixture[str]) -> None:
    row = f"launch, arguments on the device, {CHIPS[0]}, null"
    status = main(["bench", "--against", str(ROOT), "--pairs=6", "--quick", "--json", "--rows", f"*{row}"])
    (found,) = json.loads(capfd.readouterr().out)
    assert (found["name"], found["chip"], found["backend"]) == ("launch, arguments on the device", CHIPS[0], "null")
    assert (found["pairs"], found["unit"]) == (6, "ns")
    assert found["calls"] > 50
    assert 200 < found["ours"] < 1e6
    assert found["low"] <= found["ratio"] <= found["high"]
    assert status == (0 if found["passed"] else 1)  # on a busy machine six small samples may differ


def test_what_one_tree_lacks_is_said_row_by_row(tmp_path: Path) -> None:
    text = (ROOT / "runtime" / "__init__.py").read_text()
    older = checkout(tmp_path, "runtime", text.replace('"tracing"', '"trailing"'))
    wanted = [plan._replace(wanted=dict(plan.wanted)) for plan in plans([SUITE])]
    for ours, theirs, passed in ((ROOT, older, None), (older, ROOT, False)):
        lacking, *others = paired.compare(wanted, ours, theirs, pairs=2, sample_ns=1e5)
        assert lacking.name == "tracing on, added to a launch"
        assert lacking.passed is passed
        assert lacking.missing == f"{'here' if ours is older else 'there'}: {lacking.missing.partition(': ')[2]}"
        assert "tracing" in lacking.missing
        assert [row.name for row in others] == ["pool: malloc and free", "device: malloc and free"]
        assert all(row.pairs == 2 and row.ratio > 0 and not row.missing for row in others)


def test_a_process_measures_the_tree_it_is_for(tmp_path: Path) -> None:
    other = checkout(tmp_path, "runtime", (ROOT / "runtime" / "__init__.py").read_text())
    (other / "fakes").unlink()  # the installed one takes its place
    with pytest.raises(ChildFailed, match=r"the process for .* has 'fakes' from .*: nothing was measured"):
        list(paired.compare(plans([SUITE], "pool"), ROOT, other, pairs=6))


def test_a_tree_that_cannot_be_imported_is_told_with_its_words(tmp_path: Path) -> None:
    other = checkout(tmp_path, "runtime/cli", "raise SystemExit('this is no tree')")
    with pytest.raises(ChildFailed, match=rf"the process that measures {tmp_path} ended:\nthis is no tree"):
        list(paired.compare(plans([SUITE], "pool"), ROOT, other, pairs=6))


def test_a_process_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_ANSWER_WITHIN_S", 0.3)
    other = checkout(tmp_path, "runtime/cli", "import threading; threading.Event().wait()")
    child = paired._Child(other, SUITE.url, {}, "")
    with pytest.raises(ChildFailed, match=r"did not answer within 0\.3 s"):
        child.__enter__()
    assert child.process.returncode is not None


class Scripted:
    """A measuring process whose figures are known: a call takes 100 ns in "ours", twice as long elsewhere."""

    order: list[str]

    def __init__(self, root: Path, *_: object) -> None:
        self.root = root

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def next(self, _spec: Spec) -> str:
        return ""

    def sample(self, calls: int) -> dict[str, float]:
        self.order.append(self.root.name)
        return {"cpu_ns": 100.0 * calls, "value": 100.0 if self.root.name == "ours" else 200.0}


def test_pairs_alternate_and_samples_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_Child", Scripted)
    Scripted.order = []
    (row,) = paired.compare(plans([SUITE], "pool"), Path("ours"), Path("theirs"), pairs=7, sample_ns=1e6)
    assert row == Pairing("pool: malloc and free", CHIPS[0], "null", "ns", 100, 200, 0.5, 0.5, 0.5, 7, 10_000)
    ours, theirs = "ours", "theirs"
    there_first = [theirs, ours, ours, theirs, theirs, ours]
    warm = [ours, theirs]
    assert Scripted.order[-20:] == [  # three pairs per process, begun by each in turn
        *warm, *there_first, *warm, *(ours, theirs, theirs, ours, ours, theirs), *warm, *(theirs, ours),
    ]  # fmt: skip


def test_a_slower_tree_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_Child", Scripted)
    monkeypatch.setattr(paired, "here", lambda: Path("theirs"))  # the slow one
    monkeypatch.setattr(paired, "checkout", Path)
    Scripted.order = []
    text = io.StringIO()
    assert bench.run(arguments(against="ours", rows="notify*null"), Output(text)) == 1
    assert "2.000  2.000 .. 2.000  15     FAILED" in text.getvalue()
    assert text.getvalue().endswith("0 rows pass, 2 fail\n")
    assert bench.run(arguments(against="theirs", rows="notify*null", pairs=15), Output(io.StringIO())) == 0


@pytest.mark.parametrize(
    ("ratio", "low", "high", "passed"),
    [(1.03, 1.02, 1.04, True), (1.031, 1.001, 1.2, False), (1.2, 1.0, 1.4, True), (0.5, 0.4, 0.6, True)],
)
def test_verdicts(ratio: float, low: float, high: float, passed: bool) -> None:
    assert Pairing("row", "chip", "null", "ns", 1, 1, ratio, low, high, 15, 1).passed is passed


@pytest.mark.parametrize("count", range(paired.LEAST_PAIRS, 41))
def test_an_interval_covers_the_median_with_95_percent_and_no_more_than_needed(count: int) -> None:
    def covered(rank: int) -> float:
        """How often the median lies between the order statistics of this rank from both ends."""
        return 1 - 2 * sum(math.comb(count, k) for k in range(rank)) / 2**count

    low, high = paired.interval([float(n) for n in reversed(range(1, count + 1))])
    assert low + high == count + 1
    assert covered(int(low)) >= 0.95 > covered(int(low) + 1)


def test_differences_that_came_out_as_nothing_have_a_ratio() -> None:
    found: list[Any] = [paired._ratio(*pair) for pair in ((2.0, 1.0), (-1.0, 2.0), (0.0, -3.0), (4.0, 0.0))]
    assert found == [2.0, 0.0, 1.0, math.inf]
    endless = bench._object(Pairing("row", "chip", "null", "%", 4, 0, math.inf, 1.0, math.inf, 15, 1))
    assert (endless["ratio"], endless["low"], endless["high"]) == (None, 1.0, None)  # JSON has no infinity
