"""Queues, streams and notifies run out while the process holds some that it does not need."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.sq_pool import RESERVE, SpareQueue
from tests.contract.holdings import holdings

Open = Callable[[str], Device]
CHIPS = ("ascend910b3", "ascend950")


@pytest.fixture(params=CHIPS)
def open_device(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open a device of one chip with URL options."""
    opened: list[Runtime] = []

    def start(options: str) -> Device:
        opened.append(Runtime(f"fake://{request.param}?{options}"))
        return opened[-1].device(0)

    yield start
    for machine in opened:
        machine.close(force=True)


def capture(device: Device, branches: int) -> Any:
    """Return a graph of so many streams, which were closed."""
    streams = [device.create_stream() for _ in range(branches)]
    first = streams[0]
    with first.capture() as graph:
        for other in streams[1:]:
            other.wait(first.record(device.create_event()))
            first.wait(other.record(device.create_event()))
    for stream in streams:
        stream.close()
    return graph


def fail_to_capture(device: Device, branches: int) -> None:
    streams = [device.create_stream() for _ in range(branches)]

    def fail() -> None:
        with streams[0].capture():
            for other in streams[1:]:
                other.wait(streams[0].record(device.create_event()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for stream in streams:
        stream.close()


def fill(create: Callable[[], Any]) -> tuple[list[Any], errors.RuntimeFault]:
    """Create until no more is to be had; returns what was made, and the fault."""
    made: list[Any] = []
    while len(made) < 1000:
        try:
            made.append(create())
        except errors.ResourceExhausted as fault:
            return made, fault
    raise AssertionError("there is no end")


@pytest.mark.parametrize("waste", [fail_to_capture, lambda device, count: capture(device, count).close()],
                         ids=["failed captures", "closed graphs"])  # fmt: skip
def test_queues_of_captures_that_failed_and_graphs_that_are_gone_are_streams_again(
    open_device: Open, waste: Callable[[Device, int], None]
) -> None:
    device = open_device("sqs=24")
    most = len(fill(device.create_stream)[0])
    for stream in device.context.streams:
        stream.close()
    for _ in range(3):
        waste(device, 5)
    assert device.sq_pool.spare <= RESERVE
    assert len(fill(device.create_stream)[0]) == most


@pytest.mark.parametrize("flags", [StreamFlag.DEFAULT, StreamFlag.PERSISTENT])
def test_an_idle_graph_gives_its_queues_up_and_is_executed_again(open_device: Open, flags: StreamFlag) -> None:
    device = open_device("sqs=24")
    graph, runner = capture(device, 6), device.create_stream()
    for _ in range(2):
        graph.launch(runner)
        runner.synchronize()
        made, _ = fill(lambda: device.create_stream(flags=flags))
        while made:
            made.pop().close()


def test_a_graph_that_is_executed_keeps_its_queues(open_device: Open) -> None:
    device = open_device("sqs=24")
    card = device.hal.fake.device(device.device_id)
    graph, runner = capture(device, 4), device.create_stream()
    card.hold(runner.stream_id)
    graph.launch(runner)
    made, _ = fill(device.create_stream)
    card.release(runner.stream_id)
    runner.synchronize(30_000)
    for stream in made:
        stream.close()
    graph.launch(runner)
    runner.synchronize(30_000)


def test_six_threads_find_the_queues_that_lie_in_the_own_pool(open_device: Open) -> None:
    device = open_device("sqs=40")
    if not device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE"):
        pytest.skip("graphs have queues of their own")
    taken: list[SpareQueue] = []
    device.sq_pool.take(24, taken)
    device.sq_pool.give_back(taken)
    free = 40 - device.ids.usage("SQ")[1]
    wanted, made, failed = free + 20, list[Any](), list[errors.RuntimeFault]()

    def create(count: int) -> None:
        try:
            made.extend([device.create_stream() for _ in range(count)])
        except errors.RuntimeFault as fault:
            failed.append(fault)

    threads = [threading.Thread(target=create, args=(wanted // 6,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
    assert len(made) == wanted // 6 * 6


def test_notifies_that_idle_graphs_end_with_are_given_up(open_device: Open) -> None:
    device = open_device("notifys=24")
    if not device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE"):
        pytest.skip("graphs have queues of their own")
    graph, runner = capture(device, 1), device.create_stream()
    graph.launch(runner)
    runner.synchronize()
    made, _ = fill(device.create_notify)
    assert graph.end_notify is None
    made.pop().close()
    graph.launch(runner)
    runner.synchronize()


def test_dropped_streams_are_given_back(open_device: Open) -> None:
    device = open_device("sqs=24")
    before = holdings(device.hal.fake)
    for _ in range(60):
        device.create_stream()  # 24 at most are there at a time
    gc.collect()
    device.default_stream.synchronize()
    assert holdings(device.hal.fake) == before


def test_a_dropped_stream_finishes_its_work(open_device: Open) -> None:
    device = open_device("")
    buffer, source = device.alloc(64), device.alloc_host(64)
    source.numpy()[:] = 7
    stream = device.create_stream()
    card = device.hal.fake.device(device.device_id)
    card.hold(number := stream.stream_id)
    stream.copy(buffer, source)
    del stream
    gc.collect()
    device.default_stream.synchronize()
    assert len(device.context.dropped) == 1
    with pytest.raises(errors.Timeout):
        device.synchronize(20)
    card.release(number)
    device.synchronize()
    assert bytes(device.download(buffer)) == bytes([7]) * 64
    device.default_stream.synchronize()
    assert not device.context.dropped


def test_streams_that_only_a_handle_is_known_of_stay(open_device: Open) -> None:
    from tests.reports.calls import Caller

    device = open_device("")
    api = Caller(device.hal.url)
    assert api.aclrtSetDevice(deviceId=0) == 0
    handle = api.make("aclrtCreateStream", "stream")
    gc.collect()
    assert api.aclrtSynchronizeStream(stream=handle) == 0
    assert api.aclrtDestroyStream(stream=handle) == 0
    api.acl.close()


def test_dropped_memory_is_given_back_by_waits_and_reports(open_device: Open) -> None:
    device = open_device("")
    stream = device.create_stream()
    free, size = device.memory_info()[0], 64 << 20
    looks = (stream.synchronize, device.synchronize, device.memory_info, device.memory_report, device.create_stream)
    for look in looks:
        buffer = device.alloc(size)
        del buffer
        gc.collect()
        kept = look()
        assert free - device.memory.space()[0] < size, look
        del kept
