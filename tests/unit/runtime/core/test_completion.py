"""Completions: who is told, which fault a report becomes, and how the queue goes on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chips.tasks import EventRecord, Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Stream
from tests.unit.runtime.machines import MakeKernel


def test_a_report_reaches_the_task_that_asked_for_it(device: Device, stream: Stream) -> None:
    seen: list[Any] = []
    for number in (1, 2, 3):
        stream.submit(
            EventRecord(event_id=number, report=True, timeline=True),
            reported=lambda cqe, number=number: seen.append((number, cqe.timestamp)),
        )
    stream.synchronize()
    stream.drain()
    assert [number for number, _ in seen] == [1, 2, 3]
    assert sorted(stamp for _, stamp in seen) == [stamp for _, stamp in seen]
    assert stream.expected == {}


@pytest.mark.parametrize("behind", [0, 1, 5])
def test_the_queue_goes_on_behind_a_failed_task(device: Device, stream: Stream, make_kernel: MakeKernel, behind: int,
                                                ) -> None:
    ran: list[int] = []
    kernel = make_kernel("numbered", lambda context: ran.append(context.args[0]))
    device.hal.fake.faults.on_task(Effect.EXCEPTION, nth=2, kernel="numbered")
    for number in range(2 + behind):
        kernel[1](number, stream=stream)
    with pytest.raises(errors.KernelFault, match="kernel numbered failed on stream") as caught:
        stream.synchronize()
    assert ran == [0, *range(2, 2 + behind)]
    assert caught.value.details["task"] == "kernel numbered"
    assert caught.value.details["position"] == 1
    assert stream.query()
    stream.synchronize()
    assert device.queues.enabled(stream.queues.sq_id)


def test_a_failure_in_the_last_place_of_the_ring(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    ran: list[int] = []
    kernel = make_kernel("wrapping", lambda context: ran.append(context.args[0]))
    for _ in range(stream.ring.depth - 1):
        stream.submit(Nop())
    stream.synchronize()
    device.hal.fake.faults.on_task(Effect.TRAP, kernel="wrapping")
    kernel[1](1, stream=stream)
    kernel[1](2, stream=stream)
    with pytest.raises(errors.RuntimeFault) as caught:
        stream.synchronize()
    assert caught.value.details["position"] == stream.ring.depth - 1
    assert ran == [2]


def test_the_first_failure_is_reported_and_later_ones_hang_on_it(device: Device, stream: Stream,
                                                                 make_kernel: MakeKernel) -> None:
    kernel = make_kernel("failing")
    device.hal.fake.faults.on_task(Effect.EXCEPTION, times=3, kernel="failing")
    for number in range(3):
        kernel[1](number, stream=stream)
    while stream.ring.pending:
        stream.drain()
    first, later = stream.failure.first, list(stream.failure.later)
    assert first is not None
    assert [fault.details["position"] for fault in (first, *later)] == [0, 1, 2]
    assert all(fault.__cause__ is first for fault in later)
    with pytest.raises(errors.KernelFault) as caught:
        stream.synchronize()
    assert caught.value is first
    stream.synchronize()


@pytest.mark.parametrize(
    ("effect", "v100", "v200"),
    [(Effect.EXCEPTION, 507035, 507035), (Effect.TRAP, 507036, 507001), (Effect.TIMEOUT, 507034, 507034),
     (Effect.SQE_ERROR, 507001, 507001), (Effect.CONFLICT, 507035, 507035)],
)  # fmt: skip
def test_error_bits_of_a_vector_kernel(device: Device, stream: Stream, make_kernel: MakeKernel, effect: Effect,
                                       v100: int, v200: int) -> None:
    device.hal.fake.faults.on_task(effect, kernel="broken")
    make_kernel("broken")[1](0, stream=stream)
    with pytest.raises(errors.RuntimeFault) as caught:
        stream.synchronize()
    assert caught.value.code == (v100 if device.chip.generation == "v100" else v200)


def test_a_warning_is_no_failure(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    device.hal.fake.faults.on_task(Effect.WARNING, kernel="warned")
    make_kernel("warned")[1](0, stream=stream)
    stream.synchronize()
    assert stream.failure.first is None


def test_another_streams_failure_is_none_of_ours(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("elsewhere")
    with device.create_stream() as other:
        device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="elsewhere", stream=other.stream_id)
        kernel[1](0, stream=other)
        kernel[1](0, stream=stream)
        stream.synchronize()
        with pytest.raises(errors.KernelFault):
            other.synchronize()


def test_threads_that_wait_together_share_one_report(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("shared")
    device.hal.fake.faults.on_task(Effect.EXCEPTION, nth=50, kernel="shared")
    device.hal.fake.device(0).hold()
    for number in range(100):
        kernel[1](number, stream=stream)
    outcomes: list[str] = []

    def wait() -> None:
        try:
            stream.synchronize(30_000)
            outcomes.append("fine")
        except errors.KernelFault:
            outcomes.append("failed")

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    device.hal.fake.device(0).release()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["failed", "fine", "fine", "fine"]
