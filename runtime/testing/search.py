"""The search for a schedule under which a test fails: at random first, then step by step, then made as short as can be.

The run under the default schedule comes first and notes where order matters: the decisions of the device while some
queue is about to record or to wait. Half of the runs draw their schedules; the other half change one such decision,
then two. A failing schedule is shrunk to few decisions, and can be given back with --npu-replay.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

POLICIES = ("random", "host_ahead", "device_ahead", "starved")
"""Policies that random schedules draw from, besides the default one."""
_SHRINKING = 60
"""Runs that shrinking may take."""


class Schedule:
    """How the fake device interleaves its queues in one run of a test; afterwards, how it did.

    Attributes:
        policy: "" is the device's default.
        plan: decisions unlike the policy's; None: they are neither given nor noted.
        machine: the fake machine that the run was on.
    """

    def __init__(self, seed: int, policy: str = "", plan: str | None = None) -> None:
        self.seed, self.policy, self.plan = seed, policy, plan
        self.machine: Any = None

    @property
    def query(self) -> dict[str, str]:
        """The options of a fake's URL that make this schedule."""
        options = {"seed": str(self.seed)}
        if self.policy:
            options["policy"] = self.policy
        if self.plan is not None:
            options["plan"] = self.plan
        return options

    @property
    def departures(self) -> str:
        """How the run has departed from the default schedule, as a plan."""
        return "" if self.machine is None or self.plan is None else str(self.machine.plan)

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.query.items())


class Search:
    """Runs a test under up to `count` schedules until it fails."""

    def __init__(self, run: Callable[[Schedule], bool], seed: int, count: int) -> None:
        """Prepare a search.

        Args:
            run: runs the test; tells whether it failed.
        """
        self._run, self._seed, self._count = run, seed, count
        self.runs = 0
        self.over = False
        """Set by `run` where further runs would tell nothing new: the test was skipped."""

    def failing(self) -> Schedule | None:
        """Return a short schedule under which the test fails, or None; the last run was under it."""
        for schedule in self._schedules():
            if self._try(schedule):
                return self._shortest(schedule)
            if self.over:
                break
        return None

    def _try(self, schedule: Schedule) -> bool:
        self.runs += 1
        return self._run(schedule)

    def _schedules(self) -> Iterator[Schedule]:
        from fakes.schedule import plans

        first = Schedule(self._seed, plan="")
        yield first
        drawn = random.Random(self._seed)
        for number in range(1, (self._count + 1) // 2):
            yield Schedule(self._seed + number, drawn.choice(POLICIES), "")
        if first.machine is None:
            return
        choices = [choice for card in first.machine.planned for choice in card.choices]
        for plan in plans.variations(choices, self._count - self.runs):
            yield Schedule(self._seed, plan=plans.render(plan))

    def _shortest(self, failing: Schedule) -> Schedule:
        """Shrink: the same decisions under the default policy, then fewer of them."""
        from fakes.schedule import plans

        best = failing

        def fails(plan: plans.Plan) -> bool:
            nonlocal best
            schedule = Schedule(failing.seed, plan=plans.render(plan))
            if self._try(schedule):
                best = schedule
                return True
            return False

        if failing.departures and fails({}):
            return best
        whole = plans.parse(failing.departures)
        if whole and fails(whole):
            plans.shrink(plans.parse(best.plan or ""), fails, _SHRINKING)
            self._run(best)  # so that the reports are those of the schedule that is printed
        return best


def line(test: str, schedule: Schedule) -> str:
    """Return the line of a replay file for a failing schedule."""
    return json.dumps({"test": test, **schedule.query})


def read(path: str) -> dict[str, Schedule]:
    """Return the schedules of a replay file by test: one JSON object a line; ValueError names a line that is none."""
    from npuhal.files import load_json, read_text  # late: a pytest that uses no device imports none of it
    from npuhal.words import shown

    found = {}
    for number, text in enumerate(read_text(path).splitlines(), 1):
        if not text.strip():
            continue
        try:
            row = load_json(text)
            found[row["test"]] = Schedule(int(row["seed"]), row.get("policy", ""), row.get("plan"))
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{path}:{number}: no schedule as a failing test prints it: {shown(text)}") from None
    return found
