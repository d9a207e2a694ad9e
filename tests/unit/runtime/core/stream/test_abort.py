"""Aborts: of a stream with work in it, of a whole device, and who is told."""

from __future__ import annotations

import threading

import pytest

from chips.tasks import Nop
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.stream import abort
from runtime.core.stream.abort import AbortPhase
from runtime.core.stream.failure import FailureMode

CHIPS = ("ascend910b1", "ascend950pr_9599?seed=1", "ascend950pr_9599?seed=2")


@pytest.fixture(params=CHIPS)
def device(request: pytest.FixtureRequest) -> Device:
    machine = Runtime(f"fake://{request.param}")
    yield machine.device(0)
    machine.close(force=True)


def test_an_aborted_stream_is_empty_and_usable_under_the_same_ids(device: Device) -> None:
    stream = device.create_stream()
    for _ in range(70):
        stream.submit(Nop())
    stream.synchronize(30_000)
    ended: list[int] = []
    device.hal.fake.device(0).hold(stream.stream_id)
    for number in range(3):
        stream.submit(Nop(), finished=lambda number=number: ended.append(number))
    ids = (stream.queues.sq_id, stream.queues.cq_id, stream.queues.logic_cq_id)
    abort.abort_stream(stream)
    assert ended == [0, 1, 2]
    assert (stream.queues.sq_id, stream.queues.cq_id, stream.queues.logic_cq_id) == ids
    assert stream.query()
    assert stream.ring.tail == 0
    for _ in range(70):
        stream.submit(Nop())
    stream.synchronize(30_000)
    assert len([entry for entry in device.hal.fake.log if entry.stream == stream.stream_id]) == 140


