"""The programs of docs/torch.md, as the page says to run them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pytorch.test_reports import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch.md"
FILES = dict(re.findall(r'```python title="(\w+\.py)"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL))


def test_the_page_has_the_programs_that_are_run_here() -> None:
    assert set(FILES) == {"train.py", "faults_of_a_job.py"}


def test_the_network_trains_and_its_race_is_told_with_the_lines_that_the_page_names(tmp_path: Path) -> None:
    told = run(FILES["train.py"], tmp_path, 86)
    assert float(re.findall(r"loss ([0-9.]+)", told)[0]) < 0.7
    assert re.search(r"race: .* are written by copy .*program.py:9\).*program.py:10\)", told.replace("\n", " "))
    assert "in torch: target int64[64] of aclnnNLLLoss" in told.replace("\n", " ")


def test_the_fault_comes_as_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faults_of_a_job.py").write_text(FILES["faults_of_a_job.py"])
    monkeypatch.chdir(tmp_path)
    told = run(FILES["train.py"], tmp_path, 86, NPUHAL_SHIM_SETUP="faults_of_a_job:break_one")
    assert "kernel aclnnAddmm failed on stream" in told  # beside the races of before it
    assert "507015" in told
