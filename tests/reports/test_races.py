"""What users met where order was missing: memory used again too early, freed too early, events used too often.

Each program runs with the checkers of the fake on and ends in the report that says what is wrong; then it runs as it
should be, and there is none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fakes import kernels
from fakes.checkers import Report
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from tests.unit.runtime.machines import V100, V200

SIZE = 64


@pytest.fixture(params=[V100, V200])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The card of a machine with all checkers on; what they find and the test does not take fails it."""
    machine = Runtime(f"fake://{request.param}?check=all")
    yield machine.device(0)
    machine.close(force=True)


@pytest.fixture
def take(device: Device) -> Callable[[], list[Report]]:
    """Return a function that takes the reports."""
    return lambda: list(device.hal.fake.reports.take())  # type: ignore[attr-defined]


@pytest.fixture
def make(device: Device) -> Callable[..., Kernel]:
    """Return a function that makes a kernel out of a Python function."""

    def made(name: str, function: Callable[[Any], object], arguments: int = 1) -> Kernel:
        kernel = device.load(minimal_kernel(name, arguments), name=name).only
        device.hal.fake.attach(kernel.code, function, name=name, grid=True)  # type: ignore[attr-defined]
        return kernel

    return made


Take = Callable[[], list[Report]]
Make = Callable[..., Kernel]


def card(device: Device) -> Any:
    return device.hal.fake.device(0)  # type: ignore[attr-defined]


def set_bytes(host: Any, value: int) -> None:
    host.array()[:] = value


# -- copies whose ends go away or change -------------------------------------------------------------------------------


def test_a_pinned_batch_overwritten_before_its_copy_ran(device: Device, take: Take) -> None:
    with device.create_stream() as stream, device.alloc_host(SIZE) as batch, device.alloc(SIZE) as target:
        for wait in (True, False):
            np.asarray(batch)[:] = 0x11
            stream.copy(target, batch)
            if wait:
                stream.synchronize()
            np.asarray(batch)[:] = 0x22
            stream.synchronize()
            expected = 0x11 if wait else 0x22
            assert set(device.download(target)[:SIZE]) == {expected}
            reports = take()
            assert [report.check for report in reports] == ([] if wait else ["source"])
        assert "test_races.py:" in reports[0].message
        assert "changed by the host between the submission and the copy" in reports[0].message


def test_a_pageable_source_is_read_at_the_call(device: Device, take: Take) -> None:
    source = np.full(SIZE, 0x11, np.uint8)
    with device.create_stream() as stream, device.alloc(SIZE) as target:
        stream.copy(target, source)
        source[:] = 0x22
        stream.synchronize()
        assert set(device.download(target)[:SIZE]) == {0x11}
    assert take() == []


def test_staging_memory_freed_while_a_copy_is_queued(device: Device, take: Take) -> None:
    with device.create_stream(name="prefetch") as stream:
        staging, target = device.alloc_host(SIZE), device.alloc(SIZE)
        card(device).hold(stream.stream_id)
        stream.copy(target, staging)
        for buffer in (staging, target):
            device.allocator.free(buffer.address)  # what a program does that frees by address
            device.deferred_frees.pending.pop(buffer.pending_free)
            report = take()[0]
            assert report.check == "uaf"
            assert f"of stream {stream.stream_id} 'prefetch'" in report.message
            assert "which is still queued" in report.message
        card(device).release(stream.stream_id)
        with pytest.raises(errors.RuntimeFault):
            stream.synchronize()
        assert {report.check for report in take()} == {"uaf"}


def test_staging_memory_freed_after_the_wait(device: Device, take: Take) -> None:
    with device.create_stream() as stream:
        staging, target = device.alloc_host(SIZE), device.alloc(SIZE)
        stream.copy(target, staging)
        stream.synchronize()
        staging.close()
        target.close()
    assert take() == []


@pytest.mark.parametrize("locked", [True, False])
def test_a_workspace_grown_by_two_threads(device: Device, make: Make, take: Take, locked: bool) -> None:
    """Each thread replaces the workspace that the other one's stream may still be using."""
    use = make("layout", kernels.fill(1, "u1", 1), 2)
    turn = threading.Lock()
    shared = [device.alloc(SIZE)]
    streams = [device.create_stream(name=f"worker {index}") for index in range(2)]

    def grow(index: int) -> None:
        for step in range(1, 4):
            with turn:
                old = shared[0]
                if locked:
                    for stream in streams:
                        stream.synchronize()
                shared[0] = device.alloc(SIZE * (step + 1))
                use[1](shared[0], SIZE, stream=streams[index])
                device.allocator.free(old.address)
                device.deferred_frees.pending.pop(old.pending_free)

    for index in range(2):  # one after the other: the mistake is in the order, not in the timing
        worker = threading.Thread(target=grow, args=(index,))
        worker.start()
        worker.join()
    for stream in streams:
        try:
            stream.synchronize()
        except errors.RuntimeFault:
            assert not locked
        stream.close(force=True)
    reports = take()
    assert bool(reports) != locked
    assert {report.check for report in reports} <= {"uaf"}


