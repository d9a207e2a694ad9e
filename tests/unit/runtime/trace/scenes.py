"""Programs whose traces the tests look at: what a user would trace, small."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.memory.buffer import Buffer
from runtime.trace import Tracing, tracing


def loop(machine: Runtime) -> None:
    """One stream, one kernel, many launches, one wait."""
    device = machine.device(0)
    kernel, buffer = device.load(minimal_kernel("scale", 1)).only, device.alloc(64)
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    with device.create_stream(name="work") as stream:
        for _ in range(20):
            kernel[8](buffer, stream=stream)
        stream.synchronize()


def streams(machine: Runtime) -> None:
    """Copies and launches in three streams that hand on to each other by events."""
    device = machine.device(0)
    kernel, buffer, host = device.load(minimal_kernel("k", 1)).only, device.alloc(4096), device.alloc_host(4096)
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    made = [device.create_stream(name=name) for name in ("one", "two", "three")]
    for _ in range(3):
        before = None
        for stream in made:
            if before is not None:
                stream.wait(before)
            stream.copy(buffer, host)
            kernel[8](buffer, stream=stream)
            before = stream.record(device.create_event())
    for stream in made:
        stream.synchronize()


def graph(machine: Runtime) -> None:
    """A graph of two kernels, captured and executed three times."""
    device = machine.device(0)
    first, second = (device.load(minimal_kernel(name, 1)).only for name in ("first", "second"))
    for kernel in (first, second):
        device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    buffer, stream = device.alloc(64), device.create_stream(name="work")
    with stream.capture() as captured:
        first[8](buffer, stream=stream)
        second[8](buffer, stream=stream)
    for _ in range(3):
        captured.launch(stream)
    stream.synchronize()


def threads(machine: Runtime) -> None:
    """Two threads, each with a card of its own."""

    def work(number: int) -> None:
        device = machine.device(number)
        kernel, buffer = device.load(minimal_kernel(f"on{number}", 1)).only, device.alloc(64)
        device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
        with device.create_stream(name=f"of thread {number}") as stream:
            for _ in range(5):
                kernel[8](buffer, stream=stream)
            stream.synchronize()

    crew = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for each in crew:
        each.start()
    for each in crew:
        each.join()


def stretches(machine: Runtime) -> None:
    """Stretches that the program has named, nested and crossing, around waits and launches."""
    device, marks = machine.device(0), machine.annotations
    kernel, buffer = device.load(minimal_kernel("scale", 1)).only, device.alloc(64)
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    with device.create_stream(name="work") as stream:
        marks.push("step")
        early = marks.begin("until the launch is queued")
        kernel[8](buffer, stream=stream)
        late = marks.begin("until it is done")
        marks.end(early)
        stream.synchronize()
        marks.pop()
        marks.end(late)


def memory(machine: Runtime) -> None:
    """Buffers, blocks of the pool and pinned memory that come and go beside launches."""
    device, kept = machine.device(0), list[Buffer]()
    kernel = device.load(minimal_kernel("scale", 1)).only
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    with device.create_stream(name="work") as stream:
        for number in range(1, 5):
            kept.append(device.alloc(number << 20))
            with device.pool.alloc(number << 19, stream) as scratch:
                kernel[8](scratch, stream=stream)
                kept.append(device.pool.alloc(1 << 19, stream))
        stream.synchronize()
        kept.append(device.alloc_host(1 << 16))
        for buffer in kept:
            buffer.close()
        device.pool.trim()


SCENES: dict[str, Callable[[Runtime], None]] = {
    "loop": loop, "streams": streams, "graph": graph, "threads": threads,
    "stretches": stretches, "memory": memory,
}


def traced(scene: str, machine: Runtime) -> Tracing:
    """Trace a scene, on a device that is open already."""
    machine.device(0)
    with tracing(runtime=machine, memory=scene == "memory") as trace:
        SCENES[scene](machine)
    return trace
