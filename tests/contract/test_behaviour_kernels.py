"""The recorded scenarios of binaries, arguments and launches against the C API; skipped where they are absent."""

from __future__ import annotations

from tests.contract.recorded import machines
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus


@machines
def test_recorded_answers(tier: str, chip: str) -> None:
    differences: list[str] = []
    compared = 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/kernel.jsonl")], ""):
        result = replay(scenario, tier)
        assert result.missing == []
        compared += result.compared
        differences += [f"{scenario['id']}[{finding.step}] {finding}" for finding in result.findings]
    assert compared > 700
    assert differences == []
