"""Plans: a run under any policy can be repeated from its departures, varied where order matters, and shrunk."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.schedule import plans
from fakes.schedule.plans import Choice
from fakes.schedule.scheduler import POLICIES
from npuhal.errors import BadUrl
from tests.unit.fakes.rig import Rig
from tests.unit.fakes.test_schedules import program

PLANS = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 99)), st.integers(0, 9), max_size=12)


@given(PLANS)
def test_plans_as_text(plan: dict[tuple[int, int], int]) -> None:
    assert plans.parse(plans.render(plan)) == plan


@pytest.mark.parametrize("policy", POLICIES)
def test_the_departures_of_a_run_repeat_it_under_the_default_policy(open_rig: Callable[..., Rig], policy: str) -> None:
    first = open_rig(policy=policy, seed=7, plan="")
    program(first)
    plan, log = first.fake.plan, first.fake.log_text()
    first.close()  # so that the second one gets the same addresses
    again = open_rig(seed=7, plan=plan)
    program(again)
    assert again.fake.log_text() == log
    assert again.fake.plan == plan
    assert bool(plan) == (policy != "round_robin")


def test_choices_are_noted_where_something_is_about_to_record_or_wait(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(seed=7, plan="")
    program(rig)
    (card,) = rig.fake.planned
    assert card.choices
    assert len({choice.number for choice in card.choices}) == len(card.choices)
    results = set()
    for plan in plans.variations(card.choices, 12):
        varied = open_rig(seed=7, plan=plans.render(plan))
        program(varied)
        results.add(varied.fake.log_text())
    assert len(results) > 1


def test_variations_are_bounded_all_different_and_change_one_decision_first() -> None:
    choices = [Choice(0, number, (1, 2)) for number in range(5)]
    made = list(plans.variations(choices, 30))
    assert len(made) == 30
    assert len({plans.render(plan) for plan in made}) == 30
    assert [len(plan) for plan in made] == [1] * 10 + [2] * 20
    assert list(plans.variations([], 5)) == []


@given(PLANS.filter(bool), st.data())
def test_shrinking_keeps_what_the_failure_needs_and_nothing_else(
    plan: dict[tuple[int, int], int], data: st.DataObject
) -> None:
    needed = set(data.draw(st.lists(st.sampled_from(sorted(plan)), max_size=3)))
    small = plans.shrink(plan, lambda some: needed <= set(some), 1000)
    assert set(small) == needed


def test_a_wrong_plan_is_refused(open_rig: Callable[..., Rig]) -> None:
    with pytest.raises(BadUrl, match="plan='12' is not a list of card:decision:value"):
        open_rig(plan="12")
