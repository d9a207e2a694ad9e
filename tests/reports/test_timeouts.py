"""What users met when time limits of different layers got in each other's way."""

from __future__ import annotations

import logging

import pytest

from runtime import errors
from runtime.api import Device
from tests.unit.runtime.machines import MakeKernel


def test_every_limit_can_be_read_in_one_place_with_its_source(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {limit.name: limit for limit in device.time_limits()}
    assert limits["operator"].source == limits["wait for an event"].source == "default"
    assert limits["close of a stream"].milliseconds == 3000
    device.runtime.timeouts.set_operator(5_000_000)
    device.runtime.timeouts.set_wait(60)
    limits = {limit.name: limit for limit in device.time_limits()}
    assert 5000 <= limits["operator"].milliseconds < 10_000
    assert (limits["operator"].source, limits["wait for an event"].source) == ("set_operator", "set_wait")
    assert limits["wait for an event"].milliseconds == 60_000


@pytest.mark.parametrize(
    ("operator_s", "wait_s", "warned"),
    [(50, 40, True), (40, 40, True), (40, 50, False), (0, 40, False), (50, 0, False)],
)
def test_an_inner_limit_that_is_not_shorter_is_warned_of(
    device: Device, caplog: pytest.LogCaptureFixture, operator_s: int, wait_s: int, warned: bool
) -> None:
    device.runtime.timeouts.set_operator(operator_s * 1_000_000)
    device.runtime.timeouts.set_wait(wait_s)
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(found) == warned
    if warned:
        assert f"operator: {operator_s * 1000} ms (set_operator) is not shorter than" in found[0]


def test_a_wait_that_ends_too_early_names_its_limit_and_the_oldest_task(
    device: Device, make_kernel: MakeKernel
) -> None:
    kernel, stream = make_kernel("dataset_step"), device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    buffer = device.alloc(64)
    for _ in range(3):
        kernel[1](buffer, stream=stream)
    oldest = stream.ring.id_at(0)
    with pytest.raises(errors.Timeout) as caught:
        stream.synchronize(10)
    assert (caught.value.code, caught.value.message_id) == (507046, "EE1002")
    for part in ("is not finished in 10 ms; still running: kernel", "dataset_step", f"task id {oldest}", "position 0"):
        assert part in caught.value.message
    assert caught.value.hint == "wait longer, or call stream.abort()"
    with pytest.raises(errors.InvalidArgument) as zero:
        stream.synchronize(0)
    assert zero.value.code == 107000
    device.hal.fake.device(0).release(stream.stream_id)
    stream.synchronize()
