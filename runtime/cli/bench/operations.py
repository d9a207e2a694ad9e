"""The operations of one stream: launches, events, copies, graphs, memory, and the encoders alone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.groups import group
from runtime.cli.bench.images import image
from runtime.cli.bench.measure import Loop, Spec, cost

if TYPE_CHECKING:
    from chips.tasks import AicKernel, EventRecord
    from runtime.api import Device, Event, Graph, Kernel, TritonKernel

_FEW = 64
_BATCH = 1000
_FOUR_KIB = 4096
_NODES = 100


def kernel(device: Device, arguments: int = 4) -> Kernel:
    """Return a kernel without a file: its code is never read."""
    name = f"bench{arguments}"
    found = device.load(image(name), name=name).only
    fake: Any = getattr(device.hal, "fake", None)
    if fake is not None:
        fake.attach(found.code, lambda context: None, name=name, grid=True)
    return found


def triton_kernel(device: Device) -> TritonKernel:
    """Return a kernel as Triton-Ascend compiles one, of four pointers and three scalars."""
    name = "bench_triton"
    facts = {
        "kernel_name": name, "name": f"{name} aiv", "mix_mode": "aiv",
        "target": {"backend": "npu", "arch": device.chip.soc},
    }  # fmt: skip
    found = device.load_triton(image(name), ["*fp32"] * 4 + ["i32", "i32", "fp32"], metadata=facts)
    fake: Any = getattr(device.hal, "fake", None)
    if fake is not None:
        fake.attach(found.kernel.code, lambda context: None, name=name, grid=True)
    return found


def again(call: Callable[..., Any], *arguments: Any) -> Callable[[int], None]:
    """Return a loop of one call."""

    def loop(calls: int) -> None:
        for _ in range(calls):
            call(*arguments)

    return loop


@group(
    Spec("launch, arguments on the device"),
    Spec("launch, 64 bytes of arguments", 2),
    Spec("kernel[blocks](...), four buffers", 2),
    Spec("kernel[blocks](...), buffers and scalars", 2),
    Spec("64 launches with one call, per launch", 20, 64),
    Spec("1,000 launches with one call, per launch", 100, _BATCH),
)
def launches(device: Device) -> list[Loop]:
    """Single launches and many with one call."""
    import numpy as np

    stream = device.create_stream()
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
        on_device, with_host, subscript, mixed,
        again(stream.launch_many, four, 8, few), again(stream.launch_many, four, 8, many),
    ]  # fmt: skip


@group(
    Spec("kernel[blocks](...), four buffers and three scalars", 2),
    Spec("Triton kernel[grid](...), four buffers and three scalars", 2),
)
def triton(device: Device) -> Iterator[Loop]:
    """A kernel of Triton-Ascend beside a plain one of the same arguments."""
    import numpy as np

    stream, seven = device.create_stream(), kernel(device, 7)
    a, b, c, d = (device.alloc(_FOUR_KIB) for _ in range(4))

    def of_seven(calls: int) -> None:
        scale = np.float32(0.5)
        for number in range(calls):
            seven[8](a, b, c, d, number, 7, scale, stream=stream)

    yield of_seven
    compiled = triton_kernel(device)

    def of_triton(calls: int) -> None:
        for number in range(calls):
            compiled[8,](a, b, c, d, number, 7, 0.5, stream=stream)

    yield of_triton


@group(Spec("tracing on, added to a launch", 8))
def watching(device: Device) -> Iterator[Loop]:
    """What a launch into a stream that a trace watches costs more than one that nobody watches."""
    from runtime import tracing

    four, buffers = kernel(device), [device.alloc(_FOUR_KIB) for _ in range(4)]
    alone = _program(four.bind(device.create_stream(), 8), *buffers)
    with tracing(runtime=device.runtime):
        watched = _program(four.bind(device.create_stream(), 8), *buffers)
        yield lambda calls: cost(watched, calls) - cost(alone, calls)


def _program(call: Callable[..., object], *arguments: Any) -> Loop:
    """Return the loop of `again` as a user's program: a trace notes its line, and would look behind one of ours."""
    scope: dict[str, Any] = {"__name__": "program", "call": call, "arguments": arguments}
    exec(compile("def loop(calls):\n for _ in range(calls):\n  call(*arguments)", "<bench>", "exec"), scope)
    loop: Loop = scope["loop"]
    return loop


