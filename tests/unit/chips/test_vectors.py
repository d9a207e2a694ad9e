"""Reading vector files: the three forms, and files that are none of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chips.tasks import AicKernel, NotifyWait
from chips.verify.check import check
from chips.verify.recorded import UnknownMachine
from chips.verify.vectors import BadVectorFile, Sent, Vector, read_vectors
from tests.golden.vectors import DATA


def entry(**changes: object) -> dict[str, object]:
    found: dict[str, object] = next(
        item for item in json.loads((DATA / "sqe_910B1.json").read_text()) if item["task"] == "NOTIFY_WAIT"
    )
    return {**found, **changes}


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_a_white_box_entry_becomes_a_task(tmp_path: Path) -> None:
    (vector,) = read_vectors(write(tmp_path / "sqe.json", [entry()]))
    assert isinstance(vector, Vector)
    assert isinstance(vector.task, NotifyWait)
    assert vector.chip.soc == "Ascend910B1"
    assert vector.env.chip is vector.chip
    assert check(vector).ok


def test_builder_cases_repeat_the_inputs_of_an_earlier_one() -> None:
    items = [item for item in read_vectors(DATA / "builders.yaml") if isinstance(item, Vector)]
    kernel = next(item.task for item in items if item.name == "arch5162 kernel_aicore_10s")
    assert isinstance(kernel, AicKernel)
    assert (kernel.block_dim, kernel.timeout_us) == (24, 10_000_000)


def test_sends_take_the_chip_from_the_file_name() -> None:
    items = list(read_vectors(DATA / "api_310B.json"))
    assert all(isinstance(item, Sent) for item in items)
    assert {item.chip.soc for item in items} == {"Ascend310B1"}


def test_a_kind_without_description_is_returned_not_skipped(tmp_path: Path) -> None:
    (vector,) = read_vectors(write(tmp_path / "sqe.json", [entry(task="TELEPORT")]))
    assert isinstance(vector, Vector)
    assert vector.task is None
    verdict = check(vector)
    assert (verdict.covered, verdict.ok, verdict.task) == (False, False, "TELEPORT")


def test_inputs_that_make_no_task_say_why(tmp_path: Path) -> None:
    changed = entry()
    changed["inputs"] = {key: value for key, value in changed["inputs"].items() if key != "timeout"}  # type: ignore[attr-defined]
    (vector,) = read_vectors(write(tmp_path / "sqe.json", [changed]))
    verdict = check(vector)
    assert (verdict.covered, verdict.lines) == (False, ("its inputs lack 'timeout'",))


def test_a_wrong_task_type_is_a_difference(tmp_path: Path) -> None:
    (vector,) = read_vectors(write(tmp_path / "sqe.json", [entry(task_type=99)]))
    assert check(vector).lines == ("task type: expected 99, got 14",)


def test_an_input_that_does_not_fit_is_a_difference(tmp_path: Path) -> None:
    changed = entry()
    changed["inputs"] = {**changed["inputs"], "notify_id": 1 << 13}  # type: ignore[dict-item]
    (vector,) = read_vectors(write(tmp_path / "sqe.json", [changed]))
    assert "notify_wait.notify_id = 0x2000 does not fit 13 bits" in check(vector).lines[0]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{", "not readable as JSON"),
        ("a.yaml", "a: [", "not readable as YAML"),
        ("a.json", "{}", "neither a list of tasks"),
        ("a.json", "[1]", "neither a list of tasks"),
        ("a.json", '"text"', "neither a list of tasks"),
        ("a.json", '[{"task": "NOP"}]', "lacks 'chip'"),
        ("a.yaml", "sets: {v100_910B: {cases: []}}", "lacks 'context'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadVectorFile, match=reason):
        list(read_vectors(path))


def test_an_unknown_machine_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownMachine, match="'toaster'; known: 910B1"):
        list(read_vectors(write(tmp_path / "sqe.json", [entry(chip="toaster")])))
