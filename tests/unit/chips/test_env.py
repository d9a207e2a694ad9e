"""The encode environment: facts of device and stream, never changed in place."""

from __future__ import annotations

import dataclasses

import pytest

from chips import find_chip
from chips.env import CoreQos, EncodeEnv, TaskIds


def test_an_environment_is_replaced_not_changed() -> None:
    env = EncodeEnv(chip=find_chip("Ascend910B1"), stream_id=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        env.stream_id = 4  # type: ignore[misc]
    assert dataclasses.replace(env, stream_id=4).stream_id == 4


def test_the_ring_depth_defaults_to_the_chip() -> None:
    chip = find_chip("Ascend910B1")
    assert EncodeEnv(chip=chip).ring_depth == chip.limits.rtsq_depth
    assert EncodeEnv(chip=chip, sq_depth=64).ring_depth == 64


def test_scheduler_features_are_asked_by_name() -> None:
    env = EncodeEnv(chip=find_chip("Ascend910B1"), ts_features=frozenset({"OP_EXEC_TIMEOUT_MS"}))
    assert env.ts_has("OP_EXEC_TIMEOUT_MS")
    assert not env.ts_has("FFTSPLUS_TIMEOUT")


def test_small_things_have_defaults() -> None:
    assert TaskIds(7) == (7, 0, 0, None)
    assert CoreQos(1, 2).pmg == 0
