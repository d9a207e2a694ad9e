"""The table of the official samples names programs that exist, and every program of the samples is in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "examples"
SAMPLES = 62


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| \d.*$", text, re.MULTILINE)]


def programs() -> dict[str, set[str]]:
    """Return the tests of each program file."""
    return {
        path.name: {node.name for node in ast.parse(path.read_text("utf-8")).body
                    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
        for path in PROGRAMS.glob("test_*.py")
    }  # fmt: skip


def named() -> dict[int, tuple[str, list[str]]]:
    """Return file and tests for each sample that runs."""
    found = {}
    for number, _, program, _ in rows():
        if program != "-":
            file, _, first = program.split(",")[0].strip("`").partition("::")
            found[int(number)] = file, [first, *re.findall(r"`::(\w+)`", program)]
    return found


def test_every_sample_is_there_once() -> None:
    assert [int(row[0]) for row in rows()] == list(range(1, SAMPLES + 1))


def test_every_program_exists() -> None:
    there = programs()
    for number, (file, tests) in named().items():
        assert tests, number
        assert set(tests) <= there[file], f"sample {number}: {file}"


def test_every_program_file_belongs_to_a_sample() -> None:
    assert {file for file, _ in named().values()} == set(programs()) - {"test_overview.py"}


def test_what_does_not_run_says_what_it_needs() -> None:
    text = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert all(row[3] for row in rows() if row[2] == "-")
    assert f"{len(named())} of {SAMPLES} run" in text
