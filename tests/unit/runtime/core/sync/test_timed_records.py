"""Records with a time stamp by prepared sends: entries of the slow path, the time, nothing left of failures."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Stream
from runtime.core.stream import stream as streams
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from tests.tools.interrupts import Interrupter

KINDS = {
    "renewed": (EventFlag.DDSYNC | EventFlag.TIME_LINE, True),
    "plain, all flags": (EventFlag.DEFAULT, False),
    "plain, waited for": (EventFlag.SYNC | EventFlag.TIME_LINE, False),
    "plain, a mark": (EventFlag.TIME_LINE, False),
}
_NUMBERS = frozenset({"task_id", "task_sn", "event_id", "count", "cnt_value", "notify_id"})


@pytest.mark.parametrize("kind", KINDS)
def test_later_records_are_prepared_and_those_of_the_slow_path(
    kind: str, device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, slow = stream.senders[1], streams.submit
    sent: list[bytes] = []
    ways: list[str] = []

    def watched(device_id: int, reference: Any) -> int:
        sent.append(ctypes.string_at(reference._obj.sqe_addr, 64))
        return int(original(device_id, reference))

    def noted(*arguments: Any, **options: Any) -> Any:
        ways.append("slow")
        return slow(*arguments, **options)

    original = sender.send
    monkeypatch.setattr(sender, "send", watched)
    monkeypatch.setattr(streams, "submit", noted)
    flags, renewed = KINDS[kind]
    times = []
    with Event(device, flags, renewed=renewed) as event:
        for _ in range(70):  # over a tick
            event.record(stream)
            event.synchronize(10_000)
            times.append(event.timestamp_ticks)
    assert ways == ["slow"]
    assert times == sorted(set(times))
    assert len(sent) == 70
    fields = [stream.plugin.decode(raw).fields for raw in sent]
    constant = [{name: value for name, value in each.items() if name not in _NUMBERS} for each in fields]
    assert all(each == constant[0] for each in constant)
    assert not stream.reports.expected
    assert not stream.ring.completion_callbacks


def test_a_wait_for_a_timed_record_is_prepared_too(device: Device, stream: Stream) -> None:
    fake = device.hal.fake.device(0)
    with device.create_event(timing=True) as event, device.create_stream() as other:
        for _ in range(3):
            fake.hold(stream.stream_id)
            event.record(stream)
            event.wait(other)
            assert not other.query()
            fake.release(stream.stream_id)
            other.synchronize(10_000)
            assert event.query()
            assert event.timestamp_ticks > 0


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_expected_of_a_record_that_was_not_sent(
    kind: str, device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags, renewed = KINDS[kind]
    sender = stream.senders[1]
    broken: list[BaseException] = []
    original = sender.send

    def send(device_id: int, reference: Any) -> int:
        if broken:
            raise broken[0]
        return int(original(device_id, reference))

    monkeypatch.setattr(sender, "send", send)
    with Event(device, flags, renewed=renewed) as event:
        event.record(stream)
        event.synchronize(10_000)
        held, first = device.signals.ids.held, event.timestamp_ticks
        broken.append(errors.fault("RT_ERROR_DRV_ERR", "refused"))
        for _ in range(2):
            with pytest.raises(errors.RuntimeFault, match="refused"):
                event.record(stream)
            assert not stream.reports.expected
            assert device.signals.ids.held == held
        broken.clear()
        assert event.timestamp_ticks == first
        event.record(stream).synchronize(10_000)
        assert event.timestamp_ticks > first


def test_ctrl_c_leaves_no_report(device: Device, stream: Stream) -> None:
    interrupter = Interrupter("sync/event.py", "sync/signals.py", "submission/prepared.py", "submission/repair.py")
    with device.create_event(timing=True) as event:
        event.record(stream).synchronize(10_000)
        for place in range(200):
            interrupted = interrupter.run(lambda: event.record(stream), place)
            stream.synchronize(10_000)
            assert not stream.reports.expected, f"place {place}"
            assert stream.ring.pending == 0
            event.record(stream).synchronize(10_000)
            assert event.timestamp_ticks > 0
            if not interrupted:
                break
        else:
            raise AssertionError("more than 200 places")
        assert place > 5
        # Between two calls an id belongs to nobody: the device takes it back when it is closed.
        assert device.signals.ids.held < place / 2, f"{device.signals.ids.held} ids are held after {place} interrupts"
