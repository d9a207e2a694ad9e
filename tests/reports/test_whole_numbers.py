"""Whole numbers of any type are taken at every entry of the API, and what is none is refused first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.core.stream import abort
from tests.reports.calls import Caller
from tests.unit.runtime.capi.acl_module import opened
from tests.unit.runtime.machines import OpenMachine

URLS = ["fake://ascend910b3?devices=2", "fake-abi://ascend950?devices=2", *(
    pytest.param(url, marks=pytest.mark.soak)
    for url in ("fake://ascend950?devices=2", "fake-abi://ascend910b3?devices=2")
)]  # fmt: skip


class Machine:
    """What the calls below work on."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.device: Device = runtime.device(0)
        self.stream: Stream = self.device.create_stream()
        self.buffer = self.device.alloc(4096)
        self.pinned = self.device.alloc_host(4096)
        self.event = self.device.create_event()
        self.notify = self.device.create_notify()
        self.program = self.device.load(minimal_kernel("counted", 1))
        self.kernel: Kernel = self.program.only
        self.device.hal.fake.attach(self.kernel.code, lambda _context: None, name="counted", grid=True)
        self.stream.record(self.event)


@pytest.fixture(params=URLS)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Machine:
    """Two cards, and something of everything on the first one."""
    return Machine(open_machine(request.param))


def launch(machine: Machine, blocks: Any) -> None:
    machine.kernel[blocks](0, stream=machine.stream)


def noted(machine: Machine, value: Any) -> None:
    with machine.stream.batch() as batch:
        batch.fill(machine.buffer, value)


def limited(machine: Machine, value: Any) -> None:
    machine.device.pool.limit = value


CALLS: dict[str, tuple[int, Callable[[Machine, Any], object]]] = {
    "alloc": (64, lambda m, n: m.device.alloc(n)),
    "alloc policy": (0, lambda m, n: m.device.alloc(64, n)),
    "alloc_host": (64, lambda m, n: m.device.alloc_host(n)),
    "pool.alloc": (64, lambda m, n: m.device.pool.alloc(n)),
    "pool.trim": (64, lambda m, n: m.device.pool.trim(n)),
    "pool.limit": (1 << 30, limited),
    "empty": (16, lambda m, n: m.device.empty(n)),
    "view offset": (64, lambda m, n: m.buffer.view(n)),
    "view size": (64, lambda m, n: m.buffer.view(0, n)),
    "buffer + offset": (64, lambda m, n: m.buffer + n),
    "device.fill": (7, lambda m, n: m.device.fill(m.buffer, n)),
    "device.fill size": (7, lambda m, n: m.device.fill(m.buffer, 0, n)),
    "device.copy": (8, lambda m, n: m.device.copy(m.buffer, bytes(16), n)),
    "reserve": (2 << 20, lambda m, n: m.device.reserve(n)),
    "create_physical": (2 << 20, lambda m, n: m.device.create_physical(n)),
    "map": (0, lambda m, n: m.device.reserve(2 << 20).map(m.device.create_physical(2 << 20), n)),
    "create_stream priority": (3, lambda m, n: m.device.create_stream(priority=n)),
    "create_stream flags": (0, lambda m, n: m.device.create_stream(flags=n)),
    "limit_cores": (4, lambda m, n: m.device.limit_cores(cube=n)),
    "stream.limit_cores": (4, lambda m, n: m.stream.limit_cores(vector=n)),
    "stream.copy": (8, lambda m, n: m.stream.copy(m.buffer, m.pinned, n)),
    "stream.fill": (7, lambda m, n: m.stream.fill(m.buffer, n)),
    "batch.fill": (7, noted),
    "copy_rows pitch": (64, lambda m, n: m.stream.copy_rows(m.buffer, n, m.pinned, 64, 64, 4)),
    "copy_rows height": (4, lambda m, n: m.stream.copy_rows(m.buffer, 64, m.pinned, 64, 64, n)),
    "write_value": (5, lambda m, n: m.stream.write_value(m.buffer, n)),
    "write_value size": (4, lambda m, n: m.stream.write_value(m.buffer, 1, n)),
    "wait_value": (0, lambda m, n: m.stream.wait_value(m.buffer.view(1024), n)),
    "synchronize": (5000, lambda m, n: m.stream.synchronize(n)),
    "device.synchronize": (5000, lambda m, n: m.device.synchronize(n)),
    "event.synchronize": (5000, lambda m, n: m.event.synchronize(n)),
    "wait": (0, lambda m, n: m.device.create_stream().wait(m.event, n)),
    "launch": (4, launch),
    "kernel.launch": (5, lambda m, n: m.kernel.launch(m.stream, n, 0)),
    "kernel.bind": (6, lambda m, n: m.kernel.bind(m.stream, n)(0)),
    "launch_many": (3, lambda m, n: m.stream.launch_many(m.kernel, n, [[0]])),
    "runtime.device": (1, lambda m, n: m.runtime.device(n)),
    "set_device": (0, lambda m, n: m.runtime.set_device(n)),
    "ask": (1, lambda m, n: m.runtime.ask(n)),
    "set_failure_mode": (0, lambda m, n: m.stream.set_failure_mode(n)),
    "timeouts.set_operator": (1 << 20, lambda m, n: m.runtime.timeouts.set_operator(n)),
    "timeouts.set_wait": (20, lambda m, n: m.runtime.timeouts.set_wait(n)),
    "abort_device": (0, lambda m, n: abort.abort_device(m.device, n)),
}
WRONG = [True, 1.0, "1", np.float32(1), np.bool_(True), [1]]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", CALLS)
def test_a_number_is_taken_or_refused_whatever_its_type(machine: Machine, name: str) -> None:
    good, call = CALLS[name]
    for number in WRONG[: -1 if name == "empty" else None]:
        with pytest.raises(errors.RuntimeFault) as caught:
            call(machine, number)
        assert caught.value.code in (107000, 100000, 107001), number
        assert repr(number) in caught.value.message or "shape" in caught.value.message
    memory = machine.device.memory_info()
    for kind in (np.int64, np.uint32, int):
        call(machine, kind(good))
    machine.device.alloc(64).close()
    machine.device.synchronize(30_000)
    assert memory[1] == machine.device.memory_info()[1]


