"""What users met when a later message hid the first one: headlines, chains, failure records, exhaustion, order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime
from runtime.capi.aclrt import Out
from runtime.core.stream.failure import FailureMode
from tests.reports.calls import Caller
from tests.unit.runtime.machines import MakeKernel, OpenMachine


@pytest.fixture(params=["ascend910b1", "ascend950pr_9599"])
def api(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """An initialised process on a machine with two cards."""
    caller = Caller(f"fake://{request.param}?devices=2&kernels=noop")
    assert caller.aclInit() == 0
    yield caller
    caller.acl.close()


# -- the headline --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "problem", "words"),
    [
        ("halDeviceOpen", "DRV_ERROR_BUSY", ("halDeviceOpen", "device 1", "BUSY")),
        ("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", ("halMemAlloc", "bytes", "OUT_OF_MEMORY", "free memory")),
        ("TsdOpen", 31, ("device helper process", "TsdOpen", "31")), ("TsdOpenEx", 31, ("device helper", "31")),
        ("halDeviceOpen", "DRV_ERROR_REPEATED_INIT", ("already open", "another runtime")),
    ],
)  # fmt: skip
def test_a_device_that_does_not_open_names_the_true_cause_first(
    api: Caller, call: str, problem: str | int, words: tuple[str, ...]
) -> None:
    api.fake.faults.on_call(call, problem, times=0)
    code = api.aclrtSetDevice(deviceId=1)
    if not code and call.startswith("Tsd"):
        pytest.skip("this chip starts its processes by the other function")
    assert code == 507033
    first = api.text.partition("\n")[0]
    for word in words:
        assert word in api.text
    assert "context" not in first
    assert words[0] in first


def test_asking_for_the_text_leaves_the_reason_on_top(api: Caller) -> None:
    api.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_BUSY", times=0)
    api.acl.call("aclrtSetDevice", deviceId=1)
    api.acl.call("aclrtCreateStream", stream=Out())
    assert api.acl.reports.message_ids()[-1] != "EE1018" or len(api.acl.reports.message_ids()) == 1
    text = api.acl.reports.take_text()
    assert "halDeviceOpen" in text.partition("\n")[0]
    assert text.index("BUSY") < text.index("no valid context")
    assert api.acl.reports.take_text() == ""


# -- the chain -----------------------------------------------------------------------------------------------------


def test_each_family_has_its_class_and_the_first_error_stays_in_reach(api: Caller) -> None:
    assert api.aclrtSetDevice(deviceId=0) == 0
    stream = api.make("aclrtCreateStream", "stream")
    block = api.make("aclrtMalloc", "devPtr", size=64, policy=0)
    api.fake.faults.on_call("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", times=0)
    assert api.aclrtMalloc(devPtr=Out(), size=1 << 20, policy=0) == 207001
    api.fake.faults.clear()
    api.fake.device(0).hold()
    assert api.aclrtMemsetAsync(devPtr=block, maxCount=64, value=0, count=64, stream=stream) == 0
    assert api.aclrtSynchronizeStreamWithTimeout(stream=stream, timeout=10) == 507046
    first, last = api.acl.reports.history()
    assert (first.code, last.code) == (207001, 507046)
    assert isinstance(first, MemoryError)
    assert isinstance(last, TimeoutError)
    assert not isinstance(last, MemoryError)
    assert (api.acl.call("aclrtPeekAtLastError", level=0), api.acl.call("aclrtGetLastError", level=0)) == (507046,) * 2
    assert api.acl.call("aclrtGetLastError", level=0) == 0
    assert api.acl.reports.history() == ()
    api.fake.device(0).release()
    assert api.aclrtSynchronizeStream(stream=stream) == 0


# -- which task failed ---------------------------------------------------------------------------------------------


def run_three(device: Device, make_kernel: MakeKernel, stream: object) -> None:
    """Launch three kernels, of which the second and the third fail."""
    buffer = device.alloc(64)
    for name in ("fine", "bad_a", "bad_b"):
        if name != "fine":
            device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel=name)
        make_kernel(name)[1](buffer, stream=stream)


def test_in_continue_mode_first_and_last_failure_are_kept(device: Device, make_kernel: MakeKernel) -> None:
    stream = device.create_stream()
    run_three(device, make_kernel, stream)
    while stream.ring.pending:
        stream.query()
    record = stream.failure
    assert record.first is not None
    assert "bad_a" in str(record.first.details["task"])
    assert "bad_b" in str(record.later[-1].details["task"])
    assert record.later[-1].__cause__ is record.first
    for fact in ("stream_id", "task_id", "position", "error_type"):
        assert fact in record.first.details
    with pytest.raises(errors.KernelFault, match="bad_a"):
        stream.synchronize()
    stream.synchronize()


def test_in_stop_mode_nothing_runs_behind_the_failure_and_the_context_stops(
    device: Device, make_kernel: MakeKernel
) -> None:
    stream, other = device.create_stream(), device.create_stream()
    stream.set_failure_mode(FailureMode.STOP)
    run_three(device, make_kernel, stream)
    with pytest.raises(errors.KernelFault, match="bad_a"):
        stream.synchronize()
    executed = [entry for entry in device.hal.fake.log if entry.stream == stream.stream_id]
    assert len(executed) == 2  # the one that failed was the last
    with pytest.raises(errors.KernelFault, match="bad_a") as refused:
        other.fill(device.alloc(64), 1)
    assert refused.value.__cause__ is device.context.failure.first
    with pytest.raises(errors.KernelFault, match="bad_a"):
        device.synchronize()


# -- streams run out -----------------------------------------------------------------------------------------------


def test_streams_that_run_out_during_a_capture_are_called_streams(open_machine: OpenMachine) -> None:
    api = Caller("fake://ascend910b1?streams=16")
    assert (api.aclInit(), api.aclrtSetDevice(deviceId=0)) == (0, 0)
    streams = [api.make("aclrtCreateStream", "stream") for _ in range(13)]
    assert api.aclmdlRICaptureBegin(stream=streams[0], mode=2) == 0
    event = api.make("aclrtCreateEventExWithFlag", "event", flag=1)
    assert api.aclrtRecordEvent(event=event, stream=streams[0]) == 0
    assert api.aclrtStreamWaitEvent(event=event, stream=streams[1]) in (207005, 207008)
    for words in ("this process holds 15 streams", "device 0 has 16", "16 are used", "graphs", "calls.py"):
        assert words in api.text
    for words in ("storage", "disk", "memory"):
        assert words not in api.text.lower()
    api.acl.close()


# -- order -------------------------------------------------------------------------------------------------------


def test_launches_by_object_by_handle_and_by_task_keep_their_order(
    device: Device, make_kernel: MakeKernel
) -> None:
    """There is no queue in front of the stream's: each call has put its task into the ring when it returns."""
    from chips.tasks import Nop

    stream, order = device.create_stream(), []
    device.hal.fake.device(0).hold(stream.stream_id)
    first, third = (make_kernel(name, lambda _c, name=name: order.append(name)) for name in ("first", "third"))
    buffer = device.alloc(64)
    first[1](buffer, stream=stream)
    stream.submit(Nop(), finished=lambda: order.append("second"))
    third.launch(device.runtime.handles.get(stream.handle, type(stream)), 1, buffer)
    assert stream.ring.pending == 3
    assert "3 pending" in repr(stream)
    device.hal.fake.device(0).release(stream.stream_id)
    stream.synchronize()
    assert [name for name in order if name != "second"] == ["first", "third"]
    done = [entry.position for entry in device.hal.fake.log if entry.stream == stream.stream_id]
    assert done == [0, 1, 2]
    assert "second" in order


def test_the_runtime_of_a_machine_names_what_it_runs_on(machine: Runtime) -> None:
    assert "fake://" in repr(machine)
