"""Ctrl-C in captures: a task is in the graph or not, and a capture that nobody can end any more is given up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from runtime.api import Device, GraphBuilder, Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.errors.closing import each
from tests.tools.interrupts import Interrupter

MOST_PLACES = 400
PUTTING = ("submission/task_ids.py", "submission/software.py", "submission/ring.py")


@pytest.fixture(params=["ascend910b3", "ascend950"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(f"fake://{request.param}?seed=1&swsq=1")
    yield machine.device(0)
    machine.close(force=True)


@pytest.fixture
def stream(device: Device) -> Stream:
    return device.create_stream()


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def kernel(device: Device, ran: list[int]) -> Kernel:
    made = device.load(minimal_kernel("note", 1)).only
    device.hal.fake.attach(made.code, lambda context: ran.append(context.args[0]), name="note", grid=True)  # type: ignore[attr-defined]
    return made


def test_a_task_is_put_or_not(device: Device, stream: Stream, kernel: Kernel, ran: list[int]) -> None:
    buffer = device.alloc(64)

    def capture() -> None:
        with stream.capture() as graph:
            kernel[1](1, stream=stream)
            stream.fill(buffer, 1)
            kernel[1](2, stream=stream)
        graph.close()

    def check(_place: int) -> None:
        stream.synchronize(10_000)
        assert device.task_pool.used == 0, interrupter.at

    capture()
    interrupter = Interrupter(*PUTTING)
    assert interrupter.everywhere(capture, check, MOST_PLACES) > 20


def test_a_graph_whose_end_was_broken_off(device: Device, stream: Stream, kernel: Kernel, ran: list[int]) -> None:
    for place in range(MOST_PLACES):
        with stream.capture() as graph:
            kernel[1](1, stream=stream)
            kernel[1](2, stream=stream)
        interrupter = Interrupter(*PUTTING[:2])
        interrupted = interrupter.run(lambda: graph.launch(stream), place)
        stream.synchronize(10_000)
        ran.clear()
        graph.launch(stream)
        stream.synchronize(10_000)
        assert ran == [1, 2], interrupter.at
        graph.close()
        if not interrupted:
            break
    assert place > 10


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_block_that_nobody_has_left(stream: Stream, dry_run: bool) -> None:
    block = stream.capture(dry_run=dry_run)  # type: ignore[call-overload]
    block.__enter__()
    del block
    assert stream.branch is None
    stream.synchronize(10_000)


@pytest.mark.parametrize("dry_run", [False, True])
def test_one_that_is_found_in_the_middle_of_a_call(stream: Stream, dry_run: bool) -> None:
    blocks = [stream.capture(dry_run=dry_run)]  # type: ignore[call-overload]
    blocks[0].__enter__()
    each([blocks.clear])  # as the collector may, with locks held
    assert stream.branch is not None
    stream.synchronize(10_000)
    assert stream.branch is None
    stream.close()


def test_one_that_is_found_in_a_later_capture(device: Device, stream: Stream, kernel: Kernel, ran: list[int]) -> None:
    blocks = [stream.capture()]
    blocks[0].__enter__().abandon("the block is not told")
    with stream.capture() as graph:
        kernel[1](1, stream=stream)
        blocks.clear()
        kernel[1](2, stream=stream)
    graph.launch(stream)
    stream.synchronize(10_000)
    assert ran == [1, 2]


def test_an_update_that_nobody_has_left(device: Device, stream: Stream, kernel: Kernel, ran: list[int]) -> None:
    with stream.capture() as graph, stream.task_group() as group:
        kernel[1](1, stream=stream)
    block = stream.update(group)
    block.__enter__()
    del block
    kernel[1](2, stream=stream)
    graph.launch(stream)
    stream.synchronize(10_000)
    assert ran == [2, 1]
    with stream.update(group):
        kernel[1](3, stream=stream)
    graph.launch(stream)
    stream.synchronize(10_000)
    assert ran == [2, 1, 3]


def test_a_builder_gives_up_what_it_captures(device: Device, kernel: Kernel, ran: list[int]) -> None:
    build = _builder(device, kernel)
    build().close()
    interrupter = Interrupter("recording/builder.py", "recording/capture.py")

    def check(_place: int) -> None:
        device.synchronize(10_000)
        assert [stream for stream in device.streams() if stream.branch is not None] == [], interrupter.at

    assert interrupter.everywhere(lambda: build().close(), check, MOST_PLACES) > 20


def _builder(device: Device, kernel: Kernel) -> Callable[[], object]:
    builder = GraphBuilder(device)
    builder.kernel(kernel, 1, 1)
    builder.kernel(kernel, 1, 2)
    return builder.instantiate