def test_a_write_into_the_padding_of_a_buffer(device: Device, make: Make, take: Take) -> None:
    fill = make("fill", kernels.fill(7, "u1", 1), 2)
    with device.create_stream() as stream, device.alloc(100) as small:
        fill[1](small, 100, stream=stream)
        stream.synchronize()
        assert take() == []
        fill[1](small, 128, stream=stream)
        stream.synchronize()  # the hardware does not notice
        (report,) = take()
        assert report.check == "bounds"
        assert "kernel 'fill'" in report.message
        assert "28 bytes more" in report.message


# -- events ------------------------------------------------------------------------------------------------------------


def plain(device: Device, name: str) -> Event:
    return Event(device, EventFlag.SYNC, renewed=False, name=name)


def test_a_wait_in_front_of_its_record_and_a_synchronize_in_between(device: Device, take: Take) -> None:
    start = plain(device, "start")
    with device.create_stream() as stream:
        stream.wait(start)
        with pytest.raises(errors.Timeout):
            stream.synchronize(20)
        (report,) = take()
        assert report.check == "deadlock"
        assert "'start'" in report.message
        assert "was never recorded" in report.message
        assert "test_races.py:" in report.message
        start.record(device.default_stream)
        stream.synchronize(30_000)
    start.close()


def test_a_reset_between_two_waits_starves_the_second(device: Device, take: Take) -> None:
    event = plain(device, "pooled")
    with device.create_stream() as one, device.create_stream() as two, device.create_stream() as three:
        event.record(one)
        two.wait(event)
        event.reset(two)
        two.synchronize(30_000)
        three.wait(event)
        card(device).run_until_idle()
        (report,) = take()
        assert report.check == "deadlock"
        assert f"stream {three.stream_id}" in report.message
        assert f"was last reset by stream {two.stream_id}" in report.message
        event.record(one)
        three.synchronize(30_000)
    event.close()


def test_a_record_renewed_while_an_earlier_wait_is_pending_keeps_the_order(
    device: Device, make: Make, take: Take
) -> None:
    fill, copy = make("fill", kernels.fill(1, "u1", 1), 2), make("copy", kernels.copy("u1", 2), 3)
    one, two, idle = (device.create_stream() for _ in range(3))
    with device.create_event() as event, device.alloc(SIZE) as middle, device.alloc(SIZE) as end:
        card(device).hold(one.stream_id)
        fill[1](middle, SIZE, stream=one)
        one.record(event)
        two.wait(event)
        copy[1](middle, end, SIZE, stream=two)
        idle.record(event)
        card(device).release(one.stream_id)
        for stream in (idle, two, one):
            stream.synchronize(30_000)
            stream.close()
        assert set(device.download(end)[:SIZE]) == {1}
    assert take() == []


def test_a_fast_host_records_for_the_next_step_before_this_one_has_waited(device: Device, take: Take) -> None:
    """The graph waits for the host's event and takes it back; two records in a row count once."""
    event = plain(device, "inputs ready")
    with device.create_stream(name="replay") as replay, device.create_stream(name="update") as update:

        def step() -> None:
            replay.wait(event)
            event.reset(replay)

        def run(ordered: bool) -> None:
            done = device.create_event()
            for _ in range(2):
                step()
            card(device).hold(replay.stream_id)
            event.record(update)
            if ordered:
                card(device).release(replay.stream_id)
                card(device).run_until_idle()
            event.record(update)
            update.synchronize(30_000)
            card(device).release(replay.stream_id)
            card(device).run_until_idle()
            done.close()

        run(ordered=True)
        replay.synchronize(30_000)
        assert take() == []
        run(ordered=False)
        (report,) = take()
        assert report.check == "deadlock"
        assert "'replay'" in report.message
        assert "'inputs ready'" in report.message
        assert "was last reset by" in report.message
        assert "Missing edge" in report.cure
        event.record(update)
        replay.synchronize(30_000)
    event.close()


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_a_graph_executed_after_its_memory_was_freed(device: Device, make: Make, take: Take) -> None:
    fill = make("fill", kernels.fill(1, "u1", 1), 2)
    stream, buffer = device.create_stream(), device.alloc(SIZE)
    with stream.capture() as graph:
        fill[1](buffer, SIZE, stream=stream)
    graph.execute(stream)
    stream.synchronize(30_000)
    assert take() == []
    buffer.close()
    graph.execute(stream)
    with pytest.raises(errors.RuntimeFault):
        stream.synchronize(30_000)
    (report,) = take()
    assert report.check == "stale"
    assert "kernel 'fill'" in report.message
    assert "test_races.py:" in report.message
    stream.close(force=True)
    graph.close(force=True)


@pytest.mark.parametrize("ordered", [True, False])
def test_an_update_of_a_graph_while_it_may_be_running(device: Device, make: Make, take: Take, ordered: bool) -> None:
    note = make("note", lambda context: context.args[0])
    with device.create_stream(name="replay") as replay, device.create_stream(name="update") as update:
        with replay.capture() as graph, replay.task_group() as group:
            note[1](1, stream=replay)
        graph.execute(replay)
        if ordered:
            replay.synchronize()
        with update.update(group):
            note[1](2, stream=update)
        for stream in (update, replay):
            stream.synchronize(30_000)
        reports = take()
        assert {report.check for report in reports} == (set() if ordered else {"update"})
        if reports:
            assert "nothing orders the two" in reports[0].message
        graph.execute(replay)
        replay.synchronize()
        graph.close()
        take()
