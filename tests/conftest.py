"""Prints, after a run, how the contract went per tier: the same tests, on machines behind different doors."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

_CONTRACT = "tests/contract/"
_TIER = re.compile(r"(?<=[\[-])(fake-abi|fake|hal)-(?=\w)")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count what passed in each tier; a test that passed in one tier only is named."""
    passed: dict[str, set[str]] = defaultdict(set)
    for report in terminalreporter.stats.get("passed", ()):
        if report.nodeid.startswith(_CONTRACT) and (tier := _TIER.search(report.nodeid)):
            passed[tier[1]].add(report.nodeid.replace(tier[0], "", 1))
    if not passed:
        return
    terminalreporter.section("contract", sep="-")
    for tier, tests in sorted(passed.items()):
        terminalreporter.write_line(f"{tier + '://':<12} {len(tests)} passed")
    everywhere = set.intersection(*passed.values())
    alone = sorted(set.union(*passed.values()) - everywhere)
    if len(passed) > 1 and not alone:
        terminalreporter.write_line(f"the same {len(everywhere)} tests in each tier")
    for test in alone:
        terminalreporter.write_line(f"not in every tier: {test}")
