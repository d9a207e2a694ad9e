"""The sweep finds what it is for: each kind of finding is shown by a program that is wrong in that way."""

from __future__ import annotations

import pytest

from fakes.errors import FakeError
from runtime.testing import sweep
from runtime.testing.sweeps.cases import Case, Outcome, Verdict, plan
from tests.unit.runtime.testing import programs

URL = "fake://ascend910b3"


def test_a_program_that_is_right_has_no_findings() -> None:
    report = sweep(programs.right, URL, calls=["halMemAlloc", "halMemFree", "halSqTaskSend"], sample=12)
    assert report.good, report
    assert 0 < report.counts["cases"] <= 12
    assert report.counts["typed"] + report.counts["absorbed"] == report.counts["cases"]


def test_what_comes_before_the_first_yield_does_not_fail() -> None:
    calls = [outcome.case.call for outcome in sweep(programs.prepared, URL).outcomes]
    assert calls
    assert "halDeviceOpen" not in calls
    assert "halSqCqAllocate" not in calls


@pytest.mark.parametrize(
    ("program", "call", "verdict"),
    [
        (programs.untyped, "halMemAlloc", Verdict.UNTYPED), (programs.wrong, "drvMemcpy", Verdict.WRONG),
        (programs.leaking, "halMemAlloc", Verdict.LEAK),
    ],
)  # fmt: skip
def test_each_kind_of_mistake_is_found(program: object, call: str, verdict: Verdict) -> None:
    report = sweep(program, URL, calls=[call])  # type: ignore[arg-type]
    assert not report.good
    assert verdict in {finding.verdict for finding in report.findings}
    causes = list(report.causes())
    assert sum(count for _, count in causes) == len(report.findings)
    assert verdict.value in str(report)


def test_codes_and_calls_are_chosen_by_name_or_number() -> None:
    report = sweep(programs.right, URL, calls=["halSqTaskSend"], codes=["BUS_DOWN", 17])
    assert {outcome.case.code for outcome in report.outcomes} == {33, 17}
    with pytest.raises(FakeError, match="halNothing"):
        sweep(programs.right, URL, calls=["halNothing"])
    with pytest.raises(FakeError, match="SUNSHINE"):
        sweep(programs.right, URL, codes=["SUNSHINE"])


def test_each_call_fails_once_with_each_code_and_polls_are_sampled() -> None:
    assert plan(["a", "b", "a"], {"a": (1, 2), "b": (3,)}) == [
        Case(1, "a", 1, 1), Case(1, "a", 1, 2), Case(2, "b", 1, 3), Case(3, "a", 2, 1), Case(3, "a", 2, 2),
    ]  # fmt: skip
    polls = plan(["a"] * 1000, {"a": (1,)}, {"a"})
    assert [case.occurrence for case in polls[:12]] == list(range(1, 13))
    assert 12 < len(polls) < 40


def test_an_outcome_survives_json() -> None:
    outcome = sweep(programs.leaking, URL, calls=["halMemAlloc"], sample=1).outcomes[0]
    assert Outcome.from_data(outcome.to_data()).to_data() == outcome.to_data()
