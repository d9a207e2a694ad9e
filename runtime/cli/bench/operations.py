"""The operations of one stream: launches, events, copies, graphs, memory, and the encoders alone."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.cli.bench.measure import Loop, Operation

if TYPE_CHECKING:
    from chips.tasks import AicKernel, EventRecord
    from runtime.api import Device, Graph, Kernel, Stream
    from runtime.launch.mixed import Batch

_FEW = 64
_BATCH = 1000
_FOUR_KIB = 4096


def kernel(device: Device, arguments: int = 4) -> Kernel:
    """Return a kernel without a file: nobody looks at its code."""
    from runtime.cli.sample import minimal_kernel

    name = f"bench{arguments}"
    found = device.load(minimal_kernel(name, arguments=arguments), name=name).only
    fake: Any = getattr(device.hal, "fake", None)
    if fake is not None:
        fake.attach(found.code, lambda context: None, name=name, grid=True)
    return found


def again(call: Callable[..., Any], *arguments: Any) -> Callable[[int], None]:
    """Return a loop of one call."""

    def loop(calls: int) -> None:
        for _ in range(calls):
            call(*arguments)

    return loop


def launches(device: Device, stream: Stream) -> list[Operation]:
    """Single launches and many with one call."""
    import numpy as np

    four, eight = kernel(device), kernel(device, 8)
    buffers = [device.alloc(_FOUR_KIB) for _ in range(8)]
    block = device.alloc(_FOUR_KIB).address
    at = four.bind_device_arguments(stream, 8)
    bound = eight.bind(stream, 8)
    a, b, c, d = buffers[:4]
    few, many = np.full((64, 4), block, np.uint64), np.full((_BATCH, 4), block, np.uint64)

    def on_device(calls: int) -> None:
        for _ in range(calls):
            at(block)

    def with_host(calls: int) -> None:
        for _ in range(calls):
            bound(*buffers)

    def subscript(calls: int) -> None:
        for _ in range(calls):
            four[8](a, b, c, d, stream=stream)

    def mixed(calls: int) -> None:
        scale = np.float32(0.5)
        for number in range(calls):
            four[8](a, b, number, scale, stream=stream)

    return [
        Operation("launch, arguments on the device", on_device),
        Operation("launch, 64 bytes of arguments", with_host, 2),
        Operation("kernel[blocks](...), four buffers", subscript, 2),
        Operation("kernel[blocks](...), buffers and scalars", mixed, 2),
        Operation("64 launches with one call, per launch", again(stream.launch_many, four, 8, few), 20, 64),
        Operation("1,000 launches with one call, per launch", again(stream.launch_many, four, 8, many), 100, _BATCH),
    ]


def watching(device: Device) -> Iterator[Loop]:
    """Yield the loops of a launch that nobody watches, and of the same launch into a stream that a trace watches."""
    from runtime.trace import tracing

    four, buffers = kernel(device), [device.alloc(_FOUR_KIB) for _ in range(4)]
    yield _program(four.bind(device.create_stream(), 8), *buffers)
    with tracing(runtime=device.runtime):
        yield _program(four.bind(device.create_stream(), 8), *buffers)


def _program(call: Callable[..., object], *arguments: Any) -> Loop:
    """Return the loop of `again` as a user's program: a trace notes its line, and would look behind one of ours."""
    scope: dict[str, Any] = {"__name__": "program", "call": call, "arguments": arguments}
    exec("def loop(calls):\n for _ in range(calls):\n  call(*arguments)", scope)
    loop: Loop = scope["loop"]
    return loop


