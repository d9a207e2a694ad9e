"""What the driver is asked for instead of assumed: priorities of queues, memory for events that processes share."""

from __future__ import annotations

import struct

import pytest

from fakes.machine import aborts
from runtime import errors
from runtime.api import Device
from runtime.core.stream.priority import scheduler_priority, set_scheduler_priority
from runtime.core.sync import shared_event
from runtime.driver.calls import HalCalls


def test_the_scheduler_is_asked_for_the_priority_of_a_queue(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = device.context.create_stream(priority=3)
    set_scheduler_priority(stream, 6)
    assert scheduler_priority(stream) == 0  # what the recorded scheduler tells
    given: list[int] = []
    known = dict(aborts._HANDLERS)

    def answer(_card: object, body: bytes) -> bytes:
        given.extend(struct.unpack_from("<4I", body))
        return struct.pack("<4I", 0, 0, 0, 5)

    monkeypatch.setattr(aborts, "_HANDLERS", {**known, 14: answer, 15: answer})
    set_scheduler_priority(stream, 6)
    assert scheduler_priority(stream) == 5
    sq_id = stream.queues.sq_id
    assert given == [sq_id, 0, 0, 6, sq_id, 0, 0, 0]
    assert stream.priority == 3


def test_a_driver_without_priorities_is_passed_on(device: Device) -> None:
    stream = device.context.create_stream()
    device.hal.fake.faults.on_call("halTsdrvCtl", "DRV_ERROR_NOT_SUPPORT", times=2)
    with pytest.raises(errors.NotSupported, match="control message 15"):
        scheduler_priority(stream)
    with pytest.raises(errors.NotSupported, match="control message 14"):
        set_scheduler_priority(stream, 1)


def test_a_driver_without_shared_events_is_asked_first(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HalCalls, "supports", lambda _self, feature: feature != "FEATURE_SVM_VMM_NORMAL_GRANULARITY")
    with pytest.raises(errors.NotSupported, match="no memory for events that processes share") as caught:
        shared_event.SharedWords(device.context.device)
    assert caught.value.code == 207000
