"""The differential harness: it finds nothing between our two ways in, and finds and shortens what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.tools.differential import __main__ as differential
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
            seen.append([self._code if step.function == "aclrtFree" and made else 0, {}])
        return [*seen, [0, {}]]


def test_a_difference_is_shortened() -> None:
    program = next(each for each in (generate(f"shorten/{number}", 60) for number in range(50))
                   if "aclrtFree" in [step.function for step in each])  # fmt: skip
    one, two = Stub(0), Stub(507899)
    short = differential.minimised(program, one, two)
    assert [step.function for step in short] == ["aclrtCreateStream", "aclrtFree"]
    assert differential.difference(one.run(short), two.run(short)) == (1, [0, {}], [507899, {}])
    assert differential.difference(one.run(short), one.run(short)) is None


def test_a_crash_and_a_hang_are_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = differential.Side("fake://ascend910b3", str(tmp_path / "no_library.so"))
    assert side.run([]) == "the process ended with 1"
    monkeypatch.setattr(differential, "_LONGEST_S", 0)
    side = differential.Side("fake://ascend910b3", None)
    assert side.run([]) == "no answer in 0 s"


def test_the_same_seed_makes_the_same_program() -> None:
    assert generate("a", 50) == generate("a", 50) != generate("b", 50)
    assert str(Step("aclrtFree", {"devPtr": {"var": "memory1"}})) == "aclrtFree(devPtr=memory1)"
