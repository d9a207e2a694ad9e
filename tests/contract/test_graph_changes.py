"""Graphs as data: what they list, cost and look like, and how their tasks are changed."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, GraphBuilder, Kernel, Runtime
from runtime.feature import graph
from runtime.feature.graph import Graph, GraphState, NodeKind
from runtime.trace import tracing

BOTH_QUEUES = True
MakeKernel = Callable[..., Kernel]


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip that can capture."""
    if not device.chip.has("MODEL_ACL_GRAPH"):
        pytest.skip(f"{device.chip.soc} cannot capture streams")
    return device


@pytest.fixture
def changing(device: Device) -> Device:
    """A device whose graphs hold their tasks where they can be changed."""
    if not holds_mapped(device):
        pytest.skip("hardware queues of graphs are not mapped here")
    return device


def holds_mapped(device: Device) -> bool:
    """Whether graphs have their tasks in memory of their own, or in hardware queues that the host can write."""
    with device.create_stream() as stream, stream.capture() as made:
        pass
    mapped = made.software or device.chip.generation == "v100" or bool(made.streams[0].queues.ring_base)
    made.close()
    return mapped


@pytest.fixture
def log() -> list[int]:
    """What the kernel `note` was launched with."""
    return []


@pytest.fixture
def note(make_kernel: MakeKernel, log: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    return make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)


def forked(device: Device, note: Kernel) -> Graph:
    """Return a graph of two streams: 1, then 2 in the other stream, then 3."""
    first, second = device.create_stream(name="main"), device.create_stream(name="side")
    fork, join = device.create_event(name="fork"), device.create_event(name="join")
    with first.capture(sites=True) as made:
        note[1](1, stream=first)
        second.wait(first.record(fork))
        note[2](2, stream=second)
        first.wait(second.record(join))
        note[1](3, stream=first)
    return made


def run(device: Device, made: Graph, log: list[int]) -> list[int]:
    """Return what one execution notes."""
    log.clear()
    made.launch(device.default_stream)
    device.default_stream.synchronize(30_000)
    return list(log)


def test_nodes_and_edges_say_what_comes_before_what(device: Device, note: Kernel) -> None:
    made = forked(device, note)
    kernels = made.kernels
    assert [node.blocks for node in kernels] == [1, 2, 1]
    assert [node.name for node in kernels] == ["note"] * 3
    assert all(node.site.startswith(f"{__file__}:") for node in kernels)
    assert [node.index for node in made.nodes] == list(range(len(made.nodes)))
    crossing = [(edge.event, edge.source.kind, edge.target.kind) for edge in made.edges if edge.event]
    assert crossing == [("fork", NodeKind.EVENT_RECORD, NodeKind.EVENT_WAIT),
                        ("join", NodeKind.EVENT_RECORD, NodeKind.EVENT_WAIT)]  # fmt: skip
    later = {edge.source.index: edge.target.index for edge in made.edges if not edge.event}
    assert later[kernels[0].index] == kernels[0].index + 1
    made.close()


def test_pictures_name_streams_kernels_and_events(device: Device, note: Kernel) -> None:
    made = forked(device, note)
    text, dot = made.outline(), made.dot()
    for part in ("(main)", "(side)", "note [2]", "event record fork -> ", "event wait join"):
        assert part in text
    assert dot.startswith("digraph")
    assert dot.count("style=dashed") == 2
    assert dot.count("subgraph") == 2
    made.close()


def test_the_debug_form_is_a_trace_in_stream_order(device: Device, note: Kernel) -> None:
    made = forked(device, note)
    events = json.loads(made.debug_json(flags=1))
    assert [event["tid"] for event in events] == sorted((event["tid"] for event in events), reverse=True)
    kernels = [event for event in events if event["name"] == "note"]
    assert [event["args"]["Kernel Args"] for event in kernels] == [f"0x{word:016x}" for word in (2, 1, 3)]
    assert [event["args"]["Numblocks"] for event in kernels] == [2, 1, 1]
    assert all(event["dur"] == 9.5 for event in kernels)
    assert events[0]["ts"] == 0
    made.close()


def test_what_lies_in_a_queue_that_is_not_mapped_cannot_be_changed(device: Device, note: Kernel) -> None:
    if holds_mapped(device):
        pytest.skip("tasks of graphs can be changed here")
    made = forked(device, note)
    with pytest.raises(errors.NotSupported, match="not mapped"):
        made.update(made.kernels[1], enabled=False)
    made.close()


def test_differences_are_nodes_and_arguments(changing: Device, note: Kernel) -> None:
    device = changing
    one, other = forked(device, note), forked(device, note)
    assert one.differences(other) == []
    other.update(other.kernels[1], [20])
    (difference,) = one.differences(other)
    assert (difference.what, difference.before[0].index) == ("other arguments", one.kernels[1].index)
    other.update(other.kernels[0], enabled=False)
    assert [found.what for found in one.differences(other)] == ["differs", "other arguments"]
    one.close()
    other.close()


