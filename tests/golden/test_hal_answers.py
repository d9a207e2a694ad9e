"""Answers of the fakes compared with those that the real user-space driver library gave by itself."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import npuhal
from tests.tools.hal_answers.__main__ import main
from tests.tools.hal_answers.catalogue import Difference, answers, differences, rows
from tests.tools.hal_answers.exceptions import EXCEPTIONS, reason

_ROOT = Path(__file__).parents[2]
_DATA = Path(__file__).parent / "data" / "hal_answers"
_MACHINES = {"910B": "ascend910b3", "950": "ascend950"}


@pytest.mark.parametrize("tier", ["fake", "fake-abi"])
@pytest.mark.parametrize("driver", list(_MACHINES))
def test_the_fake_answers_as_the_library_did(driver: str, tier: str) -> None:
    recorded = list(rows(_DATA / f"{driver}.jsonl.gz"))
    hal = npuhal.open_hal(f"{tier}://{_MACHINES[driver]}")
    found = differences(recorded, answers(hal))
    hal.close()
    assert [row for row in found if reason(row.call) is None] == []
    assert len(recorded) > 800
    assert len(found) <= len(EXCEPTIONS)


@pytest.mark.parametrize("seed", [1, 7])
def test_other_seeds_answer_alike(seed: int) -> None:
    first, second = (
        dict(answers(npuhal.open_hal(f"fake://ascend910b3?seed={number}"))) for number in (0, seed)
    )  # fmt: skip
    drawn = {"SQ", *(f"drvDeviceGetIndexByPhyId {number}" for number in (1, 2))}
    assert {call for call, answer in first.items() if second[call] != answer} <= drawn


def test_what_the_fake_does_otherwise_on_purpose_is_in_the_documents() -> None:
    text = (_ROOT / "docs" / "fake.md").read_text()
    table = text[text.index("Where the fake answers otherwise") :]
    named = set(re.findall(r"`([^`]+)`", "".join(line for line in table.splitlines() if line.startswith("|"))))
    assert {pattern.replace("|", "\\|") for pattern in EXCEPTIONS} <= named


def test_an_exception_is_a_call_of_the_list() -> None:
    calls = [call for call, _ in answers(npuhal.open_hal("fake://ascend910b3"))]
    assert len(calls) > 2000
    assert [pattern for pattern in EXCEPTIONS if not any(fnmatchcase(call, pattern) for call in calls)] == []


def test_a_difference_names_call_and_both_answers() -> None:
    recorded = [("one", [0]), ("two", [3]), ("two", [4]), ("three", [1])]
    made = [("one", [0]), ("two", [3]), ("two", [5])]
    assert differences(recorded, made) == [Difference("two", [4], [5]), Difference("three", [1], None)]


def test_the_command_prints_how_many_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "950.jsonl"
    file.write_text('{"call": "drvGetDevNum NULL", "answer": [3]}\n{"call": "halMapErrorCode 1", "answer": [2]}\n')
    assert main([str(file), "--url", "fake://ascend950"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "950.jsonl halMapErrorCode 1: recorded [2], answered [1]",
        "950.jsonl on fake://ascend950: matched 1/2, 0 more differ on purpose",
    ]
    with pytest.raises(SystemExit):
        main([str(tmp_path / "unknown.jsonl")])
