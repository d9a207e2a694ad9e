"""Which rows of files the replay of recorded scenarios takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.behaviour.__main__ import scenarios

SCENARIO = {"id": "event/one", "chip": "950", "group": "event", "setup": {}, "steps": []}


def written(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_folder_is_read_at_any_depth_and_tables_in_it_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path / "950" / "event.jsonl", SCENARIO, {**SCENARIO, "id": "event/two"})
    table = written(tmp_path / "differences.jsonl", {"id": "event/one", "step": 3})
    assert [each["id"] for each in scenarios([tmp_path], "")] == ["event/one", "event/two"]
    assert [each["id"] for each in scenarios([tmp_path], "two")] == ["event/two"]
    assert f"{table}: 1 of 1 rows are no scenarios" in capsys.readouterr().err


def test_a_file_that_is_named_has_scenarios_alone(tmp_path: Path) -> None:
    table = written(tmp_path / "table.jsonl", SCENARIO, {"id": "event/one", "step": 3})
    with pytest.raises(SystemExit, match=r"1 of 2 rows are no scenarios: they need chip, group, id, setup, steps"):
        list(scenarios([table], ""))
