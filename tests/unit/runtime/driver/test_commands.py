"""Queues of commands: the table of streams, reports in parts, and what goes to the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from fakes import kernels
from fakes.faults import Effect
from npuhal import constants as c
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.modes import FailureMode

TABLE, REPORTS = "ascend310p3", "ascend310"


@pytest.fixture(params=[TABLE, REPORTS])
def machine(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    made = Runtime(f"fake://{request.param}?check=all")
    yield made
    made.close(force=True)


@pytest.fixture
def device(machine: Runtime) -> Device:
    return machine.device(0)


@pytest.fixture
def add(device: Device) -> Kernel:
    kernel = device.load(minimal_kernel("add_custom", arguments=3)).only
    device.hal.fake.attach(kernel.code, kernels.add())
    return kernel


def test_commands_go_in_two_steps_and_each_stream_begins_and_ends_with_one(machine: Runtime, device: Device) -> None:
    with machine.hal.fake.faults.recording() as names, device.create_stream() as stream:
        stream.synchronize()
    sends = [name for name in names if name in ("halSqMemGet", "halSqMsgSend", "halSqTaskSend")]
    assert sends == ["halSqMemGet", "halSqMsgSend"] * 2
    kinds = [entry.kind for entry in machine.hal.fake.log if entry.stream == stream.stream_id]
    assert kinds == ["create_stream", "maintenance"]


def test_all_queues_of_a_device_share_one_completion_queue(device: Device) -> None:
    with device.create_stream() as one, device.create_stream() as two:
        assert one.queues.cq_id == two.queues.cq_id == device.default_stream.queues.cq_id
        assert one.queues.sq_id != two.queues.sq_id
    with device.create_stream() as again:
        again.synchronize()


def test_a_full_queue_waits_for_the_device(device: Device, add: Kernel) -> None:
    total = device.default_stream.ring.depth + 7
    x, y = device.upload(np.ones(8, np.float32)), device.upload(np.zeros(8, np.float32))
    with device.create_stream() as stream:
        for _ in range(total):
            add[1](x, y, y, stream=stream)
        stream.synchronize()
    assert device.download(y, "f4").tolist() == [float(total)] * 8


def test_ids_start_again(device: Device, add: Kernel) -> None:
    x, y = device.upload(np.ones(8, np.float32)), device.upload(np.zeros(8, np.float32))
    with device.create_stream() as stream:
        stream.synchronize()
        stream.ring.next_id = 0xFFFF - 3  # type: ignore[attr-defined]
        for _ in range(9):
            add[1](x, y, y, stream=stream)
        stream.synchronize()
        assert stream.query()
    assert device.download(y, "f4").tolist() == [9.0] * 8


@pytest.mark.parametrize(("effect", "code"), [
    (Effect.EXCEPTION, 507035), (Effect.TIMEOUT, 507034), (Effect.TRAP, 507036),
])
def test_a_stream_goes_on_behind_a_failed_command(device: Device, add: Kernel, effect: Effect, code: int) -> None:
    x, y = device.upload(np.ones(8, np.float32)), device.alloc(32)
    device.hal.fake.faults.on_task(effect, kind="kernel")
    with device.create_stream() as stream:
        for _ in range(2):  # the second one runs
            add[1](x, x, y, stream=stream)
        with pytest.raises(errors.KernelFault, match="kernel add_custom failed") as caught:
            stream.synchronize()
        assert caught.value.code == code
        assert caught.value.details["task_id"] == 1
        stream.synchronize()  # it is told once
    assert device.download(y, "f4").tolist() == [2.0] * 8


def test_the_first_failure_is_told_and_the_last_one_is_noted(device: Device, add: Kernel) -> None:
    x, seen = device.alloc(32), []
    device.runtime.exceptions.add(seen.append)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, times=3, kind="kernel")
    device.hal.fake.device(0).hold()
    with device.create_stream() as stream:
        for _ in range(3):
            add[1](x, x, x, stream=stream)
        device.hal.fake.device(0).release()
        with pytest.raises(errors.KernelFault) as caught:
            stream.synchronize()
        assert caught.value.details["task_id"] == 1
    told = [info.task_id for info in seen]
    assert told[0] == 1
    assert told[-1] == 3


def test_a_stream_in_stop_mode_ends_at_its_first_failure(device: Device, add: Kernel) -> None:
    x, y = device.upload(np.ones(8, np.float32)), device.upload(np.zeros(8, np.float32))
    device.hal.fake.faults.on_task(Effect.EXCEPTION, kind="kernel")
    stream = device.create_stream()
    stream.set_failure_mode(FailureMode.STOP)
    for _ in range(2):
        add[1](x, x, y, stream=stream)
    with pytest.raises(errors.RuntimeFault) as caught:
        stream.synchronize()
    assert caught.value.code == 507035
    assert device.hal.fake.memory.read(y.address, 32, "test") == bytes(32)
    stream.close(force=True)


def test_times_are_stored_or_reported(device: Device, add: Kernel) -> None:
    x = device.alloc(32)
    with (
        device.create_stream() as stream, device.create_event(timing=True) as start,
        device.create_event(timing=True) as end,
    ):
        for _ in range(3):  # words are used again
            stream.record(start)
            add[1](x, x, x, stream=stream)
            stream.record(end).synchronize()
            assert 0 < end - start < 1


def test_an_aborted_stream_goes_on_with_the_same_queue(device: Device, add: Kernel) -> None:
    x, y = device.upload(np.ones(8, np.float32)), device.alloc(32)
    with device.create_stream() as stream, device.create_notify() as never:
        before = stream.queues.sq_id
        never.wait(stream)
        stream.abort()
        assert stream.queues.sq_id == before
        add[1](x, x, y, stream=stream)
        stream.synchronize()
    assert device.download(y, "f4").tolist() == [2.0] * 8


def test_what_commands_cannot_say_is_refused_by_name(device: Device) -> None:
    with device.create_stream() as stream, device.create_event() as event:
        word = device.alloc(8)
        for call, name in ((lambda: stream.write_value(word, 1), "write value"),
                           (lambda: stream.wait_value(word, 1), "mem wait value")):
            with pytest.raises(errors.NotSupported, match=f"{device.chip.soc} has no task {name}") as caught:
                call()
            assert caught.value.code == 207000
        with pytest.raises(errors.NotSupported) as caught:
            stream.capture().__enter__()
        assert caught.value.code == 207000
        assert "model" not in str(caught.value.hint)  # which the chip has neither
        stream.record(event).synchronize()


def test_a_reservation_that_is_refused_is_asked_for_again(machine: Runtime, device: Device) -> None:
    with device.create_stream() as stream:
        machine.hal.fake.faults.on_call("halSqMemGet", c.DRV_ERROR_OUT_OF_CMD_SLOT, times=3)
        machine.hal.fake.faults.on_call("halSqMsgSend", c.DRV_ERROR_NO_RESOURCES)
        with device.create_event() as event:
            stream.record(event).synchronize()


def test_a_table_that_the_driver_refuses_leaves_nothing(machine: Runtime) -> None:
    if machine.machine.chip.soc.lower() != TABLE:
        pytest.skip("no table is shared")
    machine.hal.fake.faults.on_call("halSqCqAllocate", c.DRV_ERROR_OUT_OF_MEMORY)
    with pytest.raises(errors.RuntimeFault):
        machine.device(0)
    with machine.device(0) as device:
        device.synchronize()


def test_reports_are_read_in_parts() -> None:
    from chips.completion import TASK_REPORT as REPORT
    from runtime.driver.calls import HalCalls
    from runtime.driver.queues.task_reports import TaskReports

    class Driver:
        """Hands out a row of reports, once."""

        def __init__(self, *reports: bytes) -> None:
            self.data = ctypes.create_string_buffer(b"".join(reports))
            self.count = len(reports)

        def halCqReportIrqWait(self, *_: object) -> int:
            return 0 if self.count else int(c.DRV_ERROR_WAIT_TIMEOUT)

        def halCqReportGet(self, _device: int, _asked: object, got: object) -> int:
            got._obj.count, got._obj.reportPtr = self.count, ctypes.addressof(self.data)  # type: ignore[attr-defined]
            return 0

        def halReportRelease(self, *_: object) -> int:
            self.count = 0
            return 0

    first, last, high, stream = 1, 4, 0x4000, 5
    one = REPORT.pack(first | stream << 6, 7, 0x11, 0, high)
    other = REPORT.pack(first | last | stream << 6, 3, 0, 0, 0)
    rest = REPORT.pack(last | stream << 6, 7, 0x22, 0, high)
    reports = TaskReports(HalCalls(Driver(one, other, rest), 0))  # type: ignore[arg-type]
    assert reports.look(1024 + stream)
    assert not reports.look(9)
    assert (reports.last(1024 + stream), reports.last(stream), reports.last(9)) == (7, 3, None)
    assert reports.take(1024 + stream) == [one + rest]
    assert reports.take(1024 + stream) == []
    reports.begin(stream)
    assert (reports.last(stream), reports.take(stream)) == (None, [])
