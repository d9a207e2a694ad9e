"""Every parameter of every public method, given something else: an error with the parameter's name, nothing changed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import runtime as surface
from runtime import errors
from runtime.api import Device, Event, Runtime, Stream
from runtime.api.generator import RandomGenerator
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.notify import CountNotify, Notify
from runtime.feature.messages import Channel, MessageQueue
from runtime.launch.batch.batch import Batch
from runtime.memory.array import DeviceArray
from runtime.memory.device import PooledBuffer
from runtime.memory.virtual import AddressRange, Mapping, PhysicalMemory
from tests.tools.reference import entries
from tests.unit.runtime.machines import holdings

URLS = ["fake://ascend910b3?devices=2", "fake://ascend950?devices=2"]
WRONG: tuple[Any, ...] = (None, "x", 1.5, object())
PAGE = 2 << 20


class World:
    """A machine, and one of each thing that has methods, in a state that takes calls."""

    def __init__(self, url: str) -> None:
        self.runtime = Runtime(url)
        self.device: Device = self.runtime.device(0)
        self.stream = self.device.create_stream(name="stream")
        self.buffer, self.other = self.device.alloc(4096), self.device.alloc(4096)
        self.array = self.device.upload(np.zeros(16, np.float32))
        self.pooled = self.device.pool.alloc(4096, self.stream)
        self.pinned = self.device.alloc_host(4096)
        self.event = self.device.create_event(timing=True)
        self.stream.record(self.event)
        self.plain_event = self.device.create_event()
        self.notify = self.device.create_notify()
        counts = self.device.chip.traits.count_notifies
        self.count_notify = self.device.create_count_notify() if counts else None
        self.program = self.device.load(minimal_kernel("named", 1))
        self.kernel = self.program.only
        self.device.hal.fake.attach(self.kernel.code, lambda _context: None, name="named", grid=True)
        with self.stream.capture() as self.graph:
            self.kernel[1](0, stream=self.stream)
        self.node = self.graph.nodes[0]
        self.builder = surface.GraphBuilder(self.device)
        self.range = self.device.reserve(2 * PAGE)
        self.physical = self.device.create_physical(PAGE)
        self.mapping = self.range.map(self.physical)
        self.batch = self.stream.batch()
        random = self.device.chip.has("TASK_RAND_GENERATOR")
        self.generator = self.device.create_generator(1) if random else None
        self.channel = self.device.create_channel("named")
        self.queue = self.device.create_message_queue("bytes")
        for _ in range(2):  # what is prepared for the second call on refuses no less
            self.stream.copy(self.buffer, self.other, 64)
            self.kernel[1](0, stream=self.stream)
            self.stream.record(self.plain_event)
            self.notify.record(self.stream)
            self.notify.wait(self.stream)
            self.graph.launch(self.stream)
        self.stream.synchronize(10_000)

    def of(self, kind: type[Any]) -> Any:
        """Return the one thing of a class."""
        for each in vars(self).values():
            if type(each) is kind:
                return each
        return {"Pool": self.device.pool, "Program": self.program}.get(kind.__name__)

    def state(self) -> object:
        """What a refused call must leave as it is."""
        return (
            holdings(self.runtime), self.stream.ring.submitted, self.device.context.default_stream.ring.submitted,
            len(self.device.streams()), len(self.builder.steps), len(self.batch), self.node.enabled,
            self.device.pool.limit, self.runtime.saturation, len(self.channel), len(self.queue),
        )


@pytest.fixture(scope="module", params=URLS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(request.param)
    yield made
    made.runtime.close(force=True)


VALUES: dict[str, Callable[[World], Any]] = {
    "Runtime.index": lambda w: 0, "Runtime.context": lambda w: w.device.context,
    "size": lambda w: 64, "policy": lambda w: 0, "dst": lambda w: w.buffer, "src": lambda w: w.other,
    "capacity": lambda w: 8, "depth": lambda w: 8, "seed": lambda w: 1, "priority": lambda w: 0, "flags": lambda w: 0,
    "name": lambda w: "named", "buffer": lambda w: w.buffer, "dtype": lambda w: "float32", "shape": lambda w: 4,
    "other": lambda w: w.device, "value": lambda w: 1, "shared": lambda w: 1, "cube": lambda w: 1,
    "vector": lambda w: 1, "source": lambda w: minimal_kernel("named", 1), "key": lambda w: b"key",
    "array": lambda w: memoryview(bytearray(4096)), "mode": lambda w: 0, "pids": lambda w: (), "data": lambda w: b"12",
    "timeout_ms": lambda w: 1000, "timeout_s": lambda w: 1, "stream": lambda w: w.stream, "keep": lambda w: 0,
    "function": lambda w: print, "kernel": lambda w: w.kernel, "blocks": lambda w: 1, "event": lambda w: w.plain_event,
    "target": lambda w: w.buffer, "operation": lambda w: "add", "earlier": lambda w: w.event,
    "offset": lambda w: 0, "which": lambda w: "named", "node": lambda w: w.node, "physical": lambda w: w.physical,
    "mapping": lambda w: w.mapping, "ratio": lambda w: 0.5, "contents": lambda w: b"12", "arrays": lambda w: [w.array],
    "server": lambda w: 1, "submit": lambda w: print, "grid": lambda w: 1, "size_bytes": lambda w: 8,
    "dst_pitch": lambda w: 64, "src_pitch": lambda w: 64, "width": lambda w: 64, "height": lambda w: 1,
    "Stream.arguments": lambda w: [[0]], "Kernel.arguments": lambda w: [[0]], "Batch.arguments": lambda w: [[0]],
    "index": lambda w: 0, "wanted": lambda w: 0, "AddressRange.offset": lambda w: PAGE, "executed": lambda w: [],
    "Device.create_physical.size": lambda w: PAGE, "Device.reserve.size": lambda w: PAGE, "items": lambda w: [],
    "Graph.other": lambda w: w.graph, "DeviceArray.source": lambda w: w.array, "values": lambda w: [[0]],
    "Program.function": lambda w: "f", "Device.open_notify.name": lambda w: b"named",
    "Stream.source": lambda w: w.other, "group": lambda w: None, "low": lambda w: 0, "high": lambda w: 1,
}  # fmt: skip
"""What fits a parameter, by its name; of a class or a method where that is said."""

FURTHER: dict[type[Any], str] = {
    Runtime: "create_context destroy_context",
    Device: (
        "create_channel create_message_queue create_generator open_event import_physical limit_cores set_failure_mode "
    ),
    Stream: "limit_cores set_launch_blocking record_external wait_external",
    Event: "reset", Notify: "allow allow_server", DeviceArray: "view copy_", PooledBuffer: "record_stream",
    CountNotify: "record wait reset", AddressRange: "map set_access", PhysicalMemory: "export export_fabric",
    Batch: "launch launch_many copy fill record wait", MessageQueue: "put get next_size", Channel: "send receive",
    RandomGenerator: "uniform normal dropout_mask", Mapping: "view",
}  # fmt: skip
"""Methods of users that the reference does not list."""
FREE = {
    "Device.load_triton", "Program.operator", "Graph.times", "DeviceBuffer.__getitem__",
    "Stream.host_function.arguments", "GraphBuilder.host_function.arguments", "HostBuffer.__getitem__",
    "GraphBuilder.kernel.arguments",
}
"""What takes anything, or whose files are tested elsewhere."""


def calls() -> Iterator[Any]:
    met = {kind: listed for kind, listed in entries().values() if isinstance(kind, type)}
    for kind, listed in FURTHER.items():
        met[kind] = [*met.get(kind, ()), *listed.split()]
    for kind, listed in met.items():
        for attribute in listed:
            found = inspect.getattr_static(kind, attribute, None)
            if attribute in ("__init__", "__dlpack__") or not inspect.isfunction(found):
                continue
            if len(inspect.signature(found).parameters) > 1 and f"{kind.__name__}.{attribute}" not in FREE:
                yield pytest.param(kind, attribute, id=f"{kind.__name__}.{attribute}")


def fitting(world: World, where: tuple[str, str], name: str) -> Any:
    made = VALUES.get(".".join((*where, name))) or VALUES.get(f"{where[0]}.{name}") or VALUES[name]
    return made(world)


def wrong_for(annotation: str) -> list[Any]:
    """Return what a parameter of a type does not take."""
    takes = [
        "None" in annotation, re.search(r"\bstr\b|DTypeLike", annotation) is not None,
        re.search(r"\bfloat\b", annotation) is not None, False,
    ]
    if annotation in ("bool", "bool | None"):  # the truth of anything is as good
        return []
    if "DTypeLike" in annotation:
        return [WRONG[3], 1.5, "x"]
    if annotation in ("Any", "object"):
        takes[0] = True
    return [value for value, taken in zip(WRONG, takes, strict=True) if not taken]


@pytest.mark.parametrize(("kind", "method"), list(calls()))
def test_a_wrong_argument_is_named(world: World, kind: type[Any], method: str) -> None:
    thing = world.of(kind)
    if thing is None:
        pytest.skip(f"{kind.__name__} is not on this chip, or has its tests elsewhere")
    where = (kind.__name__, method)
    call = getattr(thing, method)
    parameters = [each for each in inspect.signature(call).parameters.values() if each.name != "self"]
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
    problems = []
    for parameter in parameters:
        if f"{kind.__name__}.{method}.{parameter.name}" in FREE:
            continue
        for value in wrong_for(str(parameter.annotation)):
            positional, named = [], {}
            for each in parameters:
                given = value if each is parameter else None
                if each is not parameter:
                    if each not in needed and each.kind is not each.VAR_POSITIONAL:
                        continue
                    if each.kind is each.VAR_POSITIONAL:
                        continue
                    given = fitting(world, where, each.name)
                if each.kind in (each.POSITIONAL_OR_KEYWORD, each.POSITIONAL_ONLY) and not named:
                    earlier = parameters.index(each)
                    if earlier == len(positional):
                        positional.append(given)
                    else:
                        named[each.name] = given
                elif each.kind is each.VAR_POSITIONAL:
                    positional.append(given)
                else:
                    named[each.name] = given
            before = world.state()
            try:
                answer = call(*positional, **named)
                if answer is not NotImplemented:
                    problems.append(f"{parameter.name}={value!r:.20}: taken, {answer!r:.40}")
            except (errors.RuntimeFault, TypeError, ValueError) as problem:
                text = str(problem)
                if parameter.name.removesuffix("s") not in text:
                    problems.append(f"{parameter.name}={value!r:.20}: {type(problem).__name__} {text:.150}")
            except Exception as problem:
                problems.append(f"{parameter.name}={value!r:.20}: {type(problem).__name__} {problem}")
            if world.state() != before:
                problems.append(f"{parameter.name}={value!r:.20}: changed something")
    assert not problems, "\n".join(problems)
