"""The recorded scenarios of devices and contexts against the C API; skipped where the recordings are absent."""

from __future__ import annotations

import pytest

from tests.contract.conftest import TIERS
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus

CHIPS = ("910B1", "910_9391", "950")
GROUPS = {
    "init": [""], "device": [""], "context": [""],
    "misc": ["misc/device_limit", "misc/res_", "misc/satmode", "misc/topo", "misc/uuid", "misc/arch", "misc/utili"],
}  # fmt: skip
"""Group of scenarios -> beginnings of the ids that are compared."""

_DEAD = "a dead handle never stands for anything else: 107017 (docs/differences.md, handles)"
EXCEPTIONS = {
    ("device/use_after_reset_and_set", 7): _DEAD,
    ("device/use_after_reset_and_set", 8): _DEAD,
    ("device/use_after_reset_and_set", 9): _DEAD,
    ("device/use_after_reset_and_set", 10): _DEAD,
    ("misc/utilization", 3): "a device that does not exist has no load: 107001 (docs/differences.md, devices)",
}
"""Scenario and step -> why the answer is another one on purpose."""


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("group", GROUPS)
def test_recorded_answers(group: str, chip: str, tier: str) -> None:
    differences: list[str] = []
    missing: set[str] = set()
    compared = 0
    for only in GROUPS[group]:
        for scenario in scenarios([corpus(f"behaviour/{chip}/{group}.jsonl")], only):
            result = replay(scenario, tier)
            compared += result.compared
            missing.update(result.missing)
            differences += [
                f"{scenario['id']}[{finding.step}] {finding}"
                for finding in result.findings
                if (scenario["id"], finding.step) not in EXCEPTIONS
            ]
    assert compared > 50
    assert differences == []
    if missing:
        pytest.skip(f"the C API has no {', '.join(sorted(missing))} yet")
