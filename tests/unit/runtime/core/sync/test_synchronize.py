"""Waiting: limits, what is said when they pass, pauses, and Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.sync import synchronize as sync

WAITERS: dict[str, Callable[[Device, Stream, int], None]] = {
    "stream": lambda _device, stream, limit: stream.synchronize(limit),
    "device": lambda device, _stream, limit: device.synchronize(limit),
    "event": lambda device, stream, limit: device.create_event().record(stream).synchronize(limit),
}


@pytest.mark.parametrize("what", WAITERS)
@pytest.mark.parametrize(("limit", "message_id"), [(0, "EE1003"), (-2, "EH0007"), (-(1 << 40), "EH0007")])
def test_limits_that_mean_nothing(device: Device, stream: Stream, what: str, limit: int, message_id: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=f"timeout_ms is {limit}") as caught:
        WAITERS[what](device, stream, limit)
    assert (caught.value.code, caught.value.message_id) == (107000, message_id)


@pytest.mark.parametrize(("what", "code"), [("stream", 507046), ("device", 507046), ("event", 507047)])
def test_a_limit_that_passes(device: Device, stream: Stream, what: str, code: int) -> None:
    fake = device.hal.fake.device(0)
    fake.hold()
    stream.submit(Nop(), owner="the slow one")
    started = time.monotonic()
    with pytest.raises(errors.Timeout, match="running: the slow one at ring position 0") as caught:
        WAITERS[what](device, stream, 20)
    assert 0.02 <= time.monotonic() - started < 60
    assert caught.value.code == code
    assert isinstance(caught.value, TimeoutError)
    fake.release()
    stream.synchronize(30_000)


def test_one_limit_for_all_streams_of_a_device(device: Device) -> None:
    fake = device.hal.fake.device(0)
    fake.hold()
    streams = [device.create_stream() for _ in range(50)]
    for stream in streams:
        stream.submit(Nop())
    started = time.monotonic()
    with pytest.raises(errors.Timeout):
        device.synchronize(200)
    assert time.monotonic() - started < 9.0  # 10 s if each of them had its own
    fake.release()
    device.synchronize()


def test_an_idle_stream_does_not_wait(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync.time, "sleep", lambda _seconds: pytest.fail("an idle stream slept"))
    stream.synchronize()
    stream.synchronize(1)
    assert stream.query()


def test_a_waiting_thread_sleeps_longer_and_longer_up_to_a_limit(device: Device, stream: Stream,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    fake = device.hal.fake.device(0)

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 40:
            fake.release()

    monkeypatch.setattr(sync.time, "sleep", sleep)
    fake.hold()
    stream.submit(Nop())
    stream.synchronize()
    assert pauses[:40] == sorted(pauses[:40])
    assert 1e-6 < pauses[0] < 1e-4
    assert max(pauses) == 1e-3


def test_synchronize_waits_for_what_was_submitted_before_it(device: Device, stream: Stream) -> None:
    """Tasks that come later do not prolong it."""
    fake = device.hal.fake.device(0)
    fake.hold()
    for _ in range(10):
        stream.submit(Nop())
    waiting, done = threading.Event(), threading.Event()
    inner = stream.drain

    def wait() -> None:
        waiting.set()
        stream.synchronize()
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(30)
    del inner
    fake.step(10)
    assert done.wait(30)
    thread.join()
    fake.release()


def test_a_stream_closed_by_force_lets_its_waiters_go(device: Device) -> None:
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    stream.submit(Nop())
    device.hal.fake.device(0).queues[stream.queues.sq_id].enabled = False
    outcome: list[object] = []
    waiting = threading.Event()

    def wait() -> None:
        waiting.set()
        try:
            stream.synchronize()
            outcome.append("done")
        except errors.RuntimeFault as fault:
            outcome.append(fault.code)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(30)
    stream.close(force=True)
    thread.join(60)
    assert outcome in (["done"], [107017])
