"""The differential harness: it finds nothing between our two ways in, and finds and shortens what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.tools.differential import __main__ as differential
from tests.tools.differential.calls import anything
from tests.tools.differential.programs import Step, generate


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_c_and_python_answer_alike(acl: Path, soc: str) -> None:
    library = str(acl / "libascendcl.so")
    assert differential.compare(f"fake://{soc}?devices=2", library, programs=8, seed=1, length=40) == (8, [])


class Stub(differential.Side):
    """Answers 0 to everything but one function once a stream was made."""

    def __init__(self, code: int) -> None:
        self._code = code

    def run(self, program: Sequence[Step]) -> list[list[Any]]:
        """Answer without a process."""
        made, seen = False, []
        for step in program:
            made |= step.function == "aclrtCreateStream"
            seen.append([self._code if step.function == "aclrtFree" and made else 0, {}, None])
        return [*seen, [0, {}, None]]


def test_a_difference_is_shortened() -> None:
    program = next(each for each in (generate(f"shorten/{number}", 60) for number in range(50))
                   if "aclrtFree" in [step.function for step in each])  # fmt: skip
    one, two = Stub(0), Stub(507899)
    short = differential.minimised(program, one, two)
    assert [step.function for step in short] == ["aclrtCreateStream", "aclrtFree"]
    assert differential.difference(one.run(short), two.run(short)) == (1, [0, {}, None], [507899, {}, None])
    assert differential.difference(one.run(short), one.run(short)) is None


def test_a_crash_and_a_hang_are_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = differential.Side("fake://ascend910b3", str(tmp_path / "no_library.so"))
    assert side.run([]) == ["the process ended with 1"]
    monkeypatch.setattr(differential, "_LONGEST_S", 0)
    side = differential.Side("fake://ascend910b3", None)
    assert side.run([]) == ["no answer in 0 s"]


def test_what_the_library_does_not_survive_ends_the_comparison_only_where_that_is_said() -> None:
    ours, theirs = [[0, {}, []], [107000, {}, ["EE1003"]]], [[0, {}, []], "the process ended with -11"]
    assert differential.difference(ours, theirs) == (1, ours[1], theirs[1])
    assert differential.difference(ours, theirs, survives=False) is None


def test_any_function_is_called_with_what_its_parameters_take() -> None:
    called = {step.function for number in range(40) for step in anything(f"any/{number}", 60)}
    assert len(called) > 350
    only = [step.function for step in anything("few", 80, ["aclrtFree"])[11:]]
    assert set(only) & {"aclrtFree"}
    assert not set(only) & {"aclrtReduceAsync", "aclrtGetDevice"}


def test_calls_of_any_function_are_answered_alike(acl: Path) -> None:
    library = str(acl / "libascendcl.so")
    assert differential.compare("fake://ascend950?devices=2&kernels=noop", library, 2, 5, 60, ()) == (2, [])


def test_the_same_seed_makes_the_same_program() -> None:
    assert generate("a", 50) == generate("a", 50) != generate("b", 50)
    assert str(Step("aclrtFree", {"devPtr": {"var": "memory1"}})) == "aclrtFree(devPtr=memory1)"


@pytest.mark.parametrize(("step", "ours", "theirs", "is_one"), [
    (Step("aclrtFree", {"devPtr": {"var": "stream1"}}), [107000, {}, []], [0, {}, []], True),
    (Step("aclrtFree", {"devPtr": {"var": "memory1"}}), [107000, {}, []], [0, {}, []], False),
    (Step("aclrtRecordEvent", {"event": {"var": "memory1"}}), [107017, {}, ["EE1017"]], "ended with -11", True),
    (Step("aclrtRecordEvent", {"event": {"var": "event1"}}), [0, {}, []], "ended with -11", False),
])  # fmt: skip
def test_differences_that_the_documents_name_are_no_faults(step: Step, ours: Any, theirs: Any, is_one: bool) -> None:
    assert (differential.difference([ours], [theirs], program=[step]) is None) is is_one
