"""A fuzzer's failing example is a script: it runs by itself, from the root of the repository, and fails alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chips import find_chip
from chips.programs.capture import ConditionKind
from runtime.testing.script import ATTRIBUTE, Script
from tests.tools import examples_as_scripts
from tests.tools.examples_as_scripts import Drawn, spelled


@given(steps=st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=3))), data=st.data())
def fails(steps: list[tuple[int, bytes]], data: st.DataObject) -> None:
    assume(len(steps) != 1)
    number = data.draw(st.integers(0, 100), label="a number")
    assert sum(one for one, _ in steps) + number < 7, "too much"


@pytest.mark.filterwarnings("ignore:Using `assume` outside")
def test_the_script_of_an_example_fails_as_the_test_did() -> None:
    for _ in range(2):
        examples_as_scripts.watch(fails)
    with pytest.raises(AssertionError, match="too much") as failed:
        fails()
    text = getattr(failed.value, ATTRIBUTE)
    assert "    steps=list([])," in text.splitlines()
    assert "    data=Drawn([7])," in text.splitlines()
    with pytest.raises(AssertionError, match="too much"):
        Script(None).run(text)


@pytest.mark.parametrize("value", [
    None, True, -3, "text", b"\0\xff", (1,), [(), [2.5, float("-inf")]], {1: {2}}, ConditionKind.WHILE, int, Path,
    find_chip("Ascend910B1"), np.array([[1, 2]], "<i2"),
])  # fmt: skip
def test_values_are_spelled(value: object) -> None:
    imports: set[str] = set()
    text = spelled(value, imports)
    Script(None).run(*sorted(imports), f"assert repr({text}) == {repr(value)!r}")


def test_what_cannot_be_spelled_makes_no_script() -> None:
    assert examples_as_scripts.script(fails, {"steps": [object()], "data": Drawn([])}) == ""
    examples_as_scripts.watch(print)  # no hypothesis test: nothing happens
