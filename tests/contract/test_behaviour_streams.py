"""The recorded scenarios of streams and of failing tasks against the C API; skipped where the recordings are absent."""

from __future__ import annotations

import pytest

from tests.contract.recorded import machines
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus


@machines
@pytest.mark.parametrize(("group", "only"), [("stream", ""), ("kernel", "kernel/err")])
def test_recorded_answers(tier: str, chip: str, group: str, only: str) -> None:
    differences: list[str] = []
    compared = 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/{group}.jsonl")], only):
        result = replay(scenario, tier)
        if result.missing:
            pytest.skip(f"the C API has no {', '.join(sorted(set(result.missing)))} yet")
        compared += result.compared
        differences += [f"{scenario['id']}[{finding.step}] {finding}" for finding in result.findings]
    assert compared > 0
    assert differences == []
