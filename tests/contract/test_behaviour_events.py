"""Recorded scenarios of events, notifies and callbacks: one test per group, chip and tier."""

from __future__ import annotations

import pytest

from tests.contract.recorded import machines
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus

RACES = {("950", "event/create_ex_flag_9", 10)}
"""Steps whose recorded answer depends on how far the vendor's recycle thread had come (docs/differences.md)."""


@machines
@pytest.mark.parametrize("group", ["event", "notify", "callback"])
def test_group(group: str, chip: str, tier: str) -> None:
    different, compared = [], 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/{group}.jsonl")], ""):
        result = replay(scenario, tier)
        compared += result.compared
        different += [
            f"{scenario['id']}[{finding.step}] {finding}" for finding in result.findings
            if (chip, scenario["id"], finding.step) not in RACES
        ]
        different += [f"{scenario['id']}: {name} is missing" for name in result.missing]
    assert compared > 100
    assert different == []
