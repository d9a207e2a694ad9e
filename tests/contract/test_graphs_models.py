"""Models made by hand: streams that start others, switches, labels, aborts, and streams longer than a queue."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from chips.programs.stream import Condition
from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Kernel
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.core.submission.software import SoftwareSink
from runtime.core.sync.label import Label, LabelList
from runtime.feature.graph import Model
from runtime.feature.graph.model.links import activate, switch, switch_label

BOTH_QUEUES = True
MakeKernel = Callable[..., Kernel]


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip whose task scheduler executes models."""
    if device.chip.generation not in ("v100", "v200"):
        pytest.skip(f"models of {device.chip.soc} are not covered")
    return device


@pytest.fixture
def log() -> list[int]:
    return []


@pytest.fixture
def note(make_kernel: MakeKernel, log: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    return make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)


def kept(device: Device) -> Stream:
    """Return a stream that keeps its tasks."""
    stream: Stream = device.create_stream(flags=StreamFlag.PERSISTENT)
    return stream


def bound(device: Device, heads: int, others: int = 0) -> tuple[Model, list[Stream]]:
    """Return a model with streams that start with it, then streams that others start."""
    model, streams = Model(device.context), [kept(device) for _ in range(heads + others)]
    for number, stream in enumerate(streams):
        model.bind(stream, head=number < heads)
    return model, streams


def words(device: Device, *values: int) -> int:
    """Return the address of 64-bit words in device memory."""
    image = struct.pack(f"<{len(values)}q", *values)
    buffer: Any = device.alloc(len(image))
    device.memory.write(buffer.address, image)
    _held.append(buffer)
    return int(buffer.address)


_held: list[Any] = []


@pytest.fixture(autouse=True)
def _let_go() -> Any:
    yield
    _held.clear()


def test_a_stream_starts_another_and_the_model_is_repeated(device: Device, note: Kernel, log: list[int]) -> None:
    model, (first, second) = bound(device, 1, 1)
    note[1](1, stream=first)
    activate(first, second)
    note[1](2, stream=second)
    model.end(second)
    model.load()
    for _ in range(3):
        model.execute_now(5000)
    assert log == [1, 2] * 3
    runner = device.create_stream()
    model.execute(runner)
    runner.synchronize(30_000)
    assert log == [1, 2] * 4
    model.close()
    assert first.bound is None


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("condition", list(Condition))
def test_a_switch_compares_two_values(
    device: Device, note: Kernel, log: list[int], condition: Condition, wide: bool
) -> None:
    holds = {Condition.EQUAL: (5, 5), Condition.NOT_EQUAL: (5, 4), Condition.GREATER: (5, 4),
             Condition.GREATER_OR_EQUAL: (5, 5), Condition.LESS: (-5, 4), Condition.LESS_OR_EQUAL: (5, 5)}  # fmt: skip
    fails = {Condition.EQUAL: (5, 4), Condition.NOT_EQUAL: (5, 5), Condition.GREATER: (4, 4),
             Condition.GREATER_OR_EQUAL: (-5, 4), Condition.LESS: (5, 4), Condition.LESS_OR_EQUAL: (5, 4)}  # fmt: skip
    for (left, right), expected in ((holds[condition], [2]), (fails[condition], [1])):
        log.clear()
        place = words(device, left, right)
        model, (first, second, last) = bound(device, 1, 2)
        switch(first, place, condition, place + 8, second, wide=wide)
        note[1](1, stream=first)
        activate(first, last)
        note[1](2, stream=second)
        activate(second, last)
        model.end(last)
        model.load()
        model.execute_now(5000)
        assert log == expected
        model.close()


def test_a_switch_by_index_goes_on_at_a_label(device: Device, note: Kernel, log: list[int]) -> None:
    model, (stream,) = bound(device, 1)
    labels = [Label(device, device.runtime.label_ids) for _ in range(3)]
    listed, index = LabelList(device, labels), words(device, 1)
    note[1](0, stream=stream)
    switch_label(stream, index, 3, listed)
    for number, label in enumerate(labels):
        label.set(stream)
        note[1](10 + number, stream=stream)
    model.end(stream)
    model.load()
    for value, expected in ((1, [0, 11, 12]), (0, [0, 10, 11, 12]), (2, [0, 12]), (7, [0, 12])):
        log.clear()
        device.memory.write(index, struct.pack("<Q", value))
        model.execute_now(5000)
        assert log == expected
    model.close()
    listed.close()


def test_streams_of_no_model_or_of_two_cannot_start_each_other(device: Device) -> None:
    model, (stream,) = bound(device, 1)
    other, (foreign,) = bound(device, 1)
    plain = device.create_stream()
    for target in (plain, foreign):
        with pytest.raises(errors.RuntimeFault) as raised:
            activate(stream, target)
        assert (raised.value.code, raised.value.message_id) == (107005, "EE1011")
    with pytest.raises(errors.RuntimeFault, match="bound to no model"):
        activate(plain, stream)
    model.close()
    other.close()


def test_an_aborted_execution_ends_with_its_code(device: Device, note: Kernel, log: list[int]) -> None:
    model, (stream,) = bound(device, 1)
    note[1](1, stream=stream)
    model.end(stream)
    model.load()
    runner, card = device.create_stream(), device.hal.fake.device(device.device_id)
    card.hold(stream.stream_id)
    model.execute(runner)
    for _ in range(10):
        card.step(10)
    model.abort()
    with pytest.raises(errors.RuntimeFault) as raised:
        runner.synchronize(30_000)
    assert raised.value.code == 507023
    card.release(stream.stream_id)
    assert log == []
    model.execute(runner)
    runner.synchronize(30_000)
    assert log == [1]
    model.close()


def test_a_stream_goes_on_in_another_when_its_queue_is_full(device: Device, note: Kernel, log: list[int]) -> None:
    model, (stream,) = bound(device, 1)
    if not isinstance(stream.own_sink, SoftwareSink):
        for _ in range(stream.ring.depth - 1):
            stream.submit(Nop())
        with pytest.raises(errors.ResourceExhausted) as raised:
            stream.submit(Nop())
        assert (raised.value.code, raised.value.message_id) == (507002, "EE1019")
        model.close()
        return
    stream.ring.submitted = 32_720  # as if so many were there; they read as entries that do nothing
    entry = stream.plugin.encode(Nop(), stream.env, stream.ring.take(1, 0, None))
    stream.ring.give_back(1)
    for position in range(32_720):
        stream.own_sink.image[position * 64 : position * 64 + 64] = entry
    for number in range(20):
        note[1](number, stream=stream)
    assert len(model.streams) == 2
    model.end(stream)
    model.load()
    runner = device.create_stream()
    model.execute(runner)
    device.hal.fake.run_until_idle()
    runner.synchronize(20_000)
    assert log == list(range(20))
    with pytest.raises(errors.InvalidArgument) as raised_late:
        note[1](9, stream=stream)
    assert (raised_late.value.code, raised_late.value.message_id) == (107000, "EE1016")
    model.close()


def test_a_model_is_executed_before_it_is_loaded_only_synchronously(
    device: Device, note: Kernel, log: list[int]
) -> None:
    model, (stream,) = bound(device, 1)
    note[1](1, stream=stream)
    with pytest.raises(errors.ModelError) as raised:
        model.execute_now(1000)
    assert raised.value.code == 507011
    model.end(stream)
    model.execute_now(5000)
    assert log == [1]
    with pytest.raises(errors.ModelError):
        model.execute(device.create_stream())
    model.load()
    model.execute_now(5000)
    assert log == [1, 1]
    model.close()
