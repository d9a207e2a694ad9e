"""Random programs in which everything is ordered as it must be: memory holds what it should, and no checker complains.

Fills, copies, kernels, reductions, batches, graphs with branches, conditions and task groups, models by hand, events
with times, notifies, values, host functions, pinned, managed, mapped and pooled memory, a second address, snapshots.
"""

from __future__ import annotations

import pytest

from runtime.testing.script import Script
from tests.property.checked_script import STEPS, Program

CHIPS = ("ascend910b3", "ascend950")


def reports(seed: int, steps: int = STEPS) -> tuple[Script, list[str]]:
    """Run the first steps of the program of a seed; return its text, and what checkers have reported."""
    program = Program(f"fake://{CHIPS[seed % 2]}?seed={seed}&policy=random&check=all&hbm=1g", seed, steps)
    with program.script.written():
        return program.script, program.run()


def check(seeds: range) -> None:
    """Run the programs of seeds; the first of which checkers complain goes along with the failure, cut behind that."""
    for seed in seeds:
        script, found = reports(seed)
        if found:
            script, found = next(told for steps in range(1, STEPS + 1) if (told := reports(seed, steps))[1])
        with script.written():
            assert not found, seed


def test_checkers_say_nothing_of_programs_without_mistakes() -> None:
    check(range(6))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_checkers_say_nothing_of_programs_without_mistakes_long() -> None:
    check(range(1000))
