"""The table of a soak run: cases, failures, parts that did not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import soak_totals

XML = """<testsuites><testsuite time="90.0">
<testcase name="swept"><properties><property name="cases" value="120"/></properties></testcase>
<testcase name="plain"/><testcase name="bad"><failure message="no"/></testcase>
<testcase name="broken"><error message="no"/></testcase><testcase name="not here"><skipped/></testcase>
</testsuite></testsuites>"""


def test_the_table_counts_cases_failures_and_parts_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweeps.xml").write_text(XML)
    (tmp_path / "fuzz.xml").write_text('<testsuites><testsuite time="30"><testcase name="x"/></testsuite></testsuites>')
    assert soak_totals.main([str(tmp_path), "sweeps", "fuzz", "machines"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["part", "tests", "cases", "failures", "skipped", "minutes"], ["fuzz", "1", "1", "0", "0", "0.5"],
        ["sweeps", "5", "123", "2", "1", "1.5"], ["all", "6", "124", "2", "1", "2.0"],
        ["machines", "-", "-", "did", "not", "end", "-", "-"],
    ]  # fmt: skip


def test_a_run_without_failures_is_a_success(tmp_path: Path) -> None:
    (tmp_path / "fuzz.xml").write_text('<testsuites><testsuite time="30"><testcase name="x"/></testsuite></testsuites>')
    assert soak_totals.main([str(tmp_path), "fuzz"]) == 0