@group(
    Spec("64 tasks in a batch, per task", 100, _FEW),
    Spec("64 tasks in a batch, launches as rows, per task", 50, _FEW + 1),
    Spec("64 tasks in a batch sent again, per task", 20, _FEW),
    Spec("1,000 tasks in a batch sent again, per task", 200, _BATCH),
)
def batches(device: Device) -> list[Loop]:
    """Tasks of several kinds that are sent together: launches of two kernels, and copies."""
    import numpy as np

    stream = device.create_stream()
    four, three = kernel(device), kernel(device, 3)
    a, b, c, d = buffers = [device.alloc(_FOUR_KIB) for _ in range(4)]
    scale = np.float32(0.5)

    def filled_batch(count: int) -> Any:
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
    few, many = filled_batch(_FEW), filled_batch(_BATCH)
    return [again(lambda: filled_batch(_FEW).send()), again(rows), again(few.send), again(many.send)]


@group(
    Spec("event record", 2),
    Spec("event record, a new id each time", 4),
    Spec("event record with a time stamp", 10),
    Spec("event record and wait", 4),
    Spec("notify record"),
    Spec("copy inside the device, 4 KiB", 2),
    Spec("copy to the device, 4 KiB, pinned", 10),
    Spec("synchronize an idle stream", 2),
    Spec("query of an idle stream", 2),
)
def tasks(device: Device) -> list[Loop]:
    """Events, notifies, copies and waiting."""
    from runtime import Event

    stream = device.create_stream()
    flags = type(device.create_event().flags)
    plain = Event(device, flags.SYNC, renewed=False)
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
        record(plain), record(event), record(timed), record_and_wait, notify_record, inside, upload,
        again(stream.synchronize), again(stream.query),
    ]  # fmt: skip


@group(Spec("pool: malloc and free", 4), Spec("device: malloc and free", 20))
def memory(device: Device) -> list[Loop]:
    """Pairs of malloc and free."""

    def pooled(calls: int) -> None:
        alloc = device.pool.alloc
        for _ in range(calls):
            alloc(_FOUR_KIB).close()

    def whole(calls: int) -> None:
        alloc = device.alloc
        for _ in range(calls):
            alloc(_FOUR_KIB).close()

    return [pooled, whole]


@group(
    Spec("graph replay", 2),
    Spec("capture, per launch", 3000, _BATCH),
    Spec("capture, the launches alone", 3000, _BATCH),
    Spec("update of one graph node", 10),
    Spec("new arguments for all of 1,000 graph nodes", 400),
)
def graphs(device: Device) -> Iterator[Loop | None]:
    """Replay, capture and change."""
    import numpy as np

    from runtime import errors

    stream = device.create_stream()
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
        launches_alone(calls)

    def launches_alone(calls: int) -> float:
        spent = 0
        for _ in range(calls):
            with stream.capture() as made:
                put = launch(stream, 8)
                began = time.process_time_ns()
                for _ in range(_BATCH):
                    put(buffers[0].address)
                spent += time.process_time_ns() - began
            made.close()
        return spent / calls

    def update(calls: int) -> None:
        for _ in range(calls):
            changed.update(node, args=next(sets))

    yield replay
    yield capture
    yield launches_alone
    try:
        update(1)
    except errors.NotSupported:  # not every driver keeps tasks where they can be changed
        yield None
    else:
        yield update
    large, rows = captured(_BATCH), np.full((_BATCH, 4), buffers[0].address, np.uint64)
    yield again(large.repoint, rows)


@group(
    Spec("launch to completion"),
    Spec("four buffers to completion", 2),
    Spec("graph node executed", _NODES, _NODES),
    Spec("record + wait executed", 3),
)
def executed(device: Device) -> list[Loop]:
    """What the fake takes from a call to the end of its work on the device: the wait for the end is in the loop."""
    stream, other = device.create_stream(), device.create_stream()
    four, buffers, event = kernel(device), [device.alloc(_FOUR_KIB) for _ in range(4)], device.create_event()
    at, address = four.bind_device_arguments(stream, 8), buffers[0].address
    with stream.capture() as graph:
        for _ in range(_NODES):
            four[8](*buffers, stream=stream)

    def launch(calls: int) -> None:
        for _ in range(calls):
            at(address)
        stream.synchronize()

    def subscript(calls: int) -> None:
        for _ in range(calls):
            four[8](*buffers, stream=stream)
        stream.synchronize()

    def replay(calls: int) -> None:
        for _ in range(calls):
            graph.launch(stream)
        stream.synchronize()

    def record_and_wait(calls: int) -> None:
        for _ in range(calls):
            event.record(stream)
            event.wait(other)
        stream.synchronize()
        other.synchronize()

    return [launch, subscript, replay, record_and_wait]


@group(
    Spec("encode a kernel, general builder", 4),
    Spec("encode an event record, general builder", 4),
    Spec("decode an entry", 10),
    Spec("encode 1,000 kernels at once", 100),
)
def codec(device: Device) -> list[Loop]:
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

    return [encode(task), encode(event), again(plugin.decode, plugin.encode(task, env, ids)), batch]
