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


def test_sweeps_are_counted_by_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def case(machine: str, **counts: int) -> str:
        said = "".join(f'<property name="{name.replace("_", " ")}" value="{value}"/>' for name, value in counts.items())
        said += f'<property name="machine" value="{machine}"/>'
        return f'<testcase name="x"><properties>{said}</properties></testcase>'

    cases = [
        case("fake://a", cases=5, absorbed=2, typed=3), case("fake://b", cases=2, not_reached=1, leak=1, close=1),
        case("fake://a", cases=4, typed=4),
    ]  # fmt: skip
    (tmp_path / "sweeps.xml").write_text(f'<testsuites><testsuite time="9">{"".join(cases)}</testsuite></testsuites>')
    soak_totals.main([str(tmp_path)])
    rows = [line.split() for line in capsys.readouterr().out.partition("\n\n")[2].splitlines()]
    assert rows == [
        ["machine", "stages", "cases", "absorbed", "typed", "not", "reached", "findings"],
        ["fake://a", "2", "9", "2", "7", "0", "0"], ["fake://b", "1", "2", "0", "0", "1", "2"],
        ["all", "3", "11", "2", "7", "1", "2"],
    ]  # fmt: skip
