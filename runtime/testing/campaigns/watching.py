"""What runs go through, seen from outside: a listener on every fake machine that a process opens."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runtime.testing.campaigns.jobs import Coverage

if TYPE_CHECKING:
    from runtime.api import Runtime

_NAME = "campaign"


class _Log(deque[Any]):
    """A fake's log that counts the kinds of tasks, too."""

    def __init__(self, counts: Any, maxlen: int | None) -> None:
        super().__init__(maxlen=maxlen)
        self._counts = counts

    def __iadd__(self, entries: Iterable[Any]) -> _Log:
        """Note tasks that were executed: that is how the fake does it, in one step."""
        entries = tuple(entries)
        for entry in entries:
            self._counts[entry.kind] += 1
        return super().__iadd__(entries)


@contextmanager
def watching() -> Iterator[Coverage]:
    """Count what all runtimes that are made inside do on fake machines: calls, task types, faults, schedules."""
    from runtime.api import Runtime

    coverage = Coverage()
    machines: list[Any] = []
    calls, kinds = coverage.counts["calls"], coverage.counts["task types"]

    def hear(name: str) -> None:
        calls[name] += 1

    def watch(made: Runtime) -> None:
        fake = getattr(made.hal, "fake", None)
        if fake is not None:
            _settle(machines, coverage)
            machines.append(fake)
            fake.faults.listen(hear)
            fake.log = _Log(kinds, fake.log.maxlen)

    Runtime.started.register(_NAME, watch)
    try:
        yield coverage
    finally:
        Runtime.started.register(_NAME, None)
        _settle(machines, coverage)


def _settle(machines: list[Any], coverage: Coverage) -> None:
    """Count what is only known at the end of machines."""
    while machines:
        fake = machines.pop()
        options = fake.options
        asked = f"{fake.chip.soc} {options.seed} {options.policy} {options.plan} {fake.plan}"
        coverage.counts["schedules"][hashlib.sha256(asked.encode()).hexdigest()[:12]] += 1
        rules = [rule for rules in fake.faults.calls.values() for rule in rules if rule.struck]
        for rule in rules:
            coverage.counts["faults"][f"{rule.name} {rule.code}"] += 1
        for task in fake.faults.tasks:
            if task.seen >= task.nth:
                coverage.counts["faults"][f"task {task.effect.name}"] += 1
