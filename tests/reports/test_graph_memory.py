"""Memory that a graph was captured with and that is another's, or nobody's, when the graph is executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakes import kernels
from fakes.checkers import Report
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel

URLS = ("fake://ascend910b1?check=all", "fake://ascend910b1?check=all&swsq=0", "fake://ascend950pr_9599?check=all")
SIZE = 4096
PAGE = 2 << 20
HERE = __file__.rpartition("/")[2]


@pytest.fixture(scope="module", params=URLS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close()


@pytest.fixture
def fill(device: Device) -> Kernel:
    """A kernel that fills its first argument."""
    kernel = device.load(minimal_kernel("fill", 2), name="fill").only
    device.hal.fake.attach(kernel.code, kernels.fill(1, "u1", 1), name="fill", grid=True)
    return kernel


def take(device: Device) -> list[Report]:
    return list(device.hal.fake.reports.take())


def captured(device: Device, fill: Kernel, buffer: Any, how: str, *, first: bool = True) -> tuple[Any, Any]:
    """Return a stream and a graph of one task that writes a buffer, executed once or not yet."""
    stream = device.create_stream(name="replay")
    with stream.capture() as graph:
        if how == "kernel":
            fill[1](buffer, SIZE, stream=stream)
        else:
            stream.copy(buffer, device.alloc(SIZE), SIZE)
    if first:
        graph.launch(stream)
        stream.synchronize(30_000)
    assert take(device) == []
    return stream, graph


def check(found: list[Report], graph: Any, *words: str) -> None:
    (report,) = found
    assert report.check == "stale"
    for word in (f"a node of graph {graph.model_id}", "at position ", HERE, "keep that memory", *words):
        assert word in str(report)


@pytest.mark.parametrize("how", ["kernel", "copy"])
@pytest.mark.parametrize(("taken", "first"), [(False, True), (True, True), (True, False)])
def test_a_pool_block_that_was_given_back(
    device: Device, fill: Kernel, how: str, *, taken: bool, first: bool
) -> None:
    buffer = device.pool.alloc(SIZE)
    stream, graph = captured(device, fill, buffer, how, first=first)
    address = buffer.address
    buffer.close()
    other = device.pool.alloc(SIZE) if taken else None
    if other is not None:
        assert other.address == address
    for _ in range(2):
        graph.launch(stream)
        stream.synchronize(30_000)
    found = take(device)
    check(found, graph, "of a pool", "given back", "is there now" if taken else "nothing is in use there now")
    if other is not None:
        other.close()
    graph.close()
    stream.close()


def test_a_pool_block_that_is_given_back_behind_the_execution_is_no_mistake(device: Device, fill: Kernel) -> None:
    buffer = device.pool.alloc(SIZE)
    stream, graph = captured(device, fill, buffer, "kernel")
    graph.launch(stream)
    buffer.close()  # whoever takes it works behind the execution
    stream.synchronize(30_000)
    assert take(device) == []
    graph.close()
    stream.close()


def test_blocks_of_the_capture_itself_stay_the_graphs(device: Device, fill: Kernel) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        for _ in range(3):
            with device.pool.alloc(SIZE, stream) as scratch:
                fill[1](scratch, SIZE, stream=stream)
    with device.pool.alloc(SIZE, stream):
        for _ in range(2):
            graph.launch(stream)
        stream.synchronize(30_000)
    assert take(device) == []
    graph.close()
    stream.close()


def test_what_a_node_was_changed_to_counts_from_then_on(device: Device, fill: Kernel) -> None:
    old = device.pool.alloc(SIZE)
    stream, graph = captured(device, fill, old, "kernel")
    old.close()
    new = device.alloc(SIZE)  # younger than the graph
    graph.update(graph.kernels[0], [new, SIZE])
    graph.launch(stream)
    stream.synchronize(30_000)
    assert take(device) == []
    newest = device.alloc(SIZE)
    graph.update_arguments([[newest.address]])
    graph.launch(stream)
    stream.synchronize(30_000)
    graph.update(graph.kernels[0], [new, SIZE], blocks=2)
    graph.launch(stream)
    stream.synchronize(30_000)
    assert take(device) == []
    for each in (graph, stream, new, newest):
        each.close()


@pytest.mark.parametrize("how", ["kernel", "copy"])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_range_that_was_unmapped_or_is_mapped_to_other_memory(
    device: Device, fill: Kernel, how: str, *, mapped: bool
) -> None:
    with device.reserve(PAGE) as addresses:
        first, second = device.create_physical(PAGE), device.create_physical(PAGE)
        mapping = addresses.map(first)
        stream, graph = captured(device, fill, mapping, how)
        mapping.close()
        if mapped:
            addresses.map(second)
        graph.launch(stream)
        if mapped:
            stream.synchronize(30_000)
        else:
            with pytest.raises(errors.RuntimeFault):
                stream.synchronize(30_000)
        check(take(device), graph, "unmapped", "mapped later" if mapped else "unmapped")
        stream.close(force=True)
        graph.close(force=True)
        first.close()
        second.close()
    take(device)


def free_at_once(device: Device, block: Any) -> None:
    """Free memory as aclrtFree does, whatever is queued."""
    device.allocator.free(block.address)
    block.device.deferred_frees.pending.pop(block.pending_free, None)
    block.closed = True


def unmap(device: Any, mapping: Any) -> None:
    """Unmap memory as the driver does, whatever is queued."""
    device.behind_work = lambda step: step()
    mapping.close()


@pytest.mark.parametrize("end", [free_at_once, unmap])
def test_memory_that_goes_while_an_execution_is_queued_is_told_at_once(
    device: Device, fill: Kernel, end: Callable[[Device, Any], None]
) -> None:
    addresses, physical = device.reserve(PAGE), device.create_physical(PAGE)
    buffer: Any = addresses.map(physical) if end is unmap else device.alloc(SIZE)
    stream, graph = captured(device, fill, buffer, "kernel")
    card = device.hal.fake.device(0)
    card.hold()
    graph.launch(stream)
    end(device, buffer)
    (report,) = take(device)
    assert report.check == "uaf"
    for word in ("unmapped" if end is unmap else "freed", f"a node of graph {graph.model_id}", "still queued", HERE):
        assert word in str(report)
    card.release()
    with pytest.raises(errors.RuntimeFault):
        stream.synchronize(30_000)
    assert {report.check for report in take(device)} == {"stale"}
    stream.close(force=True)
    graph.close(force=True)
    addresses.close()
    physical.close()
    take(device)
