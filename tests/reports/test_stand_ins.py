"""A Python function that stands in for a kernel and raises: its task fails once, with its exception as the cause."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel

URLS = ("fake://ascend910b3", "fake-abi://ascend950", "fake://ascend950?free_run=1")


class Machine:
    """A kernel whose function raises what it is told, and counts its calls."""

    def __init__(self, url: str) -> None:
        self.runtime = Runtime(url)
        self.device: Device = self.runtime.device(0)
        self.kernel: Kernel = self.device.load(minimal_kernel("add_custom", arguments=1)).only
        self.calls = 0
        self.error: BaseException | None = None
        self.buffer = self.device.alloc(64)

    def attach(self, function: Callable[[Any], Any]) -> None:
        self.device.hal.fake.attach(self.kernel.code, function)

    def stand_in(self, _context: Any) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


@pytest.fixture(params=URLS)
def machine(request: pytest.FixtureRequest):
    machine = Machine(request.param)
    yield machine
    machine.runtime.close(force=True)


def test_a_mistake_is_the_cause_of_one_failure_of_its_stream(machine: Machine) -> None:
    machine.attach(machine.stand_in)
    machine.error = ValueError("no such tile")
    stream, other = machine.device.create_stream(), machine.device.create_stream()
    machine.kernel[1](machine.buffer, stream=stream)
    other.fill(machine.buffer, 1)
    other.synchronize(10_000)  # nothing of it reaches another stream
    with pytest.raises(errors.KernelFault, match="ValueError: no such tile") as caught:
        stream.synchronize(10_000)
    assert caught.value.__cause__ is machine.error
    assert "in stand_in" in "".join(traceback.format_exception(caught.value))
    stream.synchronize(10_000)
    other.synchronize(10_000)
    assert machine.calls == 1
    machine.error = None
    machine.kernel[1](machine.buffer, stream=stream)  # and the stream goes on
    stream.synchronize(10_000)
    assert machine.calls == 2


def test_a_function_that_waits_may_fail_later(machine: Machine) -> None:
    def waits(_context: Any) -> Any:
        yield
        raise LookupError("later")

    machine.attach(waits)
    stream = machine.device.create_stream()
    machine.kernel[1](machine.buffer, stream=stream)
    with pytest.raises(errors.KernelFault) as caught:
        stream.synchronize(10_000)
    assert isinstance(caught.value.__cause__, LookupError)
    stream.synchronize(10_000)


@pytest.mark.parametrize("error", [SystemExit(7), KeyboardInterrupt(), pytest.fail.Exception("a verdict")])
def test_what_ends_more_than_a_function_neither_ends_the_card_nor_hangs(machine: Machine, error: BaseException) -> None:
    machine.attach(machine.stand_in)
    machine.error = error
    stream = machine.device.create_stream()

    def launch() -> None:
        machine.kernel[1](machine.buffer, stream=stream)
        stream.synchronize(10_000)

    with pytest.raises((type(error), errors.KernelFault)) as caught:
        launch()
    assert error in (caught.value, caught.value.__cause__)
    machine.error = None
    for _ in range(2):
        machine.kernel[1](machine.buffer, stream=machine.device.default_stream)
        machine.device.default_stream.synchronize(10_000)
    assert machine.calls == 3  # it was not run again


def test_a_kernel_without_a_function_says_so(machine: Machine) -> None:
    machine.kernel[1](machine.buffer)
    with pytest.raises(errors.KernelFault, match=r"kernel add_custom .* no function is attached for it") as caught:
        machine.device.synchronize(10_000)
    assert "hal.fake.attach(kernel.code, function)" in caught.value.hint
    assert "kernels=noop" in caught.value.hint
    assert "tiling" not in str(caught.value)


@pytest.mark.parametrize("use", [tuple, lambda args: args[:2], lambda args: args[-1]])
def test_arguments_are_asked_for_by_number(machine: Machine, use: Callable[[Any], object]) -> None:
    machine.attach(lambda context: use(context.args))
    machine.kernel[1](machine.buffer)
    with pytest.raises(errors.KernelFault, match=r"does not know how many slots.*context\.args\[0\]"):
        machine.device.synchronize(30_000)


def test_a_graph_names_the_mistake_too(machine: Machine) -> None:
    machine.attach(machine.stand_in)
    stream = machine.device.create_stream()
    with stream.capture() as graph:
        machine.kernel[1](machine.buffer, stream=stream)
    machine.error = ValueError("inside of a graph")
    graph.launch(stream)
    with pytest.raises(errors.RuntimeFault, match="inside of a graph") as caught:
        stream.synchronize(10_000)
    assert caught.value.__cause__ is machine.error
    machine.error = None
    graph.launch(stream)
    stream.synchronize(10_000)
