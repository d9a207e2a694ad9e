"""Closes that are interrupted between two steps, or in one: each thing is given back, and once."""

from __future__ import annotations

from collections import deque

import pytest

from runtime import errors
from runtime.errors.closing import Again, Once, Steps, each


def test_a_thing_that_was_given_back_is_left_alone_whoever_has_its_number() -> None:
    rows, given = {7: object()}, list[int]()

    def give() -> None:
        del rows[7]
        given.append(7)

    step, of_none = Once(rows, 7, give), Once(rows, 8, give)
    step()
    rows[7] = object()  # another one has the number now
    step()
    of_none()
    assert given == [7]


def test_a_step_that_is_broken_off_is_made_again_and_the_others_follow() -> None:
    made, interrupts = list[str](), [KeyboardInterrupt()]

    def breaks() -> None:
        made.append("breaks")
        if interrupts:
            raise interrupts.pop()

    with pytest.raises(KeyboardInterrupt):
        each([Again(breaks), lambda: made.append("last")])
    assert made == ["breaks", "breaks", "last"]


def test_what_cannot_be_made_again_is_not() -> None:
    made = list[int]()

    def breaks() -> None:
        made.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each([breaks, lambda: made.append(2)])
    assert made == [1, 2]


def test_the_first_fault_is_raised_behind_all_steps() -> None:
    made = list[int]()
    first, second = (errors.fault("ACL_ERROR_RT_INTERNAL_ERROR", text) for text in ("first", "second"))

    def refuse(fault: errors.RuntimeFault) -> None:
        raise fault

    with pytest.raises(errors.RuntimeFault, match="first"):
        each([lambda: refuse(first), lambda: refuse(second), lambda: made.append(1)])
    assert made == [1]


def test_another_call_makes_what_is_left_and_none_of_it_inside_of_a_step() -> None:
    made = list[int]()
    steps = Steps([lambda: steps(), lambda: made.append(1)])  # the first step comes back to the same close
    steps()
    steps()
    assert made == [1]


@pytest.mark.parametrize("taken", [False, True])
def test_steps_wait_until_none_is_left_whoever_takes_them_meanwhile(taken: bool) -> None:
    made, waiting = list[int](), deque[Steps]()

    def step() -> None:
        made.append(1)
        if taken:  # a sweep inside of the step, or of another thread
            waiting.pop()()

    steps = Steps([step, lambda: made.append(2)])
    waiting.append(steps)
    steps.finish(waiting)
    assert (made, list(waiting)) == ([1, 2], [])


def test_steps_that_another_call_makes_wait_for_its_end() -> None:
    waiting, seen = deque[Steps](), list[list[Steps]]()

    def step() -> None:
        waiting.pop()()  # a sweep takes them, and they do nothing for it
        steps.finish(waiting)  # a second close: it cannot tell whether the first one will come to its end
        seen.append(list(waiting))

    steps = Steps([step])
    waiting.append(steps)
    steps.finish(waiting)
    assert (seen, list(waiting)) == ([[steps]], [])