def test_the_times_of_nodes_come_from_a_log_of_executions(device: Device, note: Kernel, log: list[int]) -> None:
    made = forked(device, note)
    run(device, made, log)
    times = made.times(device.hal.fake.log)
    assert all(len(times[node]) == 1 and times[node][0] > 0 for node in made.kernels)
    made.close()


def test_the_times_of_nodes_come_from_a_trace(machine: Runtime, device: Device, note: Kernel, log: list[int]) -> None:
    made = forked(device, note)
    run(device, made, log)  # what was executed before the trace does not count
    with tracing(runtime=machine) as trace:
        for _ in range(3):
            run(device, made, log)
    times = made.times(trace)
    assert {node: len(found) for node, found in times.items()} == dict.fromkeys(made.nodes, 3)
    whole = made.times(device.hal.fake.log)
    assert times == made.times(trace.result) == {node: whole[node][-3:] for node in made.nodes}
    made.close()


def test_a_dry_run_counts_what_a_capture_takes(device: Device, note: Kernel) -> None:
    stream, event = device.create_stream(), device.create_event()

    def work() -> None:
        for number in range(5):
            note[1](number, stream=stream)
        stream.record(event)

    with stream.capture(dry_run=True) as plan:
        work()
    note[1](7, stream=stream)
    stream.synchronize(30_000)
    with stream.capture() as made:
        work()
        assert made.cost == plan.cost
    assert (plan.cost.streams, plan.cost.models, plan.cost.notifies) == (1, 1, 1)
    made.close()


def test_a_dry_run_refuses_what_needs_a_graph(device: Device) -> None:
    stream, event = device.create_stream(), device.create_event()
    with stream.capture(dry_run=True):
        for call in (
            lambda: graph.begin_group(stream), lambda: graph.end(stream), lambda: stream.record_external(event)
        ):  # fmt: skip
            with pytest.raises(errors.NotSupported, match="in a dry run"):
                call()
        assert graph.status(stream) == (graph.CaptureStatus.NONE, None)
    with stream.capture() as made:
        stream.record(event)
    made.close()


def test_a_task_group_takes_other_parameters(changing: Device, note: Kernel, log: list[int]) -> None:
    device = changing
    stream, updater = device.create_stream(), device.create_stream()
    with stream.capture() as made:
        note[1](0, stream=stream)
        with stream.task_group() as group:
            note[1](1, stream=stream)
            note[1](2, stream=stream)
    assert run(device, made, log) == [0, 1, 2]
    for number in (10, 20):
        with updater.update(group):
            note[1](number, stream=updater)
            note[1](number + 1, stream=updater)
        updater.synchronize(30_000)
        assert run(device, made, log) == [0, number, number + 1]
    note[1](5, stream=updater)
    updater.synchronize(30_000)
    assert log[-1] == 5
    made.close()


def test_an_update_has_as_many_kernels_as_its_group(changing: Device, note: Kernel) -> None:
    device = changing
    stream, updater = device.create_stream(), device.create_stream()
    with stream.capture() as made, stream.task_group() as group:
        note[1](1, stream=stream)
    graph.begin_update(updater, group)
    with pytest.raises(errors.InternalError) as raised:
        graph.end_update(updater)
    assert raised.value.code == 507000
    graph.begin_update(updater, group)
    with pytest.raises(errors.CaptureError) as raised:
        graph.begin_update(stream, group)
    assert raised.value.code == 107033
    note[1](2, stream=updater)
    with pytest.raises(errors.InternalError) as raised:
        note[1](3, stream=updater)
    assert raised.value.code == 507000
    with pytest.raises(errors.RuntimeFault) as raised:
        updater.record(device.create_event())
    assert raised.value.code == 507009
    graph.end_update(updater)
    updater.synchronize(30_000)
    made.close()


def test_a_task_between_the_parts_of_a_group_spoils_the_capture(device: Device, note: Kernel) -> None:
    first, second, fork = device.create_stream(), device.create_stream(), device.create_event()
    graph.begin(first)
    second.wait(first.record(fork))
    graph.begin_group(first)
    with pytest.raises(errors.CaptureError) as raised:
        note[1](1, stream=second)
    assert raised.value.code == 107034
    with pytest.raises(errors.CaptureError) as raised:
        graph.end_group(first)
    assert raised.value.code == 107034
    with pytest.raises(errors.RuntimeFault) as ended:
        graph.end(first)
    assert ended.value.code == 507903


def test_single_nodes_change_with_an_update(changing: Device, note: Kernel, log: list[int]) -> None:
    device = changing
    made = forked(device, note)
    first, second, third = made.kernels
    made.update(first, [10])
    assert run(device, made, log) == [10, 2, 3]
    made.update(second, blocks=1)
    assert second.blocks == 1
    made.update(third, enabled=False)
    assert run(device, made, log) == [10, 2]
    made.update(third, enabled=True)
    made.update(third, [30])
    assert run(device, made, log) == [10, 2, 30]
    made.close()


