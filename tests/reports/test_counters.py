"""What was done on a device, by kind: exact however long streams run, and told again after they were closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.diagnostics.counters import Counters
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

URLS = ("fake://ascend910b3", "fake://ascend950", "null://ascend910b1")


@pytest.fixture(params=URLS)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Runtime:
    return open_machine(request.param)


@pytest.fixture
def kernel(device: Device) -> Kernel:
    found = device.load(minimal_kernel("counted", 1)).only
    if hasattr(device.hal, "fake"):
        device.hal.fake.attach(found.code, lambda _context: None, name="counted", grid=True)
    return found


def test_a_device_that_was_just_opened_has_done_nothing(device: Device) -> None:
    assert device.counters == Counters()


def test_each_kind_is_counted(device: Device, kernel: Kernel) -> None:
    stream, other = device.create_stream(), device.create_stream()
    here, there, pinned = device.alloc(256), device.alloc(256), device.alloc_host(256)
    event = device.create_event()
    for _ in range(3):
        kernel[1](0, stream=stream)
    stream.launch_many(kernel, 1, [[0]] * 5)
    with stream.batch() as batch:
        batch.launch(kernel, 1, 0)
        batch.copy(here, there)
    for _ in range(2):
        stream.copy(here, pinned)
    stream.copy(pinned, here)
    device.copy(here, bytes(8))
    device.upload(np.zeros(4))
    other.wait(stream.record(event))
    stream.synchronize()
    other.synchronize()
    event.synchronize()
    device.synchronize()
    found = device.counters
    assert found.launches == 9
    assert dict(found.copies) == {
        "copy on the device": 1, "copy to the device": 2, "copy to the host": 1, "at once": 2,
    }
    assert (found.records, found.waits, found.synchronizes) == (1, 1, 4)
    assert found.allocations == 4
    assert device.counters == found  # asking changes nothing


def test_what_runs_longer_than_a_lap_is_counted_too(device: Device, kernel: Kernel) -> None:
    stream = device.create_stream()
    depth = stream.ring.depth
    rounds = 2 * depth + 37
    for number in range(rounds):
        kernel[1](0, stream=stream)
        if number % 500 == 0:
            stream.synchronize()
            assert number % 1000 or device.counters.launches == number + 1
    stream.launch_many(kernel, 1, np.zeros((depth, 1), np.uint64))
    assert device.counters.launches == rounds + depth
    stream.synchronize()
    stream.close()
    assert device.counters.launches == rounds + depth
    default = device.default_stream
    kernel[1](0, stream=default)
    default.synchronize()
    assert device.counters.launches == rounds + depth + 1


def test_graphs_count_as_captures_and_executions(device: Device, kernel: Kernel) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        for _ in range(4):
            kernel[1](0, stream=stream)
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    found = device.counters
    assert (found.captures, found.graph_executions, found.launches) == (1, 3, 0)
    graph.close()
    assert device.counters.graph_executions == 3


def test_the_pool_counts_hits(device: Device) -> None:
    stream = device.create_stream()
    for _ in range(10):
        device.pool.alloc(4096, stream).close()
    found = device.counters
    assert (found.pool_requests, found.pool_hits) == (10, 9)


@pytest.mark.parametrize("chip", ["ascend910b3", "ascend950"])
def test_retries_and_sets(open_machine: OpenMachine, chip: str) -> None:
    machine = open_machine(f"fake://{chip}")
    machine.hal.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_BUSY", times=2)
    for _ in range(3):
        machine.set_device(0)
    found = machine.device(0).counters
    assert (found.set_device, found.retries) == (3, 2)


def test_an_abort_and_failures_do_not_disturb_the_counts(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b3").device(0)
    kernel: Any = device.load(minimal_kernel("bad", 1)).only
    stream = device.create_stream()
    for _ in range(2):
        kernel[1](0, stream=stream)
        with pytest.raises(errors.KernelFault):
            stream.synchronize(30_000)
    device.hal.fake.device(0).hold()
    kernel[1](0, stream=stream)
    stream.abort()
    device.hal.fake.device(0).release()
    assert device.counters.launches == 3
    stream.fill(device.alloc(64), 1)
    stream.synchronize(30_000)
    assert device.counters.launches == 3


def test_the_c_api_counts_for_the_same_device() -> None:
    api = Caller("fake://ascend950")
    for _ in range(2):
        assert api.aclrtSetDevice(deviceId=0) == 0
    stream = api.make("aclrtCreateStream", "stream")
    block = api.make("aclrtMalloc", "devPtr", size=64, policy=0)
    assert api.aclrtMemsetAsync(devPtr=block, maxCount=64, value=0, count=64, stream=stream) == 0
    for _ in range(2):
        assert api.aclrtSynchronizeStream(stream=stream) == 0
    found = api.acl.runtime.device(0).counters
    assert (found.set_device, found.synchronizes, found.allocations) == (2, 2, 1)
    api.acl.runtime.close(force=True)


@pytest.mark.parametrize("chip", ["ascend910b3", "ascend950"])
def test_a_closed_device_tells_where_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chip: str
) -> None:
    for wanted in (False, True):
        monkeypatch.setenv("NPUHAL_COUNTERS", "1" if wanted else "0")
        with Runtime(f"fake://{chip}") as machine:
            with machine.device(0) as device, device.create_stream() as stream:
                target = device.alloc(64)
                for _ in range(3):
                    stream.record(device.create_event())
                    device.copy(target, bytes(8))
                    stream.synchronize()
            machine.device(0)
        told = [line.split() for line in capsys.readouterr().err.splitlines()]
        assert bool(told) is wanted
    assert {("3", "records"), ("3", "copies"), ("1", "allocations")} <= {tuple(words[:2]) for words in told}
    assert told[-1] == ["nothing"]


def test_what_a_graph_only_keeps_is_not_counted(device: Device, kernel: Kernel) -> None:
    stream = device.create_stream()
    for _ in range(2):
        with stream.capture() as graph:
            for _ in range(5):
                kernel[1](0, stream=stream)
        graph.close()
    found = device.counters
    assert (found.captures, found.launches, found.synchronizes) == (2, 0, 0)
