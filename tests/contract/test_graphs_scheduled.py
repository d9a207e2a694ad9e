"""Models that the AICPU schedules: loaded, executed, aborted and forgotten by messages to its scheduler."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from chips.binary import LoadOptions
from chips.programs.stream import Condition
from chips.tasks import Nop
from fakes.kernels import Fail
from runtime import errors
from runtime.api import Device, Kernel
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.feature.graph import Model
from runtime.feature.graph.model.links import activate, switch
from runtime.launch.aicpu.cpu import CpuKernel
from runtime.launch.block import HostBlock
from runtime.launch.program import Program

BOTH_QUEUES = True
MakeKernel = Callable[..., Kernel]
Launch = Callable[[int, Stream], None]
_LIBRARY = "libscheduled.so"


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip whose AICPU executes models."""
    if device.chip.generation not in ("v100", "v200", "v201"):
        pytest.skip(f"models of {device.chip.soc} are not covered")
    return device


@pytest.fixture
def log() -> list[int]:
    return []


@pytest.fixture
def cpu(device: Device, log: list[int], tmp_path: Path) -> CpuKernel:
    """A kernel of the AICPU that notes the number it gets; a negative one makes it fail."""

    def note(context: object) -> None:
        (value,) = struct.unpack("<q", context.args.bytes(0, 8))  # type: ignore[attr-defined]
        if value < 0:
            raise Fail("asked for")
        log.append(value)

    path = tmp_path / "libscheduled.json"
    path.write_text(json.dumps({"Note": {"opInfo": {"functionName": "Note", "kernelSo": _LIBRARY}}}))
    device.hal.fake.attach_aicpu(_LIBRARY, "Note", note)
    return Program(device, path, options=LoadOptions(cpu_kernel_mode=0)).cpu_kernel("Note")


@pytest.fixture
def launch(cpu: CpuKernel) -> Launch:
    return lambda value, stream: cpu.launch_block(stream, 1, HostBlock(struct.pack("<q", value)))


def hosted(device: Device) -> Stream:
    """Return a stream that the AICPU schedules."""
    stream: Stream = device.create_stream(flags=StreamFlag.CPU_SCHEDULE)
    return stream


def test_the_aicpu_walks_through_its_streams_at_each_execution(device: Device, launch: Launch, log: list[int]) -> None:
    model, first, second = Model(device.context), hosted(device), hosted(device)
    model.bind(first)
    model.bind(second, head=False)
    for value in (1, 2):
        launch(value, first)
    launch(3, second)
    model.end(first)
    model.load()
    assert log == []
    runner = device.create_stream()
    for _ in range(2):
        model.execute_now(5000)
        model.execute(runner)
    runner.synchronize(30_000)
    assert sorted(log) == [1] * 4 + [2] * 4 + [3] * 4
    assert [value for value in log if value < 3] == [1, 2] * 4  # a stream keeps its order
    assert model.running == 0
    model.close()
    assert not device.hal.fake.devices[0].models.scheduled
    assert first.bound is None
    first.close()


def test_it_starts_a_stream_of_the_task_scheduler_that_ends_the_model(
    device: Device, launch: Launch, make_kernel: MakeKernel, log: list[int]
) -> None:
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    model, first, kept = Model(device.context), hosted(device), device.create_stream(flags=StreamFlag.PERSISTENT)
    model.bind(first)
    model.bind(kept, head=False)
    launch(1, first)
    activate(first, kept)
    note[1](2, stream=kept)
    model.end(kept)
    model.load()
    for _ in range(3):
        model.execute_now(5000)
    assert log == [1, 2] * 3
    model.close()


def test_a_failing_kernel_fails_the_execution_only(device: Device, launch: Launch, log: list[int]) -> None:
    model, stream = Model(device.context), hosted(device)
    model.bind(stream)
    launch(1, stream)
    launch(-1, stream)
    model.end(stream)
    model.load()
    runner = device.create_stream()
    for _ in range(2):
        model.execute(runner)
        with pytest.raises(errors.DeviceFault) as caught:
            runner.synchronize(30_000)
        assert caught.value.code == 507020
    assert log == [1, 1]
    model.close()


def test_what_the_scheduler_cannot_work_with_is_refused(device: Device, launch: Launch) -> None:
    model, first, second = Model(device.context), hosted(device), hosted(device)
    with pytest.raises(errors.RuntimeFault, match="bound to no model"):
        launch(1, first)
    model.bind(first)
    launch(1, first)
    with pytest.raises(errors.RuntimeFault, match="has no end"):
        model.load()
    model.end(first)
    with pytest.raises(errors.RuntimeFault, match="has an end already"):
        model.end(first)
    with pytest.raises(errors.ModelError, match="was not loaded"):
        model.execute(device.create_stream())
    model.bind(second)
    with pytest.raises(errors.DeviceFault) as caught:  # two of its streams would start with the model
        model.load()
    assert caught.value.code == 507020
    model.unbind(second)
    model.load()
    with pytest.raises(errors.RuntimeFault, match="loaded already"):
        model.load()
    model.execute_now(5000)
    model.close()


def test_only_kernels_of_the_aicpu_go_to_its_streams(device: Device, make_kernel: MakeKernel) -> None:
    model, stream, kept = Model(device.context), hosted(device), device.create_stream(flags=StreamFlag.PERSISTENT)
    model.bind(stream)
    model.bind(kept)
    kernel = make_kernel("core", lambda context: None, 1, grid=True)
    for refused in (lambda: kernel[1](0, stream=stream), lambda: stream.submit(Nop())):
        with pytest.raises(errors.NotSupported, match="but kernels of the AICPU"):
            refused()
    for refused in (lambda: activate(kept, stream), lambda: switch(kept, 0, Condition.EQUAL, 0, stream, wide=False)):
        with pytest.raises(errors.NotSupported):
            refused()
    model.close()


def test_a_model_that_the_task_scheduler_ends_takes_no_such_stream(device: Device) -> None:
    model, kept = Model(device.context), device.create_stream(flags=StreamFlag.PERSISTENT)
    model.bind(kept)
    model.end(kept)
    with pytest.raises(errors.RuntimeFault, match="task scheduler executes"):
        model.bind(hosted(device))
    model.close()


def test_an_execution_is_aborted(device: Device, cpu: CpuKernel, log: list[int]) -> None:
    device.hal.fake.attach_aicpu(_LIBRARY, "Note", _never)
    model, stream = Model(device.context), hosted(device)
    model.bind(stream)
    cpu.launch_block(stream, 1, HostBlock(bytes(8)))
    model.end(stream)
    model.load()
    runner = device.create_stream()
    model.execute(runner)
    device.hal.fake.devices[0].step(10)
    assert model.running == 1
    model.abort()
    with pytest.raises(errors.RuntimeFault) as caught:
        runner.synchronize(30_000)
    assert caught.value.code == 507023
    device.hal.fake.attach_aicpu(_LIBRARY, "Note", lambda context: log.append(7))
    model.execute_now(5000)
    assert log == [7]
    model.close()


def _never(context: object) -> object:
    while True:
        yield
