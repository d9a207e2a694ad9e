"""Failure modes: going on, stopping a whole context, and what a stopped context still takes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from chips.tasks import Maintenance, Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.failure import FailureMode

CHIPS = ("ascend910b1", "ascend950pr_9599")


@pytest.fixture(params=CHIPS)
def device(request: pytest.FixtureRequest) -> Device:
    machine = Runtime(f"fake://{request.param}")
    yield machine.device(0)
    machine.close(force=True)


def fail_next(device: Device, stream: object, nth: int = 1) -> None:
    device.hal.fake.faults.on_task(Effect.EXCEPTION, nth, stream=stream.stream_id)


def test_a_failure_is_reported_once_and_the_stream_goes_on(device: Device) -> None:
    stream = device.create_stream()
    fail_next(device, stream)
    stream.submit(Nop())
    stream.submit(Nop())
    with pytest.raises(errors.DeviceFault) as caught:
        stream.synchronize(30_000)
    assert caught.value.code == 507001
    stream.synchronize(30_000)
    stream.submit(Nop())
    stream.synchronize(30_000)
    assert stream.query()


def test_the_first_of_several_failures_is_kept_with_its_task_and_the_later_ones_behind_it(device: Device) -> None:
    stream = device.create_stream()
    fail_next(device, stream, 2)
    fail_next(device, stream, 2)  # the second rule does not see the task that the first one strikes
    for name in ("first", "second", "third"):
        stream.submit(Nop(), owner=name)
    while stream.ring.pending:
        assert not stream.query()
    record = stream.failure
    assert record.first is not None
    assert record.first.details["task"] == "second"
    assert [later.details["task"] for later in record.later] == ["third"]
    assert record.later[0].__cause__ is record.first
    with pytest.raises(errors.DeviceFault, match="second"):
        stream.synchronize(30_000)


def test_a_failed_stream_is_not_done_until_somebody_synchronizes(device: Device) -> None:
    stream = device.create_stream()
    fail_next(device, stream)
    stream.submit(Nop())
    device.hal.fake.run_until_idle()
    assert not stream.query()
    with pytest.raises(errors.DeviceFault):
        stream.synchronize(30_000)
    assert stream.query()


def test_stop_mode_stops_every_stream_of_the_context_for_good(device: Device) -> None:
    failing, other = device.create_stream(), device.create_stream()
    failing.set_failure_mode(FailureMode.STOP)
    fail_next(device, failing)
    for _ in range(5):
        failing.submit(Nop())
    for _ in range(2):
        with pytest.raises(errors.DeviceFault):
            failing.synchronize(30_000)
    assert failing.ring.pending == 0
    executed = [entry for entry in device.hal.fake.log if entry.stream == failing.stream_id]
    assert len(executed) == 1  # what came behind the failed task was given up
    for stream in (failing, other, device.default_stream, device.create_stream()):
        with pytest.raises(errors.DeviceFault) as caught:
            stream.submit(Nop())
        assert caught.value.code == 507001
        assert caught.value.__cause__ is device.context.failure.first
        with pytest.raises(errors.DeviceFault):
            stream.query()
    for stream in (failing, other):
        stream.close()


def test_a_stopped_context_does_not_stop_another_one(device: Device) -> None:
    stream = device.create_stream()
    stream.set_failure_mode(FailureMode.STOP)
    second = device.create_context()
    fail_next(device, stream)
    stream.submit(Nop())
    with pytest.raises(errors.DeviceFault):
        stream.synchronize(30_000)
    healthy = second.create_stream()
    healthy.submit(Nop())
    healthy.synchronize(30_000)


def test_maintenance_passes_in_a_stopped_context(device: Device) -> None:
    stream = device.create_stream()
    stream.set_failure_mode(FailureMode.STOP)
    fail_next(device, stream)
    stream.submit(Nop())
    with pytest.raises(errors.DeviceFault):
        stream.synchronize(30_000)
    stream.check_send(Maintenance.type)
    device.control_stream.submit(Maintenance())


@pytest.mark.parametrize(
    ("first", "then", "code"),
    [(1, 1, 0), (1, 0, 207000), (1, 2, 207000), (1, 3, 0), (1, 2**64 - 1, 0), (0, 0, 0), (0, 1, 0)],
)
def test_the_mode_can_be_set_once(device: Device, first: int, then: int, code: int) -> None:
    stream = device.create_stream()
    stream.set_failure_mode(first)
    if code == 0:
        stream.set_failure_mode(then)
    else:
        with pytest.raises(errors.NotSupported) as caught:
            stream.set_failure_mode(then)
        assert (caught.value.code, caught.value.message_id) == (code, "EE1016")


def test_a_bound_stream_takes_no_mode(device: Device) -> None:
    stream = device.create_stream()
    stream.bound = object()
    with pytest.raises(errors.NotSupported) as caught:
        stream.set_failure_mode(1)
    assert (caught.value.code, caught.value.message_id) == (207000, "EE1017")
    stream.bound = None


def test_the_mode_of_a_device_holds_for_streams_made_afterwards(device: Device) -> None:
    before = device.create_stream()
    device.set_failure_mode(1)
    with pytest.raises(errors.NotSupported, match="already"):
        device.set_failure_mode(2)
    assert before.failure_mode is FailureMode.CONTINUE
    assert device.create_stream().failure_mode is FailureMode.STOP


def test_a_reset_ends_a_stop() -> None:
    machine = Runtime("fake://ascend910b1")
    device = machine.set_device(0)
    stream = device.create_stream()
    stream.set_failure_mode(1)
    fail_next(device, stream)
    stream.submit(Nop())
    with pytest.raises(errors.DeviceFault):
        stream.synchronize(30_000)
    machine.reset_device(0)
    again = machine.set_device(0).create_stream()
    again.submit(Nop())
    again.synchronize(30_000)
    machine.close(force=True)


@pytest.mark.parametrize("url", ["fake://ascend910b3", "fake-abi://ascend950"])
@pytest.mark.parametrize("own", [False, True])
def test_a_failure_keeps_nothing_that_the_program_drops(url: str, own: bool) -> None:
    """Its traceback has the frames of all callers: a frame that kept the failure would keep their buffers, too."""
    device = Runtime(f"{url}?seed=1").device(0)
    stream, kernel = device.create_stream(), device.load(minimal_kernel("wrong", 2)).only
    fake: Any = device.hal

    def read(context: Any) -> None:
        if own:
            raise ValueError("a mistake")
        context.args.array(0, "u8", 8)[0] += 1

    fake.fake.attach(kernel.code, read, name="wrong", grid=True)

    def fail() -> weakref.ref[Any]:
        buffer = device.alloc(64)
        kernel[1](0xFF, buffer, stream=stream)
        with pytest.raises(errors.RuntimeFault):
            stream.synchronize()
        return weakref.ref(buffer)

    enabled = gc.isenabled()
    gc.disable()
    try:
        assert [fail()() for _ in range(2)] == [None, None]
    finally:
        if enabled:
            gc.enable()
