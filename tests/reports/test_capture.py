"""What users have reported about capturing streams into graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.driver.resources import STREAM
from runtime.feature import graph
from runtime.feature.graph import CaptureMode, CaptureStatus, Graph, NodeKind
from tests.contract.holdings import holdings
from tests.unit.runtime.machines import OpenMachine

URLS = ("fake://ascend910b1?seed=1", "fake://ascend910b1?seed=1&swsq=0", "fake://ascend950pr_9599?seed=1")


@pytest.fixture(params=URLS)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Runtime:
    """A machine whose graphs have software or hardware queues."""
    return open_machine(request.param)


@pytest.fixture
def log() -> list[int]:
    """What the kernel `note` was launched with."""
    return []


@pytest.fixture
def note(device: Device, log: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    kernel = device.load(minimal_kernel("note", 1), name="note").only
    device.hal.fake.attach(kernel.code, lambda context: log.append(context.args[0]), name="note", grid=True)
    return kernel


def code_of(function: Callable[[], Any]) -> int:
    """Return the code that a call fails with, 0 if it does not."""
    try:
        function()
    except errors.RuntimeFault as fault:
        return fault.code
    return 0


# -- streams that do not lead back -------------------------------------------------------------------------------------


def test_a_stream_left_outside_is_named_with_its_story_and_the_next_capture_works(
    device: Device, note: Kernel, log: list[int]
) -> None:
    first, second = device.create_stream(), device.create_stream(name="side")
    fork = device.create_event(name="fork")
    graph.begin(first).sites = True
    first.record(fork)
    second.wait(fork)
    note[1](1, stream=second)
    with pytest.raises(errors.CaptureError) as raised:
        graph.end(first)
    assert raised.value.code == 107025
    text = str(raised.value)
    for part in (f"stream {second.stream_id} (side)", second.site, "fork", "its last task is", "note", __file__):
        assert part in text
    with pytest.raises(errors.CaptureError) as raised:
        graph.end(first)
    assert raised.value.code == 107029
    assert "the last one has ended with an error" in str(raised.value)
    with first.capture() as made:
        note[1](2, stream=first)
    made.launch(first)
    first.synchronize(30_000)
    assert log == [2]


@pytest.mark.parametrize("how", ["no wait for it", "a task behind the record"])
def test_a_branch_must_end_in_a_record_that_is_waited_for(device: Device, note: Kernel, how: str) -> None:
    first, second = device.create_stream(), device.create_stream()
    fork, join = device.create_event(), device.create_event()
    graph.begin(first)
    first.record(fork)
    second.wait(fork)
    second.record(join)
    if how == "a task behind the record":
        first.wait(join)
        note[1](1, stream=second)
    assert code_of(lambda: graph.end(first)) == 107025
    assert graph.status(first) == graph.status(second) == (CaptureStatus.NONE, None)


def test_a_branch_may_lead_back_through_another_one(device: Device, note: Kernel, log: list[int]) -> None:
    first, second, third = (device.create_stream() for _ in range(3))
    events = [device.create_event() for _ in range(3)]
    with first.capture() as made:
        second.wait(first.record(events[0]))
        note[1](1, stream=second)
        third.wait(second.record(events[1]))
        note[1](2, stream=third)
        first.wait(third.record(events[2]))
        assert code_of(lambda: graph.end(second)) == 107036
    made.launch(first)
    first.synchronize(30_000)
    assert log == [1, 2]


def test_the_end_of_another_thread_drops_a_capture(device: Device) -> None:
    stream, codes = device.create_stream(), list[int]()
    graph.begin(stream)
    other = threading.Thread(target=lambda: codes.append(code_of(lambda: graph.end(stream))))
    other.start()
    other.join()
    assert codes == [107038]
    assert graph.status(stream) == (CaptureStatus.NONE, None)


# -- waiting during a capture ------------------------------------------------------------------------------------------


def test_the_host_cannot_wait_for_what_is_captured_and_the_capture_goes_on(device: Device, note: Kernel) -> None:
    stream, event = device.create_stream(), device.create_event()
    graph.begin(stream)
    note[1](1, stream=stream)
    assert [code_of(stream.synchronize), code_of(stream.query)] == [107027, 107027]
    stream.record(event)
    assert [code_of(event.synchronize), code_of(event.query)] == [107028, 107028]
    assert code_of(stream.close) == 107027
    graph.end(stream).close()


def test_another_threads_copy_is_refused_by_name_without_harm(device: Device, note: Kernel) -> None:
    stream, target = device.create_stream(), device.alloc(128)
    answers: list[tuple[int, str]] = []

    def copy() -> None:
        try:
            device.copy(target, np.zeros(72, "u1"))
            answers.append((0, ""))
        except errors.RuntimeFault as fault:
            answers.append((fault.code, f"{fault} {fault.hint}"))

    def others() -> None:
        copy()
        for mode in (CaptureMode.RELAXED, CaptureMode.THREAD_LOCAL):
            before = graph.exchange_mode(device.context, mode)
            copy()
            graph.exchange_mode(device.context, before)

    graph.begin(stream)
    thread = threading.Thread(target=others)
    thread.start()
    thread.join()
    note[1](1, stream=stream)
    graph.end(stream).close()
    assert [code for code, _ in answers] == [107030, 0, 0]
    assert f"thread {threading.get_ident()} in GLOBAL mode" in answers[0][1]
    assert "exchange" in answers[0][1]


def test_pageable_memory_in_and_beside_a_capture(device: Device) -> None:
    stream, beside, target = device.create_stream(), device.create_stream(), device.alloc(64)
    pageable, pinned = bytearray(64), device.alloc_host(64)
    graph.begin(stream)
    with pytest.raises(errors.InvalidArgument) as raised:
        stream.copy(target, pageable)
    assert (raised.value.code, raised.value.message_id) == (107000, "EE1016")
    assert "pageable" in str(raised.value)
    stream.copy(target, pinned)
    assert code_of(lambda: beside.copy(target, pageable)) == 107041
    made = graph.end(stream)
    assert sum(node.template.type.name == "MEMCPY" for node in made.nodes) == 1
    made.close()


# -- resources ---------------------------------------------------------------------------------------------------------


def test_streams_that_run_out_at_the_begin_of_a_capture_are_counted() -> None:
    machine = Runtime("fake://ascend910b1?seed=1&streams=16")
    device = machine.device(0)
    made = []
    while (code := code_of(lambda: made.append(device.create_stream()))) == 0:
        pass
    assert code in (207005, 207008)
    with pytest.raises(errors.ResourceExhausted) as raised:
        graph.begin(made[0])
    text = f"{raised.value} {raised.value.hint}".lower()
    assert raised.value.code in (207005, 207008)
    assert "stream" in text
    assert "16" in text
    assert "disk" not in text
    assert "storage" not in text
    made.pop().close()
    with made[0].capture() as captured:
        pass
    captured.close()
    machine.close(force=True)


def test_what_graphs_cost_is_told_before_and_is_true() -> None:
    machine = Runtime("fake://ascend910b1?seed=1&streams=64")
    device = machine.device(0)
    streams = [device.create_stream() for _ in range(3)]
    events = [device.create_event() for _ in range(4)]

    def work() -> None:
        for place, stream in enumerate(streams[1:]):
            stream.wait(streams[0].record(events[place]))
            streams[0].wait(stream.record(events[2 + place]))

    before = device.ids.usage(STREAM)
    with streams[0].capture(dry_run=True) as plan:
        work()
    assert device.ids.usage(STREAM) == before
    capacity, used = before
    fit = (capacity - used) // plan.cost.streams
    graphs: list[Graph] = []

    def one() -> None:
        with streams[0].capture() as made:
            work()
        assert made.cost == plan.cost
        graphs.append(made)

    while code_of(one) == 0:
        pass
    assert len(graphs) == fit
    for made in graphs:
        made.close()
    assert device.ids.usage(STREAM) == before
    machine.close(force=True)


def test_a_capture_that_finds_no_notify_for_its_end_leaves_the_graphs_before_it() -> None:
    machine = Runtime("fake://ascend910b1?seed=1&swsq=0&notifys=8")
    device, log, graphs = machine.device(0), list[int](), list[Graph]()
    kernel = device.load(minimal_kernel("note", 1)).only
    device.hal.fake.attach(kernel.code, lambda context: log.append(context.args[0]), grid=True)
    first, side = device.create_stream(), device.create_stream()

    def forked() -> None:
        with first.capture() as made:
            side.wait(first.record(device.create_event()))
            kernel[1](len(graphs), stream=side)
            first.wait(side.record(device.create_event()))
        graphs.append(made)

    while not (code := code_of(forked)):
        pass
    assert code == 207009
    for made in graphs:
        made.launch(first)
    first.synchronize(30_000)
    assert log == list(range(len(graphs)))
    graphs.pop().close()
    assert code_of(forked) == 0
    machine.close(force=True)


def test_argument_memory_of_graphs_goes_with_them(device: Device, note: Kernel) -> None:
    stream, graphs = device.create_stream(), list[Graph]()
    with stream.capture() as made:  # what the device keeps for all graphs
        note[1](0, stream=stream)
    made.close()
    device.sq_pool.close()
    before = holdings(device.hal.fake)
    for _ in range(3):
        with stream.capture() as made:
            for number in range(100):
                note[1](number, stream=stream)
        graphs.append(made)
    assert all(made.cost.argument_bytes >= 100 * 64 for made in graphs)
    for made in graphs:
        made.close()
    device.sq_pool.close()
    assert holdings(device.hal.fake)["memory"] == before["memory"]


# -- failures that must not be swallowed -------------------------------------------------------------------------------


def test_a_graph_whose_capture_failed_cannot_be_used_and_says_why(
    device: Device, note: Kernel, log: list[int]
) -> None:
    first, second, fork = device.create_stream(), device.create_stream(), device.create_event()
    with pytest.raises(errors.CaptureError) as raised, first.capture() as made:
        second.wait(first.record(fork))
    assert raised.value.code == 107025
    with pytest.raises(errors.RuntimeFault) as used:
        made.launch(first)
    assert used.value.code == 107017
    assert "its capture failed" in str(used.value)
    assert f"stream {second.stream_id}" in str(used.value)
    note[1](5, stream=first)
    first.synchronize(30_000)
    assert log == [5]


def test_an_event_in_a_task_group_spoils_the_capture_at_once(device: Device) -> None:
    stream, event = device.create_stream(), device.create_event()
    graph.begin(stream)
    graph.begin_group(stream)
    assert code_of(lambda: stream.record(event)) == 507009
    assert graph.status(stream)[0] is CaptureStatus.INVALIDATED
    assert code_of(lambda: graph.end_group(stream)) == 507009
    assert code_of(lambda: graph.end(stream)) == 507903
    assert graph.status(stream) == (CaptureStatus.NONE, None)


def test_an_update_while_the_graph_is_executed_is_no_internal_error(
    device: Device, note: Kernel, log: list[int]
) -> None:
    stream, updater = device.create_stream(), device.create_stream()
    with stream.capture() as made, stream.task_group() as group:
        note[1](1, stream=stream)
    card = device.hal.fake.device(0)
    card.hold(stream.stream_id)
    made.launch(stream)
    with updater.update(group):
        note[1](2, stream=updater)
    updater.synchronize(30_000)
    assert code_of(lambda: made.update(made.kernels[0], [3])) == 107040
    card.release(stream.stream_id)
    stream.synchronize(30_000)
    made.launch(stream)
    stream.synchronize(30_000)
    assert log[-1] == 2


def test_the_default_stream_is_no_origin_and_runs_beside(device: Device, note: Kernel, log: list[int]) -> None:
    with pytest.raises(errors.NotSupported) as raised:
        graph.begin(device.default_stream)
    assert raised.value.code == 207000
    assert "create_stream" in raised.value.hint
    stream, event = device.create_stream(), device.create_event()
    graph.begin(stream)
    note[1](1)
    stream.record(event)
    assert code_of(lambda: device.default_stream.wait(event)) == 107031
    made = graph.end(stream)
    device.default_stream.synchronize(30_000)
    assert log == [1]
    assert [node.kind for node in made.nodes].count(NodeKind.KERNEL) == 0
    made.close()


def test_null_graphs_of_a_failed_capture_point_back_in_the_c_api() -> None:
    from runtime.capi.aclrt import Acl, Out

    acl = Acl("fake://ascend910b1?seed=1")
    assert acl.call("aclInit") == 0
    assert acl.call("aclrtSetDevice", deviceId=0) == 0
    streams = [Out(), Out()]
    event, made = Out(), Out()
    for out in streams:
        assert acl.call("aclrtCreateStream", stream=out) == 0
    assert acl.call("aclrtCreateEventExWithFlag", event=event, flag=1) == 0
    first, second = (out.value for out in streams)
    assert acl.call("aclmdlRICaptureBegin", stream=first, mode=0) == 0
    assert acl.call("aclrtRecordEvent", event=event.value, stream=first) == 0
    assert acl.call("aclrtStreamWaitEvent", stream=second, event=event.value) == 0
    assert acl.call("aclmdlRICaptureEnd", stream=first, modelRI=made) == 107025
    assert made.value is None
    assert acl.call("aclmdlRIExecuteAsync", modelRI=made.value, stream=first) == 100000
    assert "does not lead back" in acl.runtime.handles.get(first, Stream).lost_capture
    assert acl.call("aclrtSynchronizeStream", stream=first) == 0
    acl.close()