def batches(device: Device, stream: Stream) -> list[Operation]:
    """Tasks of several kinds that are sent together: launches of two kernels, and copies."""
    import numpy as np

    four, three = kernel(device), kernel(device, 3)
    a, b, c, d = buffers = [device.alloc(_FOUR_KIB) for _ in range(4)]
    scale = np.float32(0.5)

    def noted(count: int) -> Batch:
        batch = stream.batch()
        for number in range(0, count, 4):
            batch.launch(four, 8, *buffers)
            batch.launch(three, 8, a, number, scale)
            batch.copy(c, d)
            batch.launch(four, 8, d, c, b, a)
        return batch

    def rows() -> None:
        with stream.batch() as batch:
            batch.launch_many(four, 8, table)
            batch.copy(c, d)
            batch.launch_many(four, 8, table)

    table = np.full((_FEW // 2, 4), a.address, np.uint64)
    few, many = noted(_FEW), noted(_BATCH)
    return [
        Operation("64 tasks in a batch, per task", again(lambda: noted(_FEW).send()), 100, _FEW),
        Operation("64 tasks in a batch, launches as rows, per task", again(rows), 50, _FEW + 1),
        Operation("64 tasks in a batch sent again, per task", again(few.send), 20, _FEW),
        Operation("1,000 tasks in a batch sent again, per task", again(many.send), 200, _BATCH),
    ]


def tasks(device: Device, stream: Stream) -> list[Operation]:
    """Events, notifies, copies and waiting."""
    from runtime.core.event import Event
    from runtime.core.event_flags import EventFlag

    plain = Event(device, EventFlag.SYNC, renewed=False)
    event, timed, notify = device.create_event(), device.create_event(timing=True), device.create_notify()
    other = device.create_stream()
    source, target = device.alloc(_FOUR_KIB), device.alloc(_FOUR_KIB)
    pinned = device.alloc_host(_FOUR_KIB)

    def record(which: Event) -> Callable[[int], None]:
        def loop(calls: int) -> None:
            for _ in range(calls):
                which.record(stream)

        return loop

    def record_and_wait(calls: int) -> None:
        for _ in range(calls):
            plain.record(stream)
            plain.wait(other)

    def notify_record(calls: int) -> None:
        for _ in range(calls):
            notify.record(stream)

    def inside(calls: int) -> None:
        for _ in range(calls):
            stream.copy(target, source)

    def upload(calls: int) -> None:
        for _ in range(calls):
            stream.copy(target, pinned)

    return [
        Operation("event record", record(plain), 2),
        Operation("event record, a new id each time", record(event), 4),
        Operation("event record with a time stamp", record(timed), 10),
        Operation("event record and wait", record_and_wait, 4),
        Operation("notify record", notify_record),
        Operation("copy inside the device, 4 KiB", inside, 2),
        Operation("copy to the device, 4 KiB, pinned", upload, 10),
        Operation("synchronize an idle stream", again(stream.synchronize), 2),
        Operation("query of an idle stream", again(stream.query), 2),
    ]


def memory(device: Device) -> list[Operation]:
    """Pairs of malloc and free."""

    def pooled(calls: int) -> None:
        alloc = device.pool.alloc
        for _ in range(calls):
            alloc(_FOUR_KIB).close()

    def whole(calls: int) -> None:
        alloc = device.alloc
        for _ in range(calls):
            alloc(_FOUR_KIB).close()

    return [Operation("pool: malloc and free", pooled, 4), Operation("device: malloc and free", whole, 20)]


def graphs(device: Device, stream: Stream) -> list[Operation]:
    """Replay, capture and change."""
    import numpy as np

    one, launch = kernel(device), kernel(device).bind_device_arguments
    buffers = [device.alloc(64) for _ in range(4)]

    def captured(count: int) -> Graph:
        with stream.capture() as made:
            for _ in range(count):
                one[8](*buffers, stream=stream)
        return made

    graph, changed = captured(10), captured(10)  # what is being executed cannot be changed
    node = changed.kernels[3]
    sets = itertools.cycle((tuple(buffers), tuple(reversed(buffers))))

    def replay(calls: int) -> None:
        for _ in range(calls):
            graph.launch(stream)

    def capture(calls: int) -> None:
        for _ in range(calls):
            with stream.capture() as made:
                put = launch(stream, 8)
                for _ in range(_BATCH):
                    put(buffers[0].address)
            made.close()

    def update(calls: int) -> None:
        for _ in range(calls):
            changed.update(node, args=next(sets))

    found = [
        Operation("graph replay", replay, 2),
        Operation("capture, per launch", capture, 3000, _BATCH),
    ]
    with contextlib.suppress(errors.NotSupported):  # not every driver keeps tasks where they can be changed
        update(1)
        found.append(Operation("update of one graph node", update, 10))
    large, rows = captured(_BATCH), np.full((_BATCH, 4), buffers[0].address, np.uint64)
    found.append(Operation("new arguments for all of 1,000 graph nodes", again(large.repoint, rows), 400))
    return found


def codec(device: Device) -> list[Operation]:
    """Encoding and decoding without a stream: a task by its general builder, an entry, many kernels at once."""
    import numpy as np

    from chips.env import TaskIds
    from chips.tasks import AicKernel, EventRecord

    plugin, env = device.plugin, device.env
    task, event = AicKernel(pc=0x12C0_C000_0000, args=0x12C0_C100_0000, block_dim=8), EventRecord(event_id=1)
    ids, template = TaskIds(77), plugin.template(task, env)
    assert template is not None
    numbers = np.arange(_BATCH, dtype=np.uint64)
    columns = {name: numbers * 64 if name == "args" else numbers for name in template.names}

    def encode(what: AicKernel | EventRecord) -> Callable[[int], None]:
        return again(plugin.encode, what, env, ids)

    def batch(calls: int) -> None:
        for _ in range(calls):
            template.render_many(_BATCH, **columns)

    return [
        Operation("encode a kernel, general builder", encode(task), 4),
        Operation("encode an event record, general builder", encode(event), 4),
        Operation("decode an entry", again(plugin.decode, plugin.encode(task, env, ids)), 10),
        Operation("encode 1,000 kernels at once", batch, 100),
    ]