def test_block_counts_of_numpy_share_what_was_prepared(machine: Machine) -> None:
    kernel, stream = machine.kernel, machine.stream
    kernel[4](0, stream=stream)
    kept = len(stream.launchers)
    kernel[np.int64(4)](0, stream=stream)
    assert len(stream.launchers) == kept
    assert all(type(key[1]) is int for key in stream.launchers if isinstance(key, tuple))
    stream.synchronize(30_000)
    for wrong, cure in ((4.0, "pass an int"), ((4, stream), "stream=stream"), (0, "at least one block")):
        with pytest.raises(errors.InvalidArgument) as caught:
            kernel[wrong](0, stream=stream)
        assert cure in caught.value.hint


def test_changes_of_a_graph_take_whole_numbers(machine: Machine) -> None:
    with machine.stream.capture() as graph:
        machine.kernel[2](1, stream=machine.stream)
        machine.stream.write_value(machine.buffer, 7)
    (node,) = graph.kernels
    graph.repoint([[np.int64(5)]], first=np.int64(0))  # type: ignore[arg-type]
    for values in ([[1.5]], [[True]], np.array([[1.0]])):
        with pytest.raises(errors.InvalidArgument, match="an item of values"):
            graph.repoint(values)
    graph.update(node, [np.int64(3)], blocks=np.int32(4))  # type: ignore[arg-type]
    assert node.blocks == 4
    for wrong in (True, 4.0):
        with pytest.raises(errors.InvalidArgument, match="blocks"):
            graph.update(node, blocks=wrong)  # type: ignore[arg-type]
    graph.execute(machine.stream)
    machine.stream.synchronize(30_000)


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_the_c_api_takes_whole_numbers_of_any_type(soc: str) -> None:
    caller = Caller(f"fake://{soc}")
    assert caller.aclrtSetDevice(deviceId=np.int64(0)) == 0
    for size in (np.int64(64), np.uint32(64), 64):
        address = caller.make("aclrtMalloc", "devPtr", size=size, policy=np.int8(0))
        assert caller.aclrtMemset(devPtr=address, maxCount=size, value=np.int32(7), count=size) == 0
        assert caller.aclrtFree(devPtr=np.uint64(address)) == 0
    for wrong in (True, 64.0, "64", np.float32(64)):
        assert caller.aclrtMalloc(devPtr=Out(), size=wrong, policy=0) == 107000
        assert "size is" in caller.text
    stream = caller.make("aclrtCreateStream", "stream")
    assert caller.aclrtSynchronizeStreamWithTimeout(stream=np.uint64(stream), timeout=np.int32(100)) == 0
    caller.acl.runtime.close(force=True)


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_the_module_acl_takes_whole_numbers_of_any_type(soc: str) -> None:
    with opened(f"fake://{soc}") as acl:
        assert acl.rt.set_device(np.int32(0)) == 0
        address, code = acl.rt.malloc(np.int64(64), np.int64(0))
        assert code == 0
        assert acl.rt.memset(address, np.int64(64), np.int64(1), np.uint64(64)) == 0
        assert acl.rt.malloc(64, 0)[1] == 0
        assert acl.rt.free(np.uint64(address)) == 0
