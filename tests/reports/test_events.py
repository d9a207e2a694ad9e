"""What users met with events: waits that nothing ends, marks that are used again, ids that run out."""

from __future__ import annotations

import logging

import pytest

from chips.tasks import Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.diagnostics.logs import LogSettings
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from tests.unit.runtime.machines import V100, V200, MakeKernel, OpenMachine


def plain(device: Device, flags: EventFlag = EventFlag.SYNC, name: str = "") -> Event:
    """Return an event that keeps one signal for life and may be waited for before its record."""
    return Event(device, flags, renewed=False, name=name)


# -- a wait before its record, and the host in between -----------------------------------------------------------------


def test_a_wait_that_only_this_thread_could_end_is_named_when_the_time_is_up(device: Device, stream: Stream) -> None:
    event = plain(device, name="start")
    stream.wait(event)
    with pytest.raises(errors.Timeout, match=r"running: event wait at ring position 0 \(task id 0\), 1 SQEs pending; "
                       r"waiting for <event start of device 0, not recorded>, which was never recorded") as caught:
        stream.synchronize(50)
    assert caught.value.code == 507046
    event.record(device.default_stream)
    stream.synchronize(30_000)
    event.close()


def test_a_wait_without_a_time_limit_is_described_while_it_lasts(
    device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report on standard error, which in a pipeline that hangs is the only one there is."""
    monkeypatch.setattr(device.runtime, "hang_s", 0.0)
    event = plain(device, name="start")
    stream.wait(event)
    with pytest.raises(errors.Timeout):
        stream.synchronize(50)
    text = capsys.readouterr().err
    assert text.count("waits for <event start of device 0, not recorded>, which was never recorded") == 1
    event.record(device.default_stream)
    stream.synchronize(30_000)


def test_the_default_kind_of_event_passes_when_it_was_never_recorded(device: Device, stream: Stream) -> None:
    event = device.create_event()
    assert event.query()
    stream.wait(event)
    stream.synchronize(30_000)
    assert stream.ring.submitted == 0


def test_waits_in_a_circle_name_each_other(device: Device) -> None:
    """Each stream waits for what the other one records behind its own wait."""
    first, second = plain(device, name="first"), plain(device, name="second")
    with device.create_stream(name="a") as a, device.create_stream(name="b") as b:
        a.wait(second)
        a.record(first)
        b.wait(first)
        b.record(second)
        with pytest.raises(errors.Timeout, match="waiting for <event second .*"
                           rf"recorded in <Stream 'b' {b.stream_id} .*, 2 pending>"):
            a.synchronize(50)
        with pytest.raises(errors.Timeout, match=f"waiting for <event first .*recorded in <Stream .a. {a.stream_id} "):
            b.synchronize(50)
        second.record(device.default_stream)
        a.synchronize(30_000)
        b.synchronize(30_000)


# -- recorded again, reset ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["round_robin", "device_ahead", "host_ahead", "random", "starved"])
@pytest.mark.parametrize("soc", [V100, V200])
def test_a_second_record_leaves_the_wait_on_the_first_alone(open_machine: OpenMachine, soc: str, policy: str) -> None:
    device = open_machine(f"fake://{soc}?policy={policy}&seed=5").device(0)
    fake, order = device.hal.fake.device(0), []
    with device.create_stream() as a, device.create_stream() as b, device.create_stream() as idle:
        event = device.create_event(timing=True)
        fake.hold(a.stream_id)
        a.submit(Nop(), finished=lambda: order.append("first"))
        a.record(event)
        b.wait(event)
        b.submit(Nop(), finished=lambda: order.append("second"))
        idle.record(event)
        idle.synchronize(30_000)
        again = event.timestamp_ticks
        with pytest.raises(errors.Timeout):
            b.synchronize(20)
        assert order == []
        fake.release(a.stream_id)
        a.synchronize(30_000)
        b.synchronize(30_000)
        assert order == ["first", "second"]
        assert event.timestamp_ticks == again
        event.close()


@pytest.mark.parametrize("soc", [V100, V200])
def test_a_record_before_waits_are_over_is_a_line_in_the_log(
    open_machine: OpenMachine, soc: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "runtime.core")
    for level, lines in ((1, 1), (3, 0)):
        caplog.clear()
        machine = open_machine(f"fake://{soc}")
        machine.logs = LogSettings(wanted=True, level=level)
        device = machine.device(0)
        with device.create_stream() as a, device.create_stream() as b, device.create_event() as event:
            device.hal.fake.device(0).hold(a.stream_id)
            event.record(a)
            event.wait(b)
            event.record(b)
            device.hal.fake.device(0).release(a.stream_id)
            b.synchronize(30_000)
            event.record(a)
            told = [record.getMessage() for record in caplog.records if "recorded again" in record.getMessage()]
            assert len(told) == lines
            expected = f"in stream {b.stream_id} while 1 waits for its record in stream {a.stream_id}"
            assert all(expected in line for line in told)


def test_a_reset_that_starves_a_second_waiter_is_named(device: Device) -> None:
    event = plain(device, name="shared")
    with device.create_stream() as a, device.create_stream() as b, device.create_stream() as late:
        a.record(event)
        b.wait(event)
        event.reset(b)
        b.synchronize(30_000)
        late.wait(event)
        with pytest.raises(errors.Timeout, match=f"<event shared .*>, which was reset in stream {b.stream_id} and not "
                           "recorded since"):
            late.synchronize(50)
        a.record(event)
        late.synchronize(30_000)


@pytest.mark.parametrize(
    "make", [lambda device: device.create_event(), lambda device: device.create_event(timing=True),
             lambda device: plain(device, EventFlag.STREAM_MARK)], ids=["renewed", "renewed with time", "mark"],
)  # fmt: skip
def test_a_reset_of_a_kind_that_has_none_is_refused(device: Device, stream: Stream, make: object) -> None:
    event = make(device)  # type: ignore[operator]
    event.record(stream)
    with pytest.raises(errors.NotSupported, match="cannot be reset") as caught:
        event.reset(stream)
    assert caught.value.code == 207000
    assert "record them again" in caught.value.hint
    stream.synchronize(30_000)


# -- ids ---------------------------------------------------------------------------------------------------------------


def test_a_leak_of_events_fails_at_the_call_that_needs_the_id(open_machine: OpenMachine) -> None:
    """Events of the default kind take their id with the first record, so that making them never fails."""
    device = open_machine(f"fake://{V100}?events=8").device(0)
    stream = device.create_stream()
    leaked = [device.create_event() for _ in range(9)]
    for event in leaked[:8]:
        event.record(stream)
    with pytest.raises(errors.ResourceExhausted) as caught:
        leaked[8].record(stream)
    assert caught.value.code == 207007
    assert "this process holds 8 events" in caught.value.message
    stream.synchronize(30_000)
    leaked[0].close()
    leaked[8].record(stream)
    stream.synchronize(30_000)


@pytest.mark.parametrize("soc", [V100, V200])
@pytest.mark.parametrize("traced", [False, True])
def test_a_leak_of_notifies_names_who_holds_them(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, soc: str, traced: bool
) -> None:
    monkeypatch.setenv("NPUHAL_TRACE_CREATION", str(int(traced)))
    device = open_machine(f"fake://{soc}?notifys=8").device(0)
    leaked = []

    def leak() -> None:
        while True:
            leaked.append(device.create_notify())

    with pytest.raises(errors.ResourceExhausted) as caught:
        leak()
    assert (caught.value.code, caught.value.message_id) == (207009, "EE1023")
    assert f"this process holds {len(leaked)} notifies" in caught.value.message
    assert (f"created at {__file__}:" in caught.value.message) is traced
    assert ("NPUHAL_TRACE_CREATION=1 tells where" in caught.value.message) is not traced
    leaked.pop().close()
    device.create_notify()


# -- which task failed -------------------------------------------------------------------------------------------------


def test_with_many_tasks_queued_the_first_failure_is_kept_and_the_later_ones_with_it(
    device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    ran: list[str] = []
    faults = device.hal.fake.faults
    faults.on_task(Effect.EXCEPTION, kernel="k2")
    faults.on_task(Effect.TRAP, kernel="k3")
    for name in ("k1", "k2", "k3", "k4"):
        make_kernel(name, lambda _context, name=name: ran.append(name))[1](0, stream=stream)
    while stream.ring.pending:
        stream.drain()
    assert ran == ["k1", "k4"]
    record = stream.failure
    assert record.first is not None
    assert [fault.details["task"] for fault in (record.first, *record.later)] == ["kernel k2", "kernel k3"]
    with pytest.raises(errors.KernelFault, match="kernel k2 failed"):
        stream.synchronize(30_000)
    stream.synchronize(30_000)


def test_in_stop_mode_nothing_runs_behind_the_first_failure(
    device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    ran: list[str] = []
    stream.set_failure_mode(1)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="k2")
    for name in ("k1", "k2", "k3"):
        make_kernel(name, lambda _context, name=name: ran.append(name))[1](0, stream=stream)
    with device.create_stream() as other:
        with pytest.raises(errors.KernelFault, match="kernel k2 failed"):
            stream.synchronize(30_000)
        assert ran == ["k1"]
        for use in (lambda: other.submit(Nop()), other.synchronize, other.query, stream.synchronize):
            with pytest.raises(errors.KernelFault, match="the context stopped at an earlier failure: kernel k2"):
                use()
