"""Graphs: what a capture records, and that every execution does it again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from fakes import kernels as ready
from runtime import errors
from runtime.api import Device, Kernel
from runtime.feature import graph
from runtime.feature.graph import CaptureMode, CaptureStatus

BOTH_QUEUES = True
MakeKernel = Callable[..., Kernel]


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip that can capture."""
    if not device.chip.has("MODEL_ACL_GRAPH"):
        pytest.skip(f"{device.chip.soc} cannot capture streams")
    return device


def test_a_graph_runs_when_it_is_executed_and_as_often(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as stream:
        graph.begin(stream)
        for number in range(3):
            note[1](number, stream=stream)
        made = graph.end(stream)
        assert log == []
        for _ in range(2):
            made.execute(stream)
        stream.synchronize(30_000)
        assert log == [0, 1, 2] * 2
        made.close()


def test_events_fork_and_join_branches(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as first, device.create_stream() as second:
        with device.create_event() as fork, device.create_event() as join:
            graph.begin(first)
            note[1](1, stream=first)
            first.record(fork)
            second.wait(fork)
            assert graph.status(second)[0] is CaptureStatus.ACTIVE
            note[1](2, stream=second)
            second.record(join)
            first.wait(join)
            note[1](3, stream=first)
            made = graph.end(first)
        for _ in range(3):
            made.execute(second)
            second.synchronize(30_000)
        assert log == [1, 2, 3] * 3
        made.close()


def test_a_branch_that_leads_nowhere_ends_the_capture(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as first, device.create_stream() as second, device.create_event() as fork:
        graph.begin(first)
        first.record(fork)
        second.wait(fork)
        note[1](1, stream=second)
        with pytest.raises(errors.CaptureError) as raised:
            graph.end(first)
        assert raised.value.code == 107025
        assert graph.status(first) == graph.status(second) == (CaptureStatus.NONE, None)
        note[1](2, stream=second)
        second.synchronize(30_000)
        assert log == [2]


def test_a_captured_stream_cannot_be_waited_for(device: Device) -> None:
    with device.create_stream() as stream:
        graph.begin(stream)
        for refused in (stream.synchronize, stream.query, stream.close, device.context.synchronize):
            with pytest.raises(errors.CaptureError) as raised:
                refused()
            assert raised.value.code == 107027
        graph.end(stream).close()


def test_only_the_thread_that_began_ends_a_strict_capture(device: Device) -> None:
    with device.create_stream() as stream:
        codes: list[int] = []

        def end() -> None:
            with pytest.raises(errors.CaptureError) as raised:
                graph.end(stream)
            codes.append(raised.value.code)

        graph.begin(stream, CaptureMode.THREAD_LOCAL)
        other = threading.Thread(target=end)
        other.start()
        other.join()
        assert codes == [107038]
        assert graph.status(stream) == (CaptureStatus.NONE, None)


def test_closing_the_device_ends_a_capture(device: Device) -> None:
    graph.begin(device.create_stream())
    device.close(force=True)


def test_a_kernel_that_fails_inside_a_graph_is_reported_to_who_waits(device: Device, make_kernel: MakeKernel) -> None:
    ran: list[int] = []

    def run(context: ready.Context) -> None:
        if not ran:
            ran.append(0)
            context.args.array(0, "u8", 1)[0] = 1  # at an address that is no memory
        ran.append(1)

    kernel = make_kernel("inside", run, 1, grid=True)
    with device.create_stream() as stream:
        with stream.capture() as graph:
            kernel[1](0, stream=stream)
        graph.launch(stream)
        with pytest.raises(errors.RuntimeFault, match="failed on stream"):
            stream.synchronize(10_000)
        graph.launch(stream)
        stream.synchronize(10_000)
        graph.close()
    assert ran == [0, 1]
