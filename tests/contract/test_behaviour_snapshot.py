"""The recorded scenarios of snapshots against the C API; skipped where the recordings are absent."""

from __future__ import annotations

import pytest

from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus


@pytest.mark.parametrize(
    ("chip", "tier"),
    [
        ("910B1", "fake"),
        ("950", "fake-abi"),
        pytest.param("910_9391", "fake", marks=pytest.mark.soak),
        pytest.param("950", "fake", marks=pytest.mark.soak),
    ],
)
def test_recorded_answers(tier: str, chip: str) -> None:
    differences: list[str] = []
    compared = 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/snapshot.jsonl")], ""):
        result = replay(scenario, tier)
        assert result.missing == []
        compared += result.compared
        differences += [f"{scenario['id']}[{finding.step}] {finding}" for finding in result.findings]
    assert compared > 0
    assert differences == []
