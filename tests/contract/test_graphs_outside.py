"""Graphs that record events for streams outside of them, and wait for records from there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from runtime.feature import graph
from runtime.feature.graph import Condition, ConditionKind, Handle, NodeKind
from tests.contract.holdings import holdings

MakeKernel = Callable[..., Kernel]


@pytest.fixture
def device(machine: Runtime, url: str, generation: str) -> Device:
    """A device whose graphs have software SQs."""
    if generation not in ("v100", "v200") or "310b" in url:
        pytest.skip("graphs of the chip have hardware queues")
    return machine.device(0)


@pytest.fixture
def log() -> list[int]:
    """What the kernel `note` was launched with."""
    return []


@pytest.fixture
def note(make_kernel: MakeKernel, log: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    return make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)


def code_of(call: Callable[..., object], *arguments: object) -> int:
    """Return the code that a call fails with."""
    with pytest.raises(errors.RuntimeFault) as raised:
        call(*arguments)
    return raised.value.code


def test_each_execution_waits_for_the_record_that_is_newest_then(device: Device, note: Kernel, log: list[int]) -> None:
    inner, outer, event = device.create_stream(), device.create_stream(), device.create_event(name="ready")
    with inner.capture() as made:
        inner.wait_external(event)
        note[1](0, stream=inner)
    made.launch(inner)  # nothing was recorded, so that it waits for nothing
    inner.synchronize(30_000)
    for number in range(1, 4):
        note[1](number, stream=outer)
        outer.record(event)
        made.launch(inner)
    inner.synchronize(30_000)
    outer.synchronize(30_000)
    assert [log.index(number) for number in (1, 2, 3)] == sorted(log.index(number) for number in (1, 2, 3))
    zeros = [place for place, number in enumerate(log) if not number]
    assert len(zeros) == 4
    assert all(log.index(number) < zeros[number] for number in (1, 2, 3))
    (wait,) = [node for node in made.nodes if node.kind is NodeKind.EVENT_WAIT]
    assert wait.event is not None
    assert wait.event.external
    made.close()


def test_a_graph_waits_for_a_record_from_before_its_capture(device: Device, note: Kernel, log: list[int]) -> None:
    inner, outer, event = device.create_stream(), device.create_stream(), device.create_event()
    note[1](1, stream=outer)
    outer.record(event)
    with inner.capture() as made:
        inner.wait_external(event)
        note[1](0, stream=inner)
    made.launch(inner)
    inner.synchronize(30_000)
    assert log == [1, 0]
    note[1](2, stream=outer)
    outer.record(event)
    made.launch(inner)
    inner.synchronize(30_000)
    assert log == [1, 0, 2, 0]
    assert code_of(outer.wait, event) == 107000
    made.close()
    event.close()


def test_each_execution_records_for_streams_and_the_host(device: Device, note: Kernel, log: list[int]) -> None:
    inner, outer, event = device.create_stream(), device.create_stream(), device.create_event()
    with inner.capture() as made:
        note[1](1, stream=inner)
        inner.record_external(event)
    for _ in range(3):
        made.launch(inner)
        outer.wait(event)
        note[1](2, stream=outer)
        event.synchronize(30_000)
        assert event.query()
        outer.synchronize(30_000)
    assert log == [1, 2] * 3
    made.close()


def test_executions_in_several_streams_keep_their_own_records_apart(
    device: Device, note: Kernel, log: list[int]
) -> None:
    """The table of an execution is not overwritten by the next one in another stream."""
    first, second, outer = (device.create_stream() for _ in range(3))
    gate, passed = device.create_event(), device.create_event()
    with first.capture() as made:
        first.wait_external(gate)
        note[1](1, stream=first)
        first.record_external(passed)
    for stream in (first, second, first, second):
        outer.record(gate)
        made.launch(stream)
        outer.wait(passed)
        note[1](2, stream=outer)
    for stream in (first, second, outer):
        stream.synchronize(30_000)
    assert log == [1, 2] * 4
    made.close()


def test_many_events_pass_through_one_table(device: Device, note: Kernel, log: list[int]) -> None:
    inner, outer = device.create_stream(), device.create_stream()
    events = [device.create_event() for _ in range(24)]
    with inner.capture() as made:
        for event in events[:4]:
            inner.wait_external(event)
        note[1](1, stream=inner)
        for event in events[4:]:
            inner.record_external(event)
    for event in events[:4]:
        outer.record(event)
    made.launch(inner)
    for event in events[4:]:
        outer.wait(event)
    note[1](2, stream=outer)
    outer.synchronize(30_000)
    assert log == [1, 2]
    made.close()


def test_events_of_the_kind_external_keep_their_byte(device: Device, note: Kernel, log: list[int]) -> None:
    inner, outer = device.create_stream(), device.create_stream()
    gate, passed = (Event(device, EventFlag.EXTERNAL, renewed=False) for _ in range(2))
    with inner.capture() as made:
        inner.wait(gate)
        gate.reset(inner)
        note[1](1, stream=inner)
        inner.record(passed)
    for _ in range(2):
        made.launch(inner)
        outer.record(gate)
        outer.wait(passed)
        passed.reset(outer)
        note[1](2, stream=outer)
        outer.synchronize(30_000)
    assert log == [1, 2] * 2
    made.close()


def test_nothing_is_left_over(device: Device, note: Kernel) -> None:
    stream = device.create_stream()

    def use() -> None:
        with device.create_event() as gate, device.create_event() as passed:
            with stream.capture() as made:
                stream.wait_external(gate)
                note[1](1, stream=stream)
                stream.record_external(passed)
            for _ in range(2):
                made.launch(stream)
            stream.synchronize(30_000)
            made.close()

    use()
    device.sq_pool.close()
    before = holdings(device.hal.fake, device.device_id)
    use()
    device.sq_pool.close()
    after = holdings(device.hal.fake, device.device_id)
    assert after["ids"] == before["ids"]
    assert sum(size for _, size in after["memory"]) == sum(size for _, size in before["memory"])


def test_what_is_refused_leaves_the_capture_as_it_was(device: Device, note: Kernel, log: list[int]) -> None:
    stream, outer, event = device.create_stream(), device.create_stream(), device.create_event()
    assert code_of(stream.record_external, event) == 107029
    assert code_of(stream.wait_external, event) == 107029
    used = outer.record(device.create_event())
    timed, plain = device.create_event(timing=True), Event(device, EventFlag.SYNC, renewed=False)
    with stream.capture() as made:
        stream.wait_external(event)
        assert code_of(stream.wait_external, event) == 107000
        assert code_of(stream.record_external, event) == 107000
        assert code_of(stream.record_external, used) == 107000
        assert code_of(stream.record_external, timed) == 207000
        assert code_of(stream.wait_external, plain) == 207000
        note[1](1, stream=stream)
    assert code_of(outer.wait, event) == 107000
    outer.record(event)
    made.launch(stream)
    stream.synchronize(30_000)
    assert log == [1]
    event.close()
    with pytest.raises(errors.InvalidHandle):
        made.launch(stream)
    made.close()


def test_branches_of_conditional_nodes_have_none(device: Device, note: Kernel) -> None:
    stream, other, event = device.create_stream(), device.create_stream(), device.create_event()
    made = graph.begin(stream)
    try:
        handle = Handle(made, 1, assigned=True)
    except errors.NotSupported:
        made.close(force=True)
        pytest.skip("the chip has no conditional nodes")
    node = Condition(stream, handle, ConditionKind.IF, 1)
    graph.begin(other, into=node.branches[0])
    assert code_of(other.record_external, event) == 207000
    note[1](1, stream=other)
    graph.end(other)
    graph.end(stream)
    made.close()


def test_an_execution_that_cannot_be_queued_changes_no_event(device: Device, note: Kernel) -> None:
    inner, event = device.create_stream(), device.create_event()
    with inner.capture() as made:
        note[1](1, stream=inner)
        inner.record_external(event)
    made.launch(inner)
    inner.synchronize(30_000)
    newest = event.signal
    broken = device.create_stream()
    broken.close()
    with pytest.raises(errors.RuntimeFault):
        made.launch(broken)
    assert event.signal is newest
    made.close()
