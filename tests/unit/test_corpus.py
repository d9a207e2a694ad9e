"""Files that a recorded scenario names lie beside the scenario, wherever the checkout is."""

from __future__ import annotations

from pathlib import Path

from tests.tools.corpus import ROOT, beside


def test_a_file_is_found_above_the_scenario(tmp_path: Path) -> None:
    scenario = tmp_path / "recorded" / "behaviour" / "910B1" / "kernel.jsonl"
    kernel = tmp_path / "recorded" / "elfs" / "add.o"
    for file in (scenario, kernel):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    assert beside(scenario, "elfs/add.o") == kernel


def test_a_file_is_found_in_a_folder_named_shared(tmp_path: Path) -> None:
    kernel = tmp_path / ROOT.name / "elfs" / "add.o"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(b"")
    assert beside(tmp_path / "more" / "fuzz.jsonl", "elfs/add.o") == kernel


def test_otherwise_it_is_that_beside_the_checkout(tmp_path: Path) -> None:
    assert beside(tmp_path / "fuzz.jsonl", "elfs/absent.o") == ROOT / "elfs" / "absent.o"
