"""What a sweep tries, and what came of it: plain data that goes to files and to other processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from npuhal.errors import error_name
from npuhal.records import dataclass, field


class Verdict(Enum):
    """What a failure of one driver call came to; the first three are as they should be."""

    ABSORBED = "absorbed"
    """The program has noticed nothing, and its results were right."""
    TYPED = "typed"
    """The program got a fault of the runtime, or an error of the driver's where there was no runtime yet."""
    NOT_REACHED = "not reached"
    """The call was made less often this time, as where somebody waits for something."""
    UNTYPED = "untyped"
    """The program, or a thread of the runtime, got another exception."""
    WRONG = "wrong"
    """The program got no error, and a wrong result."""
    CLOSE = "close"
    """A close by force has failed afterwards."""
    LEAK = "leak"
    """Something was still held on the card when the device was closed."""
    UNUSABLE = "unusable"
    """The same program, or a plain use of the device, has failed afterwards."""
    REPORT = "report"
    """A checker of the fake has found a mistake of the runtime."""
    HANG = "hang"
    """It did not end."""
    CRASH = "crash"
    """The process has died of it."""

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self in (Verdict.ABSORBED, Verdict.TYPED, Verdict.NOT_REACHED)


@dataclass(frozen=True, slots=True)
class Case:
    """One failure: the `occurrence`-th call of a function, the `nth` driver call of the program, answers `code`."""

    nth: int
    call: str
    occurrence: int
    code: int

    def __str__(self) -> str:
        return f"call {self.nth}, {self.call} number {self.occurrence}, answers {error_name(self.code)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that went wrong after a failure."""

    case: Case
    verdict: Verdict
    text: str
    cause: str
    """What has the same cause has the same text here: exception and place, without numbers."""

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.case}: {self.text}"


@dataclass(slots=True)
class Outcome:
    """What became of one case."""

    case: Case
    verdict: Verdict
    findings: list[Finding] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        case = self.case
        return {
            "case": [case.nth, case.call, case.occurrence, case.code], "verdict": self.verdict.value,
            "findings": [[each.verdict.value, each.text, each.cause] for each in self.findings],
        }  # fmt: skip

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Outcome:
        """Return the outcome that `to_data` has written."""
        case = Case(*data["case"])
        findings = [Finding(case, Verdict(kind), text, cause) for kind, text, cause in data["findings"]]
        return cls(case, Verdict(data["verdict"]), findings)


class SweepReport:
    """The outcomes of one program on one machine, or of several."""

    def __init__(self, outcomes: Iterable[Outcome] = ()) -> None:
        self.outcomes = list(outcomes)

    @property
    def findings(self) -> list[Finding]:
        """Everything that went wrong, in the order of the cases."""
        return [finding for outcome in self.outcomes for finding in outcome.findings]

    @property
    def good(self) -> bool:
        """Whether nothing went wrong."""
        return not self.findings

    @property
    def counts(self) -> dict[str, int]:
        """How many cases there were, then how many of each verdict."""
        of = Counter(outcome.verdict for outcome in self.outcomes)
        of.update(finding.verdict for outcome in self.outcomes for finding in outcome.findings)
        return {"cases": len(self.outcomes), **{verdict.value: of[verdict] for verdict in Verdict}}

    def causes(self) -> Iterator[tuple[Finding, int]]:
        """Give one finding per cause, with the number of cases that have it."""
        first: dict[str, Finding] = {}
        number: Counter[str] = Counter()
        for finding in self.findings:
            first.setdefault(finding.cause, finding)
            number[finding.cause] += 1
        for cause, finding in first.items():
            yield finding, number[cause]

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items() if number)
        return "\n".join([counts, *(f"{number} x {finding}" for finding, number in self.causes())])


_FIRST_POLLS = 12
"""So many calls of a function that somebody polls with fail in any case."""


def plan(names: Sequence[str], codes: Mapping[str, Sequence[int]], polled: Collection[str] = ()) -> list[Case]:
    """Return the cases of a program that makes these calls in this order: each of them once with each code of it.

    Args:
        polled: functions whose number of calls is not the program's but time's; some of their calls fail, the first
            ones and then ever fewer.
    """
    seen: Counter[str] = Counter()
    cases = []
    for nth, name in enumerate(names, 1):
        seen[name] += 1
        if name in polled and not _is_sampled(seen[name]):
            continue
        cases += [Case(nth, name, seen[name], code) for code in codes.get(name, ())]
    return cases


def _is_sampled(occurrence: int) -> bool:
    """Whether a poll fails: the first ones, then each one that is about a third later than the last."""
    step = _FIRST_POLLS
    while step < occurrence:
        step += step // 3
    return occurrence <= _FIRST_POLLS or step == occurrence