@pytest.mark.parametrize("call", ["halSqCqFree", "halSqCqAllocate", "halResourceConfig"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("after", ["abort", "close"])
def test_a_restart_that_the_driver_refuses_half_way(device: Device, call: str, nth: int, after: str) -> None:
    stream, ended = device.create_stream(), []
    device.hal.fake.device(0).hold(stream.stream_id)
    stream.submit(Nop(), finished=lambda: ended.append(1))
    faults = device.hal.fake.faults
    faults.on_call(call, "DRV_ERROR_INNER_ERR", nth)
    with pytest.raises(errors.RuntimeFault, match="refused"):
        stream.abort()
    faults.clear()
    assert ended == [1]
    stream.synchronize(30_000)
    with pytest.raises(errors.RuntimeFault, match="abort it again"):
        stream.submit(Nop())
    other = device.create_stream()  # does not get the numbers that are kept
    if after == "abort":
        stream.abort()
        stream.submit(Nop())
        stream.synchronize(30_000)
    for closed in (stream, other):
        closed.close()
    device.close()


def test_who_waits_for_an_aborted_stream_is_told(device: Device) -> None:
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    stream.submit(Nop())
    caught: list[errors.RuntimeFault] = []
    waiting = threading.Event()

    def wait() -> None:
        waiting.set()
        try:
            stream.synchronize(20_000)
        except errors.RuntimeFault as fault:
            caught.append(fault)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    while not stream.reports.lock.acquire(blocking=False):  # the waiter is inside once it has taken reports
        pass
    stream.reports.lock.release()
    abort.abort_stream(stream)
    thread.join()
    assert [fault.code for fault in caught] in ([107023], [])


def test_nothing_is_sent_while_a_stream_is_aborted(device: Device) -> None:
    stream = device.create_stream()
    stream.aborting = True
    stream.update_blocked()
    with pytest.raises(errors.DeviceAborted) as caught:
        stream.submit(Nop())
    assert caught.value.code == 107023
    with pytest.raises(errors.DeviceAborted):
        stream.synchronize(100)
    with pytest.raises(errors.DeviceAborted) as caught:
        abort.stop_stream(stream)
    assert caught.value.message_id == "EE1018"
    stream.aborting = False
    stream.update_blocked()
    stream.submit(Nop())
    stream.synchronize(30_000)


def test_a_full_ring_lets_its_sender_go_when_it_is_aborted(device: Device) -> None:
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    sent: list[int] = []
    caught: list[errors.RuntimeFault] = []

    def send() -> None:
        try:
            for number in range(stream.ring.depth + 10):
                stream.submit(Nop())
                sent.append(number)
        except errors.RuntimeFault as fault:
            caught.append(fault)

    thread = threading.Thread(target=send)
    thread.start()
    while len(sent) < stream.ring.depth - 1:
        thread.join(0.01)
    abort.abort_stream(stream)
    thread.join()
    assert len(sent) == stream.ring.depth - 1
    assert [fault.code for fault in caught] == [107023]


def test_stop_of_an_idle_stream_does_nothing(device: Device) -> None:
    stream = device.create_stream()
    abort.stop_stream(stream)
    stream.submit(Nop())
    stream.synchronize(30_000)


def test_stop_ends_the_running_task_and_keeps_what_is_behind_it(device: Device) -> None:
    stream, other = device.create_stream(), device.create_stream()
    for each in (stream, other):
        device.hal.fake.faults.on_task(Effect.HANG, stream=each.stream_id)
        for _ in range(3):
            each.submit(Nop())
    device.hal.fake.run_until_idle()
    abort.stop_stream(stream)
    with pytest.raises(errors.RuntimeFault, match="ring position") as caught:
        stream.synchronize(30_000)
    assert caught.value.code == 507000
    stream.synchronize(30_000)
    assert len([entry for entry in device.hal.fake.log if entry.stream == stream.stream_id]) == 3
    with pytest.raises(errors.Timeout):
        other.synchronize(20)


def test_stop_ends_a_value_wait_and_keeps_the_next_one(device: Device) -> None:
    stream, word, told = device.create_stream(), device.upload(bytes(8)), device.upload(bytes(8))
    for value in (1, 2):
        stream.wait_value(word, value)
        stream.write_value(told, value)
    device.hal.fake.run_until_idle()
    abort.stop_stream(stream)
    with pytest.raises(errors.Timeout):
        stream.synchronize(20)
    assert device.download(told, "u8").tolist() == [1]
    device.memory.write(word.address, (2).to_bytes(8, "little"))
    with pytest.raises(errors.RuntimeFault, match="value wait failed"):
        stream.synchronize(30_000)
    assert device.download(told, "u8").tolist() == [2]


@pytest.mark.parametrize("state", ["bound", "aborting", "device aborting"])
def test_streams_that_cannot_be_stopped(device: Device, state: str) -> None:
    stream = device.create_stream()
    stream.bound = object() if state == "bound" else None
    stream.aborting, device.aborting = state == "aborting", state == "device aborting"
    with pytest.raises(errors.RuntimeFault) as caught:
        abort.stop_stream(stream)
    expected = (507000, "EE1016") if state == "bound" else (107023, "EE1018")
    assert (caught.value.code, caught.value.message_id) == expected
    stream.bound, stream.aborting, device.aborting = None, False, False


def test_a_bound_stream_is_not_aborted(device: Device) -> None:
    stream = device.create_stream()
    stream.bound = object()
    with pytest.raises(errors.RuntimeFault) as caught:
        abort.abort_stream(stream)
    assert (caught.value.code, caught.value.message_id) == (507000, "EE1016" if stream.counts_ids else "EE1006")
    stream.bound = None


def test_a_device_abort_ends_everything_and_tells(device: Device) -> None:
    told: list[tuple[int, int]] = []
    device.runtime.abort_observers.register("test", lambda user_id, phase: told.append((user_id, phase)))
    streams = [device.create_stream() for _ in range(3)]
    for stream in streams:
        device.hal.fake.device(0).hold(stream.stream_id)
        stream.submit(Nop())
    abort.abort_device(device, 1000)
    assert told == [(0, AbortPhase.PRE), (0, AbortPhase.POST)]
    for stream in streams:
        assert stream.query()
        stream.submit(Nop())
        stream.synchronize(30_000)
    device.default_stream.submit(Nop())
    device.synchronize(30_000)


def test_a_context_that_has_stopped_at_a_failure_goes_on_after_a_device_abort(device: Device) -> None:
    failing, other = device.create_stream(), device.create_stream()
    failing.set_failure_mode(FailureMode.STOP)
    for _ in range(2):
        device.hal.fake.faults.on_task(Effect.EXCEPTION, stream=failing.stream_id)
        failing.submit(Nop())
        for stream in (failing, other):
            with pytest.raises(errors.RuntimeFault, match="507001"):
                stream.synchronize(30_000)
        abort.abort_device(device, 1000)
        for stream in (failing, other):
            assert stream.query()
            stream.submit(Nop())
            stream.synchronize(30_000)
        assert failing.failure_mode is FailureMode.STOP


@pytest.mark.parametrize("timeout", [-1, 2_160_001])
def test_the_limit_of_a_device_abort_has_a_range(device: Device, timeout: int) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        abort.abort_device(device, timeout)
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")


@pytest.mark.parametrize(("chip", "refused"), [("ascend910b1", True), ("ascend950pr_9599", False)])
def test_the_capability_is_asked_for_on_v100_only(chip: str, refused: bool) -> None:
    machine = Runtime(f"fake://{chip}?ts_capability=00000000000000")
    device = machine.device(0)
    stream = device.create_stream()
    for end in (lambda: abort.abort_stream(stream), lambda: abort.abort_device(device)):
        if refused:
            with pytest.raises(errors.NotSupported) as caught:
                end()
            assert (caught.value.code, caught.value.message_id) == (207000, "EE1001")
        else:
            end()
    if refused:
        with pytest.raises(errors.NotSupported, match="MC2_ENHANCE") as caught:
            abort.stop_stream(stream)
        assert caught.value.message_id == ""
    else:
        abort.stop_stream(stream)
    machine.close(force=True)
