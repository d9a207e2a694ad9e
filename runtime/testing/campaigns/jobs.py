"""What a campaign does and what comes of it: plain data, so that it crosses processes and machines as JSON."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from npuhal.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work for one process: a kind of `campaigns.kinds`, and what it needs to know."""

    kind: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """What the job is known by when a campaign is resumed."""
        return json.dumps([self.kind, self.facts], sort_keys=True)


@dataclass(slots=True)
class Failure:
    """Something that went wrong, once or in several runs, with a Python file that repeats it."""

    cause: str
    """The same text for what has the same cause: exception and place, without numbers and addresses."""
    text: str
    replay: str
    """A Python program that makes it happen again by itself."""
    count: int = 1

    @property
    def name(self) -> str:
        """A file name for it, made of the cause."""
        words = "".join(character if character.isalnum() else "-" for character in self.cause[:48].lower())
        return f"{'-'.join(filter(None, words.split('-')))}-{hashlib.sha256(self.cause.encode()).hexdigest()[:8]}"


class Coverage:
    """What runs have gone through: schedules that were different, faults that struck, calls and task types."""

    KINDS = ("schedules", "faults", "calls", "task types")

    def __init__(self, counts: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self.counts: dict[str, Counter[str]] = {kind: Counter((counts or {}).get(kind, {})) for kind in self.KINDS}

    def add(self, other: Coverage) -> None:
        """Count what another one has seen, too."""
        for kind, counter in other.counts.items():
            self.counts[kind].update(counter)

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Give for each kind how many different ones there were, and how often any of them."""
        for kind in self.KINDS:
            yield kind, len(self.counts[kind]), sum(self.counts[kind].values())


@dataclass(slots=True)
class Result:
    """What became of one job."""

    runs: int = 0
    failures: list[Failure] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    totals: Counter[str] = field(default_factory=Counter)
    """Further counts of the kind's own, by name."""
    rows: list[Any] = field(default_factory=list)
    """What the job was to find out, where it is to plan others."""

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "runs": self.runs, "coverage": self.coverage.counts, "totals": self.totals, "rows": self.rows,
            "failures": [[each.cause, each.text, each.replay, each.count] for each in self.failures],
        }  # fmt: skip

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Result:
        """Return what `to_data` has written."""
        failures = [Failure(*row) for row in data["failures"]]
        return cls(data["runs"], failures, Coverage(data["coverage"]), Counter(data["totals"]), data["rows"])


def in_batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    """Cut a list into pieces of at most `size`."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
