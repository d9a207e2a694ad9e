"""Ids of labels, and what becomes of a time limit."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips import find_chip
from chips.env import EncodeEnv
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.device.timeouts import Timeouts
from runtime.core.stream.stream import StreamFlag
from runtime.core.sync.label import Label, LabelIds, LabelList
from runtime.feature.graph import Model


def test_label_ids_walk_the_range_before_one_is_used_again() -> None:
    ids = LabelIds(200)
    seen = []
    for _ in range(200):
        number = ids.take()
        seen.append(number)
        ids.give_back(number)
    assert seen == list(range(200))
    assert ids.take() == 0


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 100))
def test_label_ids_are_never_given_twice(takes: list[bool], limit: int) -> None:
    ids, held = LabelIds(limit), set[int]()
    for take in takes:
        if take and len(held) < limit:
            number = ids.take()
            assert number not in held
            held.add(number)
        elif not take and held:
            ids.give_back(held.pop())
    assert all(0 <= number < limit for number in held)


def test_label_ids_run_out() -> None:
    ids = LabelIds(3)
    assert [ids.take() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(errors.RuntimeFault, match="all 3 labels") as caught:
        ids.take()
    assert caught.value.code == 507000


@pytest.fixture(params=["ascend910b3", "ascend950pr_9599"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(f"fake://{request.param}?seed=1")
    yield machine.device(0)
    machine.close(force=True)


def test_label_is_set_once_in_a_stream_of_its_model(device: Device) -> None:
    ids, model = device.runtime.label_ids, Model(device.context)
    v100 = device.chip.generation == "v100"
    early = "EE1018" if v100 else "EE1017"
    with device.create_stream(flags=StreamFlag.PERSISTENT) as stream:
        label, foreign = Label(device, ids), Label(device, ids, object())
        _refused(label, stream, 107005, "" if v100 else "EE1017")
        model.bind(stream)
        _refused(foreign, stream, 507000, "")
        _refused(label, stream, 507000, early)
        labels = LabelList(device, [label, foreign])
        label.set(stream)
        assert (label.stream, label.model) == (stream, model)
        _refused(label, stream, 507000, early)
        row = struct.unpack("<QQ", device.memory.read(labels.address, 16))
        assert row == (label.position << 16 | stream.queues.sq_id, model.counter(stream))
        assert device.memory.read(labels.count_address, 8) == struct.pack("<Q", 2)
        labels.close()
        label.close()
        with pytest.raises(errors.InvalidHandle):
            label.set(stream)
        model.close()


def _refused(label: Label, stream: Any, code: int, message: str) -> None:
    with pytest.raises(errors.RuntimeFault) as caught:
        label.set(stream)
    assert (caught.value.code, caught.value.message_id) == (code, message)


# -- time limits -------------------------------------------------------------------------------------------------------

_INTERVAL_US = 4294967.296


def _limits(soc: str = "Ascend910B1") -> tuple[Timeouts, EncodeEnv, Any]:
    env = EncodeEnv(chip=find_chip(soc))
    prepared = {"kept": object()}
    stream = SimpleNamespace(env=env, launchers=prepared, drop_prepared=prepared.clear)
    scheduler = SimpleNamespace(aicpu_monitor_off=True)
    device = SimpleNamespace(env=env, chip=env.chip, streams=lambda: [stream], scheduler=scheduler)
    return Timeouts(lambda: [device]), env, stream  # type: ignore[list-item, return-value]


@pytest.mark.parametrize(
    ("time_us", "counted_ms"),
    [(0, 1090922), (1, 4295), (1_000_000, 4295), (30_000_000, 30065), ((1 << 32) * 1_000_000, 1090922)],
)
def test_operator_limit_is_counted_in_whole_steps(time_us: int, counted_ms: int) -> None:
    limits, env, stream = _limits()
    limits.set_operator(time_us)
    assert limits.operator_ms(env) == counted_ms
    assert stream.env.op_timeout_us == time_us
    assert stream.launchers == {}


@given(st.integers(1, 1_090_921_000))
def test_counted_limit_is_never_shorter_and_less_than_a_step_longer(time_us: int) -> None:
    limits, env, _ = _limits()
    limits.set_operator(time_us)
    assert time_us <= limits.operator_us(env) < time_us + _INTERVAL_US + 1


def test_wait_limits() -> None:
    limits, env, _ = _limits()
    chip = env.chip
    assert limits.wait_s(chip, None) == 0
    limits.set_wait(7)
    assert limits.wait_s(chip, None) == 7
    assert limits.wait_s(chip, 0) == 0
    assert limits.wait_s(chip, 3) == 3
    for wrong in (-1, 1 << 32):
        with pytest.raises(errors.InvalidArgument):
            limits.wait_s(chip, wrong)
        with pytest.raises(errors.InvalidArgument):
            limits.set_wait(wrong)


def test_chips_that_do_not_limit_waits_say_so() -> None:
    limits, _, _ = _limits()
    chip = next(
        chip for chip in map(find_chip, ("Ascend310P3", "Ascend910A", "Ascend310B1"))
        if chip.prop("streamWaitEventTimeout") != "CUSTOM"
    )
    assert limits.wait_s(chip, 0) == limits.wait_s(chip, None) == 0
    with pytest.raises(errors.NotSupported):
        limits.wait_s(chip, 5)
