"""The recorded scenarios of memory against the C API; skipped where the recordings are absent."""

from __future__ import annotations

from tests.contract.recorded import machines
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus

_FAULTS = "the fake device notices what the recorded one let pass (docs/differences.md, memory)"
_COPIES = "the recorded device did not execute PCIe copies of STARS v1; ours does"
EXCEPTIONS = {
    ("memory/async_kinds_h2d", 17): _COPIES,
    ("memory/async_kinds_d2h", 17): _COPIES,
    ("memory/async_pinned_order", 13): _COPIES,
    ("memory/async_pinned_order", 14): _COPIES,
    ("memory/memset_d32", 12): "all four bytes of the word are written, in a stream too",
    ("memory/foreign_addr", 8): _FAULTS,
    ("memory/freed_addr", 8): _FAULTS,
    ("memory/cross_device", 9): _FAULTS,
    ("memory/reduce", 50): _FAULTS,
    ("memory/host_register", 18): "the driver refuses memory that is registered already: 507910",
    ("memory/huge_sizes", 7): "the recorded driver overflowed at this size; ours has not that much memory",
}
"""Scenario and step -> why the answer is another one on purpose."""


@machines
def test_recorded_answers(chip: str, tier: str) -> None:
    differences: list[str] = []
    compared = 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/memory.jsonl")], ""):
        result = replay(scenario, tier)
        compared += result.compared
        assert not result.missing, scenario["id"]
        differences += [
            f"{scenario['id']}[{finding.step}] {finding}"
            for finding in result.findings
            if (scenario["id"], finding.step) not in EXCEPTIONS
        ]
    assert compared > 700
    assert differences == []
