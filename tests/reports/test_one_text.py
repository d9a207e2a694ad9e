"""The C API says of a failure what the error of Python says: which object, made and ended where, by whom."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from runtime import errors
from runtime.api import Device
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.errors.reports import ThreadReports
from runtime.feature.graph.editing import task_group as groups
from runtime.feature.graph.recording import capture
from tests.reports.calls import Caller, in_thread

HERE = __file__.rpartition("/")[2]
CHIPS = ("ascend910b1", "ascend950pr_9599")


@pytest.fixture(scope="module", params=CHIPS)
def api(request: pytest.FixtureRequest) -> Iterator[Caller]:
    caller = Caller(f"fake://{request.param}?devices=2")
    assert caller.aclrtSetDevice(deviceId=0) == 0
    yield caller
    caller.acl.runtime.close(force=True)


def test_whatever_is_posted_is_the_text_of_the_error() -> None:
    for code in (100000, 107003, 107017, 107029, 107033, 207000, 207001, 507033):
        for ee, params in (("", ()), ("EE1016", ("call", "another text"))):
            fault = errors.fault(code, f"what has happened to {code}", ee=ee, params=params, hint="do otherwise")
            reports = ThreadReports()
            reports.post(fault)
            assert reports.take_text() == (f"{ee}: " if ee else "") + str(fault)


def test_a_stream_that_is_gone_is_told_with_its_number_and_places(api: Caller) -> None:
    stream = api.make("aclrtCreateStream", "stream")
    number = api.make("aclrtStreamGetId", "streamId", stream=stream)
    assert api.aclrtDestroyStream(stream=stream) == 0
    for call in (api.aclrtSynchronizeStream, api.aclrtDestroyStream):
        assert call(stream=stream) == 107017
        assert f"it was stream {number} of device 0, made at " in api.text
        assert api.text.count("calls.py") == 2, api.text  # made and destroyed


def test_python_says_the_same_of_a_closed_stream(api: Caller) -> None:
    device = api.acl.runtime.device(0)
    stream = device.create_stream()
    stream.close()
    with pytest.raises(errors.InvalidHandle) as caught:
        stream.synchronize()
    assert str(caught.value).count(HERE) == 2
    assert api.aclrtSynchronizeStream(stream=stream.handle) == 107017
    known = caught.value.message.partition(": ")[2]
    assert known in api.text


def test_an_object_of_another_kind_is_named(api: Caller) -> None:
    stream = api.make("aclrtCreateStream", "stream")
    event = api.make("aclrtCreateEventExWithFlag", "event", flag=1)
    assert api.aclrtRecordEvent(event=stream, stream=stream) == 107017
    assert "is no live event: it is the handle of stream" in api.text
    assert "pass the handle of an event" in api.text
    assert api.aclrtSynchronizeStream(stream=event) == 107017
    assert "is no live stream: it is the handle of event" in api.text
    assert api.aclrtSynchronizeStream(stream=0x7FFF_0000_0001) == 107017
    assert "never given out" in api.text
    assert (api.aclrtDestroyEvent(event=event), api.aclrtDestroyStream(stream=stream)) == (0, 0)
    assert api.aclrtDestroyEvent(event=event) == 107017
    assert "it was event of device 0, destroyed before; NPUHAL_TRACE_CREATION=1 tells where" in api.text


def test_a_stream_that_is_captured_tells_graph_and_place(api: Caller) -> None:
    stream, other = api.make("aclrtCreateStream", "stream"), api.make("aclrtCreateStream", "stream")
    event = api.make("aclrtCreateEventExWithFlag", "event", flag=1)
    assert api.aclmdlRICaptureBegin(stream=stream, mode=2) == 0
    assert api.aclrtDestroyStream(stream=stream) == 107027
    assert "into graph" in api.text
    assert "in RELAXED mode" in api.text
    assert f"by thread {threading.get_ident()}" in api.text
    assert api.text.count("calls.py") == 2  # the stream, and the begin of the capture
    assert api.aclrtRecordEvent(event=event, stream=stream) == 0
    assert api.aclrtStreamWaitEvent(stream=other, event=event) == 0
    assert api.aclrtDestroyStream(stream=other) == 107027
    assert "pulled into the capture by a wait for a captured event at " in api.text
    assert api.aclmdlRICaptureEnd(stream=other, modelRI=Out()) == 107036
    assert "pulled into the capture" in api.text
    assert api.aclmdlRICaptureEnd(stream=stream, modelRI=Out()) == 107025
    assert "does not lead back to stream" in api.text
    assert "pulled into the capture by a wait for a captured event at " in api.text
    assert (api.aclrtDestroyStream(stream=other), api.aclrtDestroyStream(stream=stream)) == (0, 0)


def test_a_task_group_tells_thread_and_graph(api: Caller) -> None:
    device = api.acl.runtime.device(0)
    kernel = device.load(minimal_kernel("k", 1)).only
    one, two = device.create_stream(), device.create_stream()
    event = device.create_event()
    graph = capture.begin(one, capture.CaptureMode.RELAXED)
    two.wait(one.record(event))
    in_thread(lambda: groups.begin_group(two), "its owner")
    for refused in (
        lambda: groups.begin_group(two), lambda: kernel[1](0, stream=one), lambda: groups.end_group(one),
    ):
        with pytest.raises(errors.RuntimeFault, match=rf"task group of graph {graph.model_id} .*'its owner'") as caught:
            refused()
        assert HERE in str(caught.value)
    assert api.acl.call("aclmdlRICaptureTaskGrpBegin", stream=two.handle) == 107033
    assert "'its owner'" in api.acl.reports.take_text()
    graph.abandon("it was tried")
    graph.close(force=True)
    two.close()
    one.close()


def blocked(device: Device, mode: capture.CaptureMode, *, own: bool) -> str:
    """Return the cure for a copy that a capture, of this or of another thread, forbids."""
    stream, buffer = device.create_stream(), device.alloc(64)

    def begin() -> Callable[[], None]:
        graph = capture.begin(stream, mode)
        return lambda: graph.abandon("enough")

    end = begin() if own else in_thread(begin)
    try:
        with pytest.raises(errors.CaptureError) as caught:
            device.copy(buffer, bytes(64))
    finally:
        end()
        stream.close()
    return caught.value.hint


def test_the_cure_for_a_forbidden_wait_is_none_that_holds_already(api: Caller) -> None:
    device = api.acl.runtime.device(0)
    mode = capture.CaptureMode
    for own_mode in (mode.GLOBAL, mode.THREAD_LOCAL):
        hint = blocked(device, own_mode, own=True)
        assert "begin this thread's capture in relaxed mode" in hint
        assert "thread-local" not in hint
    hint = blocked(device, mode.GLOBAL, own=False)
    assert "begin the other thread's capture in thread-local or relaxed mode" in hint
    assert "this thread's capture" not in hint


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_a_second_free_and_a_free_inside_a_block_say_what_they_are(soc: str) -> None:
    caller = Caller(f"fake://{soc}")
    with contextlib.closing(caller.acl):
        assert caller.aclrtSetDevice(deviceId=0) == 0
        block, other = (caller.make("aclrtMalloc", "devPtr", size=4096, policy=0) for _ in range(2))
        assert caller.aclrtFree(devPtr=block) == 0
        for _ in range(2):
            assert caller.aclrtFree(devPtr=block) != 0
            assert "it was freed before, lies inside of a block, or did not come from an allocation" in caller.text
        assert caller.aclrtFree(devPtr=other + 64) != 0
        assert "lies inside of a block" in caller.text
        assert caller.aclrtFree(devPtr=other) == 0
        assert not caller.acl.runtime.device(0).resource_table.refused, "nothing that is to be tried again"


def test_what_a_reset_has_closed_names_the_line_of_the_reset() -> None:
    caller = Caller("fake://ascend910b3")
    with contextlib.closing(caller.acl):
        assert caller.aclrtSetDevice(deviceId=0) == 0
        stream = caller.make("aclrtCreateStream", "stream")
        assert caller.aclrtResetDevice(deviceId=0) == 0
        assert caller.aclrtSynchronizeStream(stream=stream) == 107017
        assert "contextlib" not in caller.text
        assert "destroyed at" in caller.text


def test_a_null_is_told_with_what_to_pass(api: Caller) -> None:
    for call, name in ((api.aclrtMalloc, "devPtr"), (api.aclrtDestroyEvent, "event")):
        more = {"devPtr": {"size": 64, "policy": 0}}.get(name, {})
        assert call(**{name: 0}, **more) != 0
        assert f"{name} is NULL" in api.text
        assert api.text.endswith(f"cure: pass a valid {name}")
