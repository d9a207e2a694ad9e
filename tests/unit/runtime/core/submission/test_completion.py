"""Completions: who is told, which fault a report becomes, and how the queue goes on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chips.tasks import EventRecord, Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.submission import completion
from runtime.driver.queues import QueueDriver
from tests.unit.runtime.machines import MakeKernel, OpenMachine


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
    assert stream.reports.expected == {}


def test_who_waits_for_the_report_of_a_task_that_asks_for_none_is_told_at_once(stream: Stream) -> None:
    seen: list[Any] = []
    stream.submit(Nop(), reported=seen.append)
    assert seen == [None]
    assert stream.reports.expected == {}
    stream.synchronize()
    assert seen == [None]


@pytest.mark.parametrize("soc", ["ascend910b1", "ascend950"])
def test_no_time_is_lost_with_a_report_that_a_stepped_machine_does_not_give(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, soc: str
) -> None:
    monkeypatch.setattr(completion, "_LATE_REPORT_S", 1e9)
    device = open_machine(f"null://{soc}").device(0)
    with device.create_stream() as stream, device.create_event(timing=True) as event:
        for _ in range(2):  # null:// reports a queue's first task alone
            stream.record(event)
        event.synchronize(timeout_ms=10_000)
        assert event.query()
        with pytest.raises(errors.EventError, match="the device's report of it got lost"):
            _ = event.timestamp_ticks


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


def test_every_error_that_a_device_can_report_has_its_public_code(device: Device, stream: Stream) -> None:
    expected, found = {}, {}
    for code, row in errors.tables.device_codes().items():
        if row.public:
            device.hal.fake.faults.on_task(Effect.SOFTWARE, stream=stream.stream_id, code=code)
            stream.submit(Nop())
            with pytest.raises(errors.RuntimeFault) as caught:
                stream.synchronize(30_000)
            expected[code], found[code] = row.public, caught.value.code
            device.hal.fake.faults.clear()
    assert len(expected) > 130
    assert found == expected
    stream.synchronize()


@pytest.mark.parametrize(
    ("code", "public"),
    [(0x2F, 207003), (0x33, 207016), (0x35, 207017), (0x95, 507005), (0x99, 507023)],
    ids=["cube overflow", "vector overflow", "SDMA overflow", "end of sequence", "model abort"],
)
def test_results_that_are_no_failures_stop_no_context(device: Device, stream: Stream, code: int, public: int) -> None:
    """Even in stop mode; the queue goes on, and who asks is told once. Ends of sequences call no exception callback."""
    stream.set_failure_mode(1)
    told: list[Any] = []
    device.runtime.exceptions.add(told.append)
    with device.create_notify() as notify:
        device.hal.fake.faults.on_task(Effect.SOFTWARE, stream=stream.stream_id, code=code)
        notify.record(device.default_stream)
        notify.wait(stream)
        stream.submit(Nop())
        with pytest.raises(errors.RuntimeFault) as caught:
            stream.synchronize(30_000)
        assert caught.value.code == public
        stream.submit(Nop())
        stream.synchronize(30_000)
        assert stream.context.failure.first is None
        assert len(told) == (0 if code in (0x95, 0x99) else 1)


def test_a_queue_that_is_not_stopped_yet_holds_nobody_up(
    device: Device, stream: Stream, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hardware takes its time to stop the queue; each look tries again, and no look waits."""
    looks = 0

    def late(_queues: QueueDriver, sq_id: int) -> bool:
        nonlocal looks
        looks += sq_id == stream.queues.sq_id
        return looks < 5

    monkeypatch.setattr(QueueDriver, "enabled", late)
    monkeypatch.setattr(completion.time, "sleep", lambda _seconds: pytest.fail("somebody waited under a lock"))
    device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="late")
    make_kernel("late")[1](0, stream=stream)
    stream.submit(Nop())
    while stream.failure.first is None:
        stream.drain()
    assert (looks, stream.ring.pending) == (1, 2)
    assert stream.reports.lock.acquire(blocking=False)
    stream.reports.lock.release()
    for look in range(2, 6):
        assert stream.reports.halted is not None
        stream.drain()
        assert looks == look
    assert stream.reports.halted is None
    while stream.ring.pending:
        stream.drain()


def test_a_queue_that_never_stops_is_a_failure_of_its_own(device: Device, stream: Stream, make_kernel: MakeKernel,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueueDriver, "enabled", lambda _queues, _sq_id: True)
    monkeypatch.setattr(completion, "_DISABLE_WAIT_S", 0.0)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="stubborn")
    make_kernel("stubborn")[1](0, stream=stream)
    stream.submit(Nop())
    with pytest.raises(errors.Timeout):
        stream.synchronize(50)
    first = stream.failure.first
    assert first is not None
    assert first.details["task"] == "kernel stubborn"
    assert ["was not stopped by the hardware" in later.message for later in stream.failure.later] == [True]


@pytest.mark.parametrize("free_run", [0, 1], ids=["stepped", "free running"])
def test_who_waits_for_one_stream_gets_on_when_another_one_has_failed(
    chip: str, open_machine: OpenMachine, free_run: int
) -> None:
    """The record that is waited for stands behind a failed task of a stream that nobody looks at."""
    device = open_machine(f"fake://{chip}?kernels=noop&free_run={free_run}").device(0)
    fake = device.hal.fake.device(0)
    with device.create_stream() as failing, device.create_stream() as waiting, device.create_event() as event:
        fake.hold()
        device.hal.fake.faults.on_task(Effect.EXCEPTION, stream=failing.stream_id)
        failing.submit(Nop())
        failing.record(event)
        waiting.wait(event)
        fake.release()
        waiting.synchronize(30_000)
        with pytest.raises(errors.DeviceFault):
            failing.synchronize(30_000)


def test_a_full_ring_gets_room_when_another_stream_has_failed(device: Device) -> None:
    fake = device.hal.fake.device(0)
    with device.create_stream() as failing, device.create_stream() as waiting, device.create_event() as event:
        fake.hold()
        device.hal.fake.faults.on_task(Effect.EXCEPTION, stream=failing.stream_id)
        failing.submit(Nop())
        failing.record(event)
        waiting.wait(event)
        while waiting.ring.fits(1):
            waiting.submit(Nop())
        fake.release()
        waiting.submit(Nop())
        waiting.synchronize(30_000)
        with pytest.raises(errors.DeviceFault):
            failing.synchronize(30_000)
