"""Argument blocks, lock areas and grids of Triton kernels against golden rows: blocks are those of g++ structs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools import triton_layouts
from tests.tools.corpus import corpus

DATA = Path(__file__).with_name("data") / "triton"
ROWS = [json.loads(line) for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_row(row: dict[str, Any]) -> None:
    assert triton_layouts.differences(row) == {}


def test_every_version_and_kind_has_rows() -> None:
    versions = {row["version"] for row in ROWS if "types" in row}
    assert versions == {"3.2", "3.5", "3.6", "new"}
    assert sum("expect" in row for row in ROWS) >= 11
    assert sum("bytes" in row for row in ROWS) >= 5


def test_the_tool_counts_and_finds_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    assert triton_layouts.main([str(path)]) == 0
    assert capsys.readouterr().out == f"matched {len(ROWS)}/{len(ROWS)}\n"
    wrong = {**ROWS[0], "name": "changed"}
    wrong["expect" if "expect" in wrong else "hex"] = "00"
    path.write_text(json.dumps(wrong))
    assert triton_layouts.main([str(path)]) == 1
    assert "matched 0/1" in capsys.readouterr().out


def test_the_larger_corpus() -> None:
    paths = sorted(map(str, corpus("producers/triton").glob("*.jsonl")))
    assert len(paths) == 3
    assert triton_layouts.main(paths) == 0
