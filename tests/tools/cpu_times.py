"""Where the CPU time of tests goes: `pytest tests --cpu-times` ends with tables of files and of test functions.

CPU time, not time by the clock: it says the same on a busy machine. Processes that a test starts and waits for count,
those of its forkserver do not. With `-n` every worker counts its own tests.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

_MOST = 30
"""Rows of a table."""
_BEGUN = pytest.StashKey[float]()


def _spent() -> float:
    """Return the CPU time of this process and of those it has waited for, in seconds."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin to count when a test begins."""
    item.stash[_BEGUN] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give the report of each phase what was spent since the one before; reports travel from workers as they are."""
    report = yield
    now = _spent()
    report.cpu_s = now - item.stash[_BEGUN]
    item.stash[_BEGUN] = now
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the tables."""
    files: dict[str, float] = defaultdict(float)
    functions: dict[str, float] = defaultdict(float)
    phases: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            spent = getattr(report, "cpu_s", 0.0)
            if spent:
                files[report.nodeid.partition("::")[0]] += spent
                functions[report.nodeid.partition("[")[0]] += spent
                phases[report.when] += spent
    terminalreporter.section("CPU time in seconds", sep="-")
    terminalreporter.write_line(", ".join(f"{phase} {spent:.1f}" for phase, spent in phases.items()))
    for table in (files, functions):
        terminalreporter.write_line("")
        for name, spent in sorted(table.items(), key=lambda row: -row[1])[:_MOST]:
            terminalreporter.write_line(f"{spent:8.2f}  {name}")
