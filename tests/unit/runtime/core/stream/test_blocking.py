"""Launch blocking: environment, stream setting, nested sections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.core.stream import blocking
from runtime.core.stream.blocking import LaunchBlocking
from runtime.core.stream.stream import StreamFlag

MakeKernel = Callable[..., Kernel]


def pending_after_launch(kernel: Kernel, stream: Stream) -> int:
    kernel[1](0, stream=stream)
    return stream.ring.pending


def test_launches_are_asynchronous_by_default(make_kernel: MakeKernel, stream: Stream) -> None:
    assert pending_after_launch(make_kernel("k"), stream) == 1


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("true", False), ("11", False)])
def test_only_the_value_1_asks_for_it(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv(blocking.VARIABLE, value)
    assert blocking.from_environment() is expected


def test_the_environment_makes_launches_wait(monkeypatch: pytest.MonkeyPatch, chip: str) -> None:
    monkeypatch.setenv(blocking.VARIABLE, "1")
    machine = Runtime(f"fake://{chip}?kernels=noop")
    from runtime.cli.sample import minimal_kernel

    device = machine.device(0)
    stream = device.create_stream()
    kernel = device.load(minimal_kernel("k", 1), name="k").only
    assert pending_after_launch(kernel, stream) == 0
    stream.set_launch_blocking(LaunchBlocking.NON_BLOCKING)
    assert pending_after_launch(kernel, stream) == 1
    machine.close(force=True)


def test_a_stream_can_ask_for_it(make_kernel: MakeKernel, stream: Stream) -> None:
    kernel = make_kernel("k")
    stream.set_launch_blocking(LaunchBlocking.BLOCKING)
    assert pending_after_launch(kernel, stream) == 0
    bound = kernel.bind(stream, 1)
    bound(0)
    assert stream.ring.pending == 0


def test_a_blocking_launch_raises_the_failure_of_its_own_kernel(make_kernel: MakeKernel, stream: Stream) -> None:
    stream.set_launch_blocking(LaunchBlocking.BLOCKING)
    kernel = make_kernel("bad")
    stream.device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="bad")
    with pytest.raises(errors.RuntimeFault, match="bad"):
        kernel[1](0, stream=stream)


def test_sections_nest_and_only_the_outermost_end_waits(make_kernel: MakeKernel, stream: Stream) -> None:
    kernel = make_kernel("k")
    stream.set_launch_blocking(LaunchBlocking.BLOCKING)
    with stream.non_blocking():
        assert pending_after_launch(kernel, stream) == 1
        with stream.non_blocking():
            assert pending_after_launch(kernel, stream) == 2
        assert stream.ring.pending == 2
    assert stream.ring.pending == 0
    assert pending_after_launch(kernel, stream) == 0


def test_an_end_without_a_begin_is_refused(stream: Stream) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        blocking.end(stream)
    assert caught.value.message_id == "EE1018"


@pytest.mark.parametrize("flag", [StreamFlag.PERSISTENT, StreamFlag.CPU_SCHEDULE, StreamFlag.DEVICE_USE_ONLY])
def test_streams_that_nobody_waits_for_never_block(device: Device, flag: StreamFlag) -> None:
    stream = device.context.create_stream(flags=flag)
    stream.set_launch_blocking(LaunchBlocking.BLOCKING)
    assert not blocking.blocks(stream)
