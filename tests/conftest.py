"""What every run needs: how hypothesis draws, what the garbage collector may skip, and the contract's score."""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from typing import Any

from hypothesis import HealthCheck, settings

from tests.tools import cpu_times, examples_as_scripts

# The same examples in every run, and no limits in seconds: a busy machine is no failure. `make soak` takes more.
settings.register_profile(
    "npuhal", max_examples=40, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("soak", settings.get_profile("npuhal"), max_examples=1000)
settings.load_profile("npuhal")

# Objects made before the collector looks: with its own 700 it was a tenth of the CPU time of all tests, and a third of
# that of a first collection, where pytest builds the syntax trees of all test modules.
gc.set_threshold(20_000, 20, 20)

_CONTRACT = "tests/contract/"
_TIER = re.compile(r"(?<=[\[-])(fake-abi|fake|hal)(?=[-\]])")


def pytest_addoption(parser: Any) -> None:
    """Offer what is of use to these tests alone."""
    parser.addoption("--cpu-times", action="store_true", help="end with the CPU time of test files and functions")


def pytest_configure(config: Any) -> None:
    """Count CPU time if asked to."""
    if config.getoption("--cpu-times"):
        config.pluginmanager.register(cpu_times)


def pytest_collection_finish() -> None:
    """Take ten thousand collected tests out of the collector's sight: each full collection would walk them again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: Any) -> None:
    """Have a fuzzer's failing example printed as a script."""
    examples_as_scripts.watch(getattr(item, "obj", None))


def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    """Take what a module of tests leaves (imports, caches, reports) out of the collector's sight as well."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count what passed in each tier; a test that ran in several tiers and did not pass in all of them is named."""
    passed: dict[str, set[str]] = defaultdict(set)
    ran: dict[str, set[str]] = defaultdict(set)
    for outcome in ("passed", "failed", "skipped", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if report.nodeid.startswith(_CONTRACT) and (tier := _TIER.search(report.nodeid)):
                test = report.nodeid.replace(tier[0], "", 1)
                ran[test].add(tier[1])
                if outcome == "passed":
                    passed[tier[1]].add(test)
    if not passed:
        return
    terminalreporter.section("contract", sep="-")
    for tier, tests in sorted(passed.items()):
        terminalreporter.write_line(f"{tier + '://':<12} {len(tests)} passed")
    everywhere = set.intersection(*passed.values())
    if len(passed) > 1:
        terminalreporter.write_line(f"{len(everywhere)} tests passed in each tier")
    for test, tiers in sorted(ran.items()):
        if len(tiers) > 1 and 0 < sum(test in passed[tier] for tier in tiers) < len(tiers):
            terminalreporter.write_line(f"not in every tier: {test}")
