"""Objects of two runtimes never mix, and handles have one owner."""

from __future__ import annotations

import copy
import gc
import mmap
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import runtime as package
from runtime import errors
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.event import Event

URLS = ["fake://ascend910b3", "fake-abi://ascend950", *(
    pytest.param(url, marks=pytest.mark.soak) for url in ("fake://ascend950", "fake-abi://ascend910b3")
)]  # fmt: skip
pytestmark = pytest.mark.timeout(60)


class Side:
    """One of everything of one machine."""

    def __init__(self, machine: Runtime) -> None:
        self.machine = machine
        self.device: Device = machine.device(0)
        self.stream = self.device.create_stream()
        self.buffer, self.other = self.device.alloc(4096), self.device.alloc(4096)
        self.pinned = self.device.alloc_host(4096)
        self.event = self.stream.record(self.device.create_event())
        self.notify = self.device.create_notify()
        self.pooled = self.device.pool.alloc(64)
        self.program = self.device.load(minimal_kernel("sided", 1))
        self.kernel = self.program.only
        self.device.hal.fake.attach(self.kernel.code, lambda _context: None, name="sided", grid=True)
        with self.stream.capture() as self.graph:
            self.kernel[1](self.buffer, stream=self.stream)
        self.registered = self.device.register_host(mmap.mmap(-1, 4096))
        self.bound = self.kernel.bind(self.stream, 1)
        self.works()

    def works(self) -> None:
        """Every way in takes what is its own, and is prepared from then on."""
        for _ in range(2):
            for own in (self.buffer, self.buffer + 64, self.pooled, self.registered, 7):
                self.kernel[1](own, stream=self.stream)
                self.bound(own)
                self.graph.update(self.graph.kernels[0], [own])
            batch_launch(self, self)
            self.graph.update(self.graph.kernels[0], [self.buffer])
            assert self.graph.execute(self.stream) is None
            self.stream.synchronize(30_000)


@pytest.fixture(params=URLS, scope="module")
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """Two machines of one kind, whose addresses and ids are the same numbers; what is refused changes nothing there."""
    machines = [Runtime(request.param) for _ in range(2)]
    yield Side(machines[0]), Side(machines[1])
    for machine in machines:
        machine.close(force=True)


def batch_copy(a: Side, b: Side) -> None:
    with a.stream.batch() as batch:
        batch.copy(b.buffer, b.other)


def batch_fill(a: Side, b: Side) -> None:
    with a.stream.batch() as batch:
        batch.fill(b.buffer, 1)


def batch_launch(a: Side, b: Side) -> None:
    with a.stream.batch() as batch:
        batch.launch(a.kernel, 1, b.buffer)


def captured(a: Side, b: Side) -> None:
    with a.stream.capture():
        a.kernel[1](a.buffer, stream=a.stream)
        a.kernel[1](b.buffer, stream=a.stream)


CALLS: dict[str, Callable[[Side, Side], object]] = {
    "stream.copy": lambda a, b: a.stream.copy(b.buffer, b.other),
    "stream.copy from": lambda a, b: a.stream.copy(a.buffer, b.other),
    "stream.copy pinned": lambda a, b: a.stream.copy(a.buffer, b.pinned),
    "device.copy": lambda a, b: a.device.copy(b.buffer, bytes(8)),
    "download": lambda a, b: a.device.download(b.buffer),
    "stream.fill": lambda a, b: a.stream.fill(b.buffer, 1),
    "device.fill": lambda a, b: a.device.fill(b.buffer, 1),
    "write_value": lambda a, b: a.stream.write_value(b.buffer, 1),
    "wait_value": lambda a, b: a.stream.wait_value(b.buffer, 0),
    "reduce": lambda a, b: a.stream.reduce(b.buffer, b.other),
    "copy_rows": lambda a, b: a.stream.copy_rows(b.buffer, 8, b.other, 8, 8, 2),
    "wait": lambda a, b: a.stream.wait(b.event),
    "record": lambda a, b: a.stream.record(b.event),
    "notify.wait": lambda a, b: b.notify.wait(a.stream),
    "notify.record": lambda a, b: b.notify.record(a.stream),
    "pool.alloc": lambda a, b: a.device.pool.alloc(64, b.stream),
    "record_stream": lambda a, b: a.pooled.record_stream(b.stream),
    "execute": lambda a, b: b.graph.execute(a.stream),
    "launch in a stream": lambda a, b: a.kernel[1](a.buffer, stream=b.stream),
    "launch_many": lambda a, b: a.stream.launch_many(a.kernel, 1, [[b.buffer]]),
    "launch": lambda a, b: a.kernel[1](b.buffer, stream=a.stream),
    "launch of a view": lambda a, b: a.kernel[1](b.buffer + 64, stream=a.stream),
    "launch of a pool's": lambda a, b: a.kernel[1](b.pooled, stream=a.stream),
    "launch of an array": lambda a, b: a.kernel[1](b.buffer.as_array("f4"), stream=a.stream),
    "launch of registered memory": lambda a, b: a.kernel[1](b.registered, stream=a.stream),
    "launch on the default stream": lambda a, b: a.kernel[1](b.buffer),
    "launch by name": lambda a, b: a.kernel.launch(a.stream, 1, b.buffer),
    "bound launch": lambda a, b: a.bound(b.buffer),
    "captured launch": captured,
    "batch.launch": batch_launch,
    "several slots": lambda a, b: a.kernel[1](b.buffer, bytes(8), stream=a.stream),
    "update of arguments": lambda a, b: a.graph.update(a.graph.kernels[0], [b.buffer]),
    "update": lambda a, b: a.graph.update(a.graph.kernels[0], [b.buffer], blocks=2),
    "enable_peer_access": lambda a, b: a.device.enable_peer_access(b.device),
    "map": lambda a, b: a.device.reserve(2 << 20).map(b.device.create_physical(2 << 20)),
    "batch.copy": batch_copy,
    "batch.fill": batch_fill,
}


@pytest.mark.parametrize("name", CALLS)
def test_objects_of_two_runtimes_do_not_mix(sides: tuple[Side, Side], name: str) -> None:
    one, two = sides
    for a, b in ((one, two), (two, one)):
        for _ in range(2):
            with pytest.raises(errors.RuntimeFault) as caught:
                CALLS[name](a, b)
            assert caught.value.code in (107000, 107003)
        a.works()
        a.stream.copy(a.buffer, a.other)  # what was refused has left nothing behind
        a.stream.synchronize(30_000)
        b.stream.synchronize(30_000)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_handles_have_one_owner(sides: tuple[Side, Side], duplicate: Callable[[Any], object]) -> None:
    side = sides[0]
    gc.collect()
    before = side.device.memory_info()
    for thing in (side.buffer, side.pinned, side.pooled, side.buffer.view(8), side.stream, side.event, side.notify,
                  side.device, side.machine, side.program, side.kernel, side.graph):
        with pytest.raises(TypeError, match=r"cannot be (copied|pickled)"):
            duplicate(thing)
    gc.collect()
    assert side.device.memory_info() == before
    side.works()


def test_an_event_without_a_device_is_a_clear_mistake(recwarn: pytest.WarningsRecorder) -> None:
    for make in (Event, package.Event):
        with pytest.raises(TypeError, match=r"device\.create_event\(\)"):
            make()
    gc.collect()
    assert not recwarn.list
