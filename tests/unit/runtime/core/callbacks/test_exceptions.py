"""Exception callbacks: who is called, in which order, and what they must not break."""

from __future__ import annotations

import pytest

from chips.tasks import Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.callbacks.exceptions import ExceptionCallbacks, ExceptionInfo, ExceptionKind
from runtime.core.sync import synchronize as sync

INFO = ExceptionInfo(ExceptionKind.TASK_FAILURE, 0, 1, 2, 3, 507015)


def test_modules_come_first_and_twice_added_is_called_once() -> None:
    calls: list[str] = []
    callbacks = ExceptionCallbacks()

    def everyone(_info: ExceptionInfo) -> None:
        calls.append("everyone")

    callbacks.add(everyone)
    callbacks.add(everyone)
    callbacks.set_module("m", lambda _info: calls.append("old"))
    callbacks.set_module("m", lambda _info: calls.append("m"))
    callbacks.notify(INFO)
    assert calls == ["m", "everyone"]
    callbacks.set_module("m", None)
    callbacks.remove(everyone)
    callbacks.remove(everyone)
    callbacks.notify(INFO)
    assert calls == ["m", "everyone"]


def test_what_a_callback_raises_stays_with_it(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []
    callbacks = ExceptionCallbacks()
    callbacks.add(lambda _info: 1 // 0)
    callbacks.add(lambda info: calls.append(info.error_code))
    callbacks.notify(INFO)
    assert calls == [507015]
    assert "an exception callback raised" in caplog.text


def test_a_failed_task_is_told_with_no_lock_held(device: Device, stream: Stream) -> None:
    told: list[ExceptionInfo] = []

    def notify(info: ExceptionInfo) -> None:
        told.append(info)
        stream.submit(Nop())  # would hang if a lock of the stream were held

    device.runtime.exceptions.add(notify)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, stream=stream.stream_id)
    stream.submit(Nop())
    with pytest.raises(errors.DeviceFault) as caught:
        stream.synchronize(30_000)
    assert [info.kind for info in told] == [ExceptionKind.TASK_FAILURE]
    assert told[0].fault is caught.value
    assert (told[0].error_code, told[0].stream_id, told[0].device_id) == (507001, stream.stream_id, 0)
    stream.synchronize(30_000)


def test_a_long_wait_is_told_again_and_again(
    device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[ExceptionInfo] = []
    device.runtime.exceptions.add(told.append)
    now = iter(range(0, 100_000, 50))
    monkeypatch.setattr(sync.time, "monotonic", lambda: float(next(now)))
    device.hal.fake.device(0).hold(stream.stream_id)
    stream.submit(Nop())
    with pytest.raises(errors.Timeout):
        stream.synchronize(600_000)
    assert {info.kind for info in told} == {ExceptionKind.TASK_TIMEOUT}
    assert len(told) == 3  # after 180, 360 and 540 of 600 seconds
    assert told[0].error_code == 507046


def test_a_stream_id_that_the_driver_keeps_is_told(device: Device, stream: Stream) -> None:
    told: list[ExceptionInfo] = []
    device.runtime.exceptions.add(told.append)
    device.hal.fake.faults.on_call("halResourceIdFree", "DRV_ERROR_IOCRL_FAIL")
    with pytest.raises(errors.RuntimeFault):
        stream.close()
    assert [info.kind for info in told] == [ExceptionKind.STREAM_ID_FREE_FAILED]
