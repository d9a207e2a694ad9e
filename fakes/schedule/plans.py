"""Schedules as plans: where a run departs from the default order, and what it does there instead.

The device decides again and again: how many tasks it may do at a host call, and which of several queues goes on. A
decision is known by its number on its card. A plan lists the decisions that are not the default ones, so that a run
can be repeated and made simpler: `0:12:1,0:30:64` lets card 0 take the second queue at its 13th decision, and do 64
tasks at its 31st.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from fakes.machine.queues import SubmissionQueue
from fakes.schedule.scheduler import UNLIMITED, Policy, RoundRobin
from npuhal.tuples import NamedTuple

ALL = 1 << 20
"""As many tasks as a plan ever asks for at once."""

Plan = Mapping[tuple[int, int], int]
"""(card, number of the decision) -> index of the queue in the order of ids, or number of tasks."""


class Choice(NamedTuple):
    """A decision at a point where order matters: some queue was about to record or wait."""

    device: int
    number: int
    others: tuple[int, ...]
    """What could have been decided instead."""


def parse(text: str) -> dict[tuple[int, int], int]:
    """Return the plan behind its text; ValueError for anything else."""
    plan = {}
    for part in filter(None, text.split(",")):
        device, number, value = map(int, part.split(":"))
        plan[device, number] = value
    return plan


def render(plan: Plan) -> str:
    """Return a plan as text."""
    return ",".join(f"{device}:{number}:{value}" for (device, number), value in sorted(plan.items()))


class Planned:
    """A policy that follows a plan, else another policy, and notes where it departs from the default one."""

    name = "planned"
    in_turn = idle_at_sends = False

    def __init__(self, device: int, inner: Policy, base: RoundRobin, plan: Plan, near: Callable[[], bool]) -> None:
        """Wrap a policy.

        Args:
            base: the default policy, asked in parallel.
            near: says whether a queue is about to record or wait.
        """
        self._device, self._inner, self._base, self._plan, self._near = device, inner, base, plan, near
        self._number = 0
        self.departures: dict[tuple[int, int], int] = {}
        self.choices: list[Choice] = []

    def _settle(self, default: int, drawn: int, others: Callable[[], tuple[int, ...]]) -> int:
        number, self._number = self._number, self._number + 1
        chosen = self._plan.get((self._device, number), drawn)
        if chosen != default:
            self.departures[self._device, number] = chosen
        if self._near():
            self.choices.append(Choice(self._device, number, others()))
        return chosen

    def budget(self, occasion: int) -> int:
        """Return how many tasks may run now."""
        default = min(self._base.budget(occasion), ALL)
        drawn = min(self._inner.budget(occasion), ALL)
        chosen = self._settle(default, drawn, lambda: (0,) if default else (1, ALL))
        return UNLIMITED if chosen == ALL else chosen

    def pick(self, queues: Sequence[SubmissionQueue]) -> SubmissionQueue:
        """Choose one of the runnable queues."""
        ordered = sorted(queues, key=lambda sq: sq.sq_id)
        default = ordered.index(self._base.pick(queues))
        drawn = default if self._inner is self._base else ordered.index(self._inner.pick(queues))
        choice = self._settle(default, drawn, lambda: tuple(each for each in range(len(ordered)) if each != default))
        chosen = ordered[choice % len(ordered)]
        self._base.resume(chosen)
        return chosen

    def state(self) -> object:
        """Return the number of the next decision, how many choices there were, and the states of both policies."""
        return self._number, len(self.choices), self._base.state(), self._inner.state()

    def restore(self, state: object) -> None:
        """Forget the decisions made since: their numbers go to those made instead."""
        assert isinstance(state, tuple)
        number, choices, base, inner = state
        for each in range(number, self._number):
            self.departures.pop((self._device, each), None)
        del self.choices[choices:]
        self._number = number
        self._base.restore(base)
        self._inner.restore(inner)


def variations(choices: Sequence[Choice], most: int) -> Iterator[dict[tuple[int, int], int]]:
    """Yield plans that change one decision, then two, at points where order matters; at most so many.

    Where there are more decisions than that, they are taken from all over the run.
    """
    single = [((each.device, each.number), other) for each in choices for other in each.others]
    step = max(1, -(-len(single) // max(most, 1)))
    spread = [change for start in range(step) for change in single[start::step]]
    pairs = (pair for pair in itertools.combinations(spread, 2) if pair[0][0] != pair[1][0])
    alone = ((change,) for change in spread)
    for changes in itertools.islice(itertools.chain(alone, pairs), most):
        yield dict(changes)


def shrink(plan: Plan, fails: Callable[[Plan], bool], most: int) -> dict[tuple[int, int], int]:
    """Return a smaller plan that still fails, by leaving out halves, quarters ... of its decisions.

    Args:
        fails: runs the program under a plan.
        most: runs at most.
    """
    items, parts = sorted(plan.items()), 2
    while items and most > 0:
        size = -(-len(items) // parts)
        for start in range(0, len(items), size):
            rest = items[:start] + items[start + size :]
            most -= 1
            if fails(dict(rest)):
                items, parts = rest, max(parts - 1, 2)
                break
            if most <= 0:
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(items))
    return dict(items)
