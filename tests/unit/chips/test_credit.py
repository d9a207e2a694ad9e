"""Time limits as credits: chips that count from 0, chips without an interval, the AICPU's margin."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips import credit, find_chip
from chips.env import EncodeEnv

DAVID, CLOUD, MC62, MC32, A2 = (
    find_chip(soc) for soc in ("Ascend950PR_9599", "Arch9201", "MC62CM12A", "MC32DM11A", "Ascend910B1")
)
SECOND = 1_000_000


def env(chip: Any = DAVID, **facts: Any) -> EncodeEnv:
    return EncodeEnv(chip=chip, **facts)


@pytest.mark.parametrize(
    ("seconds", "value"),
    [(1, 0), (10, 2), (60, 13), (3000, 253)],
    ids=lambda value: str(value),
)
def test_kernel_limits_of_950(seconds: int, value: int) -> None:
    assert credit.aicore(seconds * SECOND, env()) == value


def test_chips_without_an_interval_take_the_longest_limit() -> None:
    assert credit.aicore(SECOND, env(CLOUD)) == 254


def test_default_limits_are_the_chip_s_own() -> None:
    assert [credit.aicore(0, env(chip)) for chip in (DAVID, CLOUD, MC62, MC32)] == [253, 254, 9, 9]


def test_no_limit_needs_a_scheduler_that_knows_it() -> None:
    assert credit.aicore(credit.NEVER_US, env()) == 253
    assert credit.aicore(credit.NEVER_US, env(ts_features=frozenset({"AICORE_NEVER_TIMEOUT"}))) == 255


@pytest.mark.parametrize(
    ("limit_us", "in_ms", "kernel", "copy", "aicpu"),
    [(500_000, True, 0, 0, 4), (0, True, 255, 253, 253), (10 * SECOND, False, 2, 253, 6)],
)
def test_process_limits(limit_us: int, in_ms: bool, kernel: int, copy: int, aicpu: int) -> None:
    limited = env(op_timeout_us=limit_us, op_timeout_fine=in_ms)
    assert credit.aicore(0, limited) == kernel
    assert credit.sdma(limited) == copy
    assert credit.aicpu(0, 2, limited) == aicpu


def test_the_answered_interval_counts_where_chip_and_scheduler_allow() -> None:
    asked = env(A2, credit_interval_us=1000.0, ts_features=frozenset({"OP_EXEC_TIMEOUT_MS"}))
    assert credit.interval_us(asked) == 1000.0
    assert credit.interval_us(env(A2, credit_interval_us=1000.0)) == pytest.approx(4294967.296)


def test_aicpu_limits_get_a_margin() -> None:
    assert credit.aicpu(30 * SECOND, 2, env()) == 10
    assert credit.aicpu(credit.NEVER_US, 2, env()) == 255
    assert credit.aicpu(2000 * SECOND, 2, env()) == 255


def test_only_the_rounded_interval_of_mc62_reaches_255() -> None:
    assert [credit.aicpu(0, 2, env(chip)) for chip in (MC62, MC32)] == [255, 254]


@pytest.mark.parametrize(("seconds", "value"), [(0, 255), (20, 4), (100, 23), (2000, 255)])
def test_mission_limits(seconds: int, value: int) -> None:
    assert credit.ccu(seconds, env()) == value


def test_unwatched_aicpu_entries() -> None:
    assert [credit.aicpu_unlimited(env(A2, flat_addresses=flat)) for flat in (False, True)] == [8, 16]


@given(st.integers(0, credit.NEVER_US), st.sampled_from([DAVID, CLOUD, MC62, MC32, A2]))
def test_credits_fit_their_field_and_grow_with_the_limit(time_us: int, chip: Any) -> None:
    for rule in (credit.aicore, lambda time, at: credit.aicpu(time, 2, at), credit.from_time):
        assert 0 <= rule(time_us, env(chip)) <= 255
    if 0 < time_us < credit.NEVER_US:
        assert credit.aicore(time_us, env(chip)) <= credit.aicore(time_us + 1, env(chip))
