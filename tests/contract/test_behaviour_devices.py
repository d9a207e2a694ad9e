"""The recorded scenarios of devices and contexts against the C API; skipped where the recordings are absent."""

from __future__ import annotations

import pytest

from tests.contract.recorded import machines
from tests.tools.behaviour.__main__ import scenarios
from tests.tools.behaviour.replay import replay
from tests.tools.corpus import corpus

GROUPS = ("init", "device", "context", "misc")

_DEAD = "a dead handle never stands for anything else: 107017"
_UNCOUNTED = "a driver that cannot count its devices: 207000 from the start on"
_NAMELESS = "a STARS v2 driver that cannot name its SoC: 500000 from every call"
EXCEPTIONS = {
    **{("device/use_after_reset_and_set", step): _DEAD for step in (7, 8, 9, 10)},
    ("misc/utilization", 3): "a device that does not exist has no load: 107001",
    **{("misc/notsupp_drvGetDevNum", step): _UNCOUNTED for step in (0, 1, 3, 4)},
    **{("misc/notsupp_halGetSocVersion", step): _NAMELESS for step in (1, 2, 3, 4)},
}
"""Scenario and step -> why the answer is another one on purpose; each is a row of docs/differences.md."""


@machines
@pytest.mark.parametrize("group", GROUPS)
def test_recorded_answers(group: str, chip: str, tier: str) -> None:
    differences: list[str] = []
    compared = 0
    for scenario in scenarios([corpus(f"behaviour/{chip}/{group}.jsonl")], ""):
        result = replay(scenario, tier)
        compared += result.compared
        differences += [
            f"{scenario['id']}[{finding.step}] {finding}"
            for finding in result.findings
            if (scenario["id"], finding.step) not in EXCEPTIONS
        ]
        differences += [f"{scenario['id']}: {name} is missing" for name in result.missing]
    assert compared > 50
    assert differences == []
