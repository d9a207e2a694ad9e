"""Graphs and the queues they run on: hardware queues of their own, or software SQs that are lent some."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.core.stream.stream import Stream
from runtime.feature import graph
from runtime.feature.graph import Graph
from tests.contract.holdings import holdings

MakeKernel = Callable[..., Kernel]


@pytest.fixture(params=["1", "0"], ids=["software", "hardware"])
def machine(request: pytest.FixtureRequest, url: str, generation: str) -> Iterator[Runtime]:
    """A machine with few queues, whose driver can bind them to memory of streams, or not."""
    if generation not in ("v100", "v200") or "310b" in url:
        pytest.skip("the chip has no captured graphs with software SQs")
    if not url.startswith("fake"):
        pytest.skip("the driver is what it is")
    runtime = Runtime(f"{url}&swsq={request.param}&sqs=16")
    yield runtime
    runtime.close(force=True)


def ids_in_use(device: Device) -> dict[str, object]:
    """What the card says is taken, but for memory, which pools keep."""
    held = holdings(device.hal.fake, device.device_id)
    return {"queues": held["queues"], "logic": held["logic"], "ids": held["ids"]}


def captured(stream: Stream, note: Kernel, *numbers: int) -> Graph:
    """Capture one kernel per number."""
    graph.begin(stream)
    for number in numbers:
        note[1](number, stream=stream)
    return graph.end(stream)


def test_executions_on_two_streams_take_turns(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    first, second = device.create_stream(), device.create_stream()
    made = captured(first, note, 1, 2, 3)
    for _ in range(4):
        made.execute(first)
        made.execute(second)
    first.synchronize(30_000)
    second.synchronize(30_000)
    assert log == [1, 2, 3] * 8
    made.close()


def test_more_graphs_than_queues_lend_each_other_theirs(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    stream = device.create_stream()
    before = ids_in_use(device)
    graphs = [captured(stream, note, 0, 0)]
    while len(graphs) < (20 if graphs[0].software else 5):  # there are fewer than 16 queues, see below
        graphs.append(captured(stream, note, len(graphs), len(graphs)))
    assert device.sq_pool.size < 16
    order = [*range(len(graphs)), *reversed(range(len(graphs)))]
    for number in order:
        graphs[number].execute(stream)
        stream.synchronize(30_000)
    assert log == [number for number in order for _ in range(2)]
    for made in graphs:
        made.close()
    device.sq_pool.close()
    assert ids_in_use(device) == before


def test_a_graph_that_needs_more_queues_than_there_are_is_refused(device: Device, make_kernel: MakeKernel) -> None:
    note = make_kernel("note", lambda context: None, 1, grid=True)
    stream = device.create_stream()
    held = [device.create_stream() for _ in range(device.ids.usage("SQ")[0] - device.ids.usage("SQ")[1])]
    device.sq_pool.close()
    try:
        made = captured(stream, note, 1)
    except errors.ResourceExhausted:
        return  # with hardware queues the capture itself finds none
    with pytest.raises(errors.ResourceExhausted) as raised:
        made.execute(stream)
    assert raised.value.code == 207005
    held.pop().close()
    made.execute(stream)
    stream.synchronize(30_000)
    made.close()


def test_closing_waits_for_executions_and_tells_who_asked(device: Device, make_kernel: MakeKernel) -> None:
    log: list[object] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    stream = device.create_stream()
    made = captured(stream, note, 7)
    made.watchers["end"] = lambda: log.append("closed")
    made.execute(stream)
    made.close()
    assert log == [7, "closed"]
    with pytest.raises(errors.InvalidHandle):
        made.execute(stream)
    stream.synchronize(30_000)


def test_a_failure_in_a_graph_is_told_where_it_was_executed(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    stream, runner = device.create_stream(), device.create_stream()
    made = captured(stream, note, 1, 2, 3)
    inner = made.streams[0].stream_id
    device.hal.fake.faults.on_task(Effect.EXCEPTION, 2, device=device.device_id, stream=inner)
    made.execute(runner)
    told = f"node 1 of graph .* failed on stream {runner.stream_id} "
    with pytest.raises(errors.RuntimeFault, match=told):
        runner.synchronize(30_000)
    assert log == [1]
    stream.synchronize(30_000)
    made.close(force=True)
