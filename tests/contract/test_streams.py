"""Streams: order, waiting, events, notifies, failures."""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fakes import kernels as ready
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from tests.contract.holdings import tasks_sent

COMMANDS = True

MakeKernel = Callable[..., Kernel]


def test_tasks_of_a_stream_run_in_order(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as stream:
        for number in range(100):
            note[1](number, stream=stream)
        stream.synchronize()
    assert log == list(range(100))


def test_event_orders_two_streams(device: Device, make_kernel: MakeKernel) -> None:
    log: list[str] = []
    first = make_kernel("first", lambda context: log.append("first"), 1, grid=True)
    second = make_kernel("second", lambda context: log.append("second"), 1, grid=True)
    fake = device.hal.fake.device(0)
    with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
        fake.hold(a.stream_id)
        first[1](0, stream=a)
        a.record(event)
        b.wait(event)
        second[1](0, stream=b)
        assert not event.query()
        with pytest.raises(errors.Timeout):
            b.synchronize(20)
        fake.release(a.stream_id)
        b.synchronize()
        assert event.query()
    assert log == ["first", "second"]


def test_recording_again_does_not_disturb_an_older_wait(device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    fake = device.hal.fake.device(0)
    with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
        fake.hold(a.stream_id)
        note[1](1, stream=a)
        a.record(event)
        b.wait(event)
        note[1](2, stream=b)
        note[1](3, stream=a)
        a.record(event)
        fake.release(a.stream_id)
        a.synchronize()
        b.synchronize()
    assert sorted(log) == [1, 2, 3]
    assert log.index(1) < log.index(2)


def test_event_ids_go_back(device: Device) -> None:
    with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
        for _ in range(300):
            a.record(event)
            b.wait(event)
        a.synchronize()
        b.synchronize()
        kind = device.signals.ids.kind.lower()
        used = device.hal.fake.device(0).ids[kind].used
        assert len(used) <= device.signals.ids.limit + 1  # pooled ones, and the event's own
    device.signals.ids.trim()
    assert used == set()


def test_timing(device: Device, make_kernel: MakeKernel) -> None:
    def work(context: ready.Context) -> None:
        context.cost_ns = 2_000_000

    slow = make_kernel("slow", work, 1, grid=True)
    start, end = device.create_event(timing=True), device.create_event(timing=True)
    with device.create_stream() as stream:
        stream.record(start)
        slow[1](0, stream=stream)
        stream.record(end)
        end.synchronize()
        assert 2.0 <= end - start < 2.5
        plain = device.create_event().record(stream)
        stream.synchronize()
    with pytest.raises(errors.EventError, match="keeps no time"):
        _ = plain - start


@pytest.mark.hardware_safe
def test_unrecorded_event(device: Device) -> None:
    event = device.create_event(timing=True)
    assert event.query()
    event.synchronize()
    with device.create_stream() as stream:
        stream.wait(event)
        assert tasks_sent(stream) == 0
    with pytest.raises(errors.EventError, match="no time stamp yet"):
        _ = event.timestamp_ticks
    event.close()
    with pytest.raises(errors.InvalidHandle, match="no live event"):
        event.query()


def test_notify_orders_and_clears(device: Device, make_kernel: MakeKernel) -> None:
    log: list[str] = []
    first = make_kernel("first", lambda context: log.append("first"), 1, grid=True)
    second = make_kernel("second", lambda context: log.append("second"), 1, grid=True)
    with device.create_stream() as a, device.create_stream() as b, device.create_notify() as notify:
        notify.wait(b)
        second[1](0, stream=b)
        first[1](0, stream=a)
        notify.record(a)
        a.synchronize()
        b.synchronize()
        notify.wait(b)
        with pytest.raises(errors.Timeout):
            b.synchronize(20)
        notify.record(a)
        b.synchronize()
    assert log == ["first", "second"]


@pytest.mark.stars
@pytest.mark.hardware_safe
def test_write_value(device: Device) -> None:
    buffer = device.upload(bytes(16))
    with device.create_stream() as stream:
        stream.write_value(buffer, 0x1122334455667788)
        stream.write_value(buffer + 8, 0xAB, 4)
        stream.synchronize()
        with pytest.raises(errors.InvalidArgument, match="does not fit 4 bytes"):
            stream.write_value(buffer, 1 << 40, 4)
    assert device.download(buffer, "u8").tolist() == [0x1122334455667788, 0xAB]


@pytest.mark.hardware_safe
def test_query_and_synchronize_of_an_idle_stream(device: Device) -> None:
    with device.create_stream() as stream:
        assert stream.query()
        stream.synchronize()
        stream.synchronize(1)


@pytest.mark.hardware_safe
@pytest.mark.parametrize("timeout", [0, -2])
def test_impossible_timeouts(device: Device, timeout: int) -> None:
    with device.create_stream() as stream, pytest.raises(errors.InvalidArgument, match="timeout_ms is"):
        stream.synchronize(timeout)


def test_timeout_names_the_running_task(device: Device, make_kernel: MakeKernel) -> None:
    spin = make_kernel("spinner", ready.spin, 1, grid=True)
    stream = device.create_stream()
    spin[1](0, stream=stream)
    with pytest.raises(errors.Timeout, match="still running: kernel spinner") as caught:
        stream.synchronize(30)
    assert caught.value.code == 507046
    stream.close(force=True)


def test_failing_kernel_is_reported_once_and_the_stream_goes_on(device: Device, make_kernel: MakeKernel) -> None:
    log: list[str] = []

    def bad(context: ready.Context) -> None:
        raise ready.Fail("on purpose")

    boom = make_kernel("boom", bad, 1, grid=True)
    after = make_kernel("after", lambda context: log.append("after"), 1, grid=True)
    with device.create_stream() as stream, device.create_stream() as other:
        boom[1](0, stream=stream)
        after[1](0, stream=stream)
        with pytest.raises(errors.KernelFault, match="kernel boom failed on stream") as caught:
            stream.synchronize()
        assert caught.value.code == 507035  # vector core exception
        assert caught.value.details["task"] == "kernel boom"
        assert log == ["after"]
        stream.synchronize()
        assert stream.query()
        after[1](0, stream=other)
        other.synchronize()


def test_trap_and_exception_have_their_own_codes(device: Device, make_kernel: MakeKernel) -> None:
    def bad(context: ready.Context) -> None:
        raise ready.Trap

    trap = make_kernel("trap", bad, 1, grid=True)
    with device.create_stream() as stream:
        trap[1](0, stream=stream)
        with pytest.raises(errors.RuntimeFault) as caught:
            stream.synchronize()
    assert caught.value.code == (507036 if device.chip.traits.counts_ids else 507001)


@pytest.mark.hardware_safe
def test_default_stream_cannot_be_closed(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument, match="default stream of device 0 cannot be closed") as caught:
        device.default_stream.close()
    assert "close the device" in caught.value.hint
    device.default_stream.synchronize()


@pytest.mark.stars
def test_closed_stream_is_refused_everywhere(device: Device, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("late", lambda context: None, 1)
    stream = device.create_stream()
    bound = kernel.bind(stream, 1)
    stream.close()
    stream.close()
    event, buffer = device.create_event(), device.alloc(8)
    for use in (
        stream.synchronize, stream.query, lambda: bound(0), lambda: kernel[1](0, stream=stream),
        lambda: stream.record(event), lambda: stream.copy(buffer, device.alloc(8)),
        lambda: stream.write_value(buffer, 1),
    ):
        with pytest.raises(errors.InvalidHandle, match="no live stream") as caught:
            use()
        assert caught.value.code == 107017


def test_stream_of_another_device_is_refused(url: str) -> None:
    machine = Runtime(url + "&devices=2")
    try:
        here, there = machine.device(0), machine.device(1)
        from runtime.cli.sample import minimal_kernel

        kernel = here.load(minimal_kernel("here", 1)).only
        with there.create_stream() as stream, pytest.raises(errors.ContextError, match="the stream is on device 1"):
            kernel[1](0, stream=stream)
    finally:
        machine.close(force=True)


def test_plain_close_of_a_stuck_stream_times_out_and_force_ends_it(
    device: Device, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.core.device import teardown

    monkeypatch.setattr(teardown, "_TRIES", 20)
    spin = make_kernel("stuck", ready.spin, 1, grid=True)
    stream = device.create_stream()
    spin[1](0, stream=stream)
    with pytest.raises(errors.Timeout, match="cannot be closed"):
        stream.close()
    assert not stream.closed
    stream.close(force=True)
    with device.create_stream() as fresh:
        fresh.synchronize()


def test_interrupt_during_synchronize_leaves_a_usable_process(
    device: Device, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    report = sys.unraisablehook
    presses: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def hear(dropped: Any) -> None:
        if dropped.exc_type is KeyboardInterrupt:  # it fell in a finalizer
            presses.put(True)
        else:
            report(dropped)

    monkeypatch.setattr(sys, "unraisablehook", hear)
    spin = make_kernel("forever", ready.spin, 1, grid=True)
    stuck = device.create_stream()
    spin[1](0, stream=stuck)

    def press_ctrl_c() -> None:
        while presses.get():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def wait() -> None:
        presses.put(True)
        stuck.synchronize()

    thread = threading.Thread(target=press_ctrl_c)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        presses.put(False)
        thread.join()
    fill = make_kernel("fine", ready.fill(1.0), 1)
    buffer = device.alloc(16)
    with device.create_stream() as stream:
        fill[1](buffer, stream=stream)
        stream.synchronize()
    assert device.download(buffer, "f4").tolist() == [1.0] * 4
    stuck.close(force=True)


def test_streams_of_many_threads(device: Device, make_kernel: MakeKernel) -> None:
    def count(context: ready.Context) -> None:
        context.args.array(0, "u8", 1)[0] += 1

    bump = make_kernel("bump", count, 1, grid=True)
    counters = [device.upload(bytes(8)) for _ in range(4)]
    failures: list[BaseException] = []

    def work(counter: object) -> None:
        try:
            with device.create_stream() as stream:
                for _ in range(200):
                    bump[1](counter, stream=stream)
                stream.synchronize()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [int(device.download(counter, "u8")[0]) for counter in counters] == [200] * 4


def test_stream_ids_run_out_with_a_resource_report(url: str) -> None:
    machine, kept = Runtime(url + "&streams=6"), []

    def take_more_than_there_are() -> None:
        for _ in range(10):
            kept.append(device.create_stream())

    try:
        device = machine.device(0)
        with pytest.raises(errors.ResourceExhausted, match="stream") as caught:
            take_more_than_there_are()
        assert caught.value.code == 207008
        assert "pair each create with a close" in caught.value.hint
        kept.pop().close()
        device.create_stream()
    finally:
        machine.close(force=True)


def test_results_do_not_depend_on_the_seed(device: Device, make_kernel: MakeKernel) -> None:
    add = make_kernel("add", ready.add())
    x = device.upload(np.ones(64, np.float32))
    with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
        for _ in range(20):
            add[4](x, x, x, stream=a)
            a.record(event)
            b.wait(event)
            add[4](x, x, x, stream=b)
            b.record(event)
            a.wait(event)
        a.synchronize()
        b.synchronize()
    assert np.all(device.download(x, "f4") == np.float32(2.0**40))