def test_a_change_that_fails_makes_the_graph_unusable(device: Device, note: Kernel, make_kernel: MakeKernel) -> None:
    made = forked(device, note)
    with pytest.raises(errors.InvalidArgument):
        made.update(made.nodes[1], [1])
    with pytest.raises(errors.InvalidArgument):
        made.update(made.kernels[0], ["text"])
    assert made.state is GraphState.READY
    made.kernels[0].count = 0
    with pytest.raises(errors.InvalidArgument):
        made.update(made.kernels[0], [1], blocks=2)
    assert made.state is GraphState.FAULT
    with pytest.raises(errors.RuntimeFault) as raised:
        made.launch(device.default_stream)
    assert raised.value.code == 507011
    with pytest.raises(errors.RuntimeFault) as raised:
        made.update(made.kernels[1], [1])
    assert raised.value.code == 107040
    made.close()


def test_steps_become_a_graph_in_the_order_that_they_ask_for(device: Device, note: Kernel, log: list[int]) -> None:
    builder = GraphBuilder(device)
    one, two = builder.kernel(note, 1, 1), builder.kernel(note, 1, 2)
    three = builder.kernel(note, 1, 3, after=[one, two])
    four = builder.kernel(note, 1, 4, after=[one])
    builder.kernel(note, 1, 5, after=[three, four])
    made = builder.instantiate()
    for _ in range(2):
        noted = run(device, made, log)
        assert sorted(noted) == [1, 2, 3, 4, 5]
        assert noted[-1] == 5
        assert noted.index(3) > max(noted.index(1), noted.index(2))
        assert noted.index(4) > noted.index(1)
    made.close()
    one.after.append(four)
    with pytest.raises(errors.InvalidArgument) as raised:
        builder.instantiate()
    assert "wait for each other" in str(raised.value)


# -- arguments of all kernels, in place --------------------------------------------------------------------------------


def test_arguments_are_replaced_for_all_kernels_at_once(device: Device, make_kernel: MakeKernel) -> None:
    log: list[list[int]] = []
    note = make_kernel("note", lambda context: log.append([context.args[slot] for slot in range(3)]), 3, grid=True)
    stream, count = device.create_stream(), 200  # in several pieces of the graph's memory
    with stream.capture() as made:
        for number in range(count):
            note[1](number, number + 1, number + 2, stream=stream)

    def run() -> list[list[int]]:
        log.clear()
        made.execute(stream)
        stream.synchronize(30_000)
        return list(log)

    assert run() == [[number, number + 1, number + 2] for number in range(count)]
    table = np.arange(3 * count, dtype=np.uint64).reshape(count, 3) + np.uint64(1 << 40)
    made.update_arguments(table)
    assert run() == table.tolist()
    made.update_arguments(table[:, :1] * np.uint64(2), first=1)
    table[:, 1] = table[:, 0] * np.uint64(2)
    assert run() == table.tolist()
    node = made.kernels[7]
    made.update(node, args=(-1, np.uint32(5), b"abc"))
    assert run()[7] == [(1 << 64) - 1, 5, int.from_bytes(b"abc", "little")]
    for shape in ((count - 1, 3), (count, 4), (count,)):
        with pytest.raises(errors.InvalidArgument):
            made.update_arguments(np.zeros(shape, np.uint64))
    with pytest.raises(errors.InvalidArgument):
        made.update_arguments(table, first=1)
    made.close()


def test_arguments_are_not_replaced_while_they_may_be_read(device: Device, make_kernel: MakeKernel) -> None:
    note = make_kernel("note", lambda context: None, 1, grid=True)
    stream = device.create_stream()
    with stream.capture() as made:
        note[1](1, stream=stream)
    device.hal.fake.device(device.device_id).hold(stream.stream_id)
    made.execute(stream)
    for change in (lambda: made.repoint([[2]]), lambda: made.update(made.kernels[0], args=(2,))):
        with pytest.raises(errors.ModelError) as raised:
            change()
        assert raised.value.code == 107040
    device.hal.fake.device(device.device_id).release(stream.stream_id)
    stream.synchronize(30_000)
    made.update_arguments([[2]])
    made.close()


def test_arguments_in_memory_of_the_caller_are_not_the_graphs_to_replace(
    device: Device, make_kernel: MakeKernel
) -> None:
    note = make_kernel("note", lambda context: None, 1, grid=True)
    stream, own = device.create_stream(), device.alloc(64)
    with stream.capture() as made:
        note.bind_device_arguments(stream, 1)(own.address)
    with pytest.raises(errors.InvalidArgument, match="does not hold the arguments"):
        made.update_arguments([[2]])
    made.close()
