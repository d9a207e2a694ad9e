"""Eighteen programs, one for each stage in the life of a device, in each of which every driver call fails once.

Each does its stage twice where that makes a difference, checks what it computes, and cleans up by `with` and `close`.
What comes before the first `yield` is made ready without failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from chips import find_chip
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.stream import StreamFlag
from runtime.errors import RuntimeFault
from runtime.feature.graph import Model

Steps = Iterator[None]
WAIT_MS = 3000
MiB = 1 << 20
WORDS = np.arange(16, dtype=np.int32)


def noted(device: Device) -> tuple[Kernel, list[int]]:
    """Return a kernel that notes its argument, and the list of what it noted."""
    log: list[int] = []
    kernel = device.load(minimal_kernel("note", 1), name="note").only
    device.hal.fake.attach(kernel.code, lambda context: log.append(context.args[0]), name="note", grid=True)
    return kernel, log


def opening(machine: Runtime) -> None:
    """Open a device, ask what it is, and close it; then by references, as the C API does it."""
    with machine.device(0) as device:
        assert device.memory_info()[1] > 0
        assert device.usable_cores.cube > 0
    machine.set_device(0)
    machine.reset_device(0)


def streams(machine: Runtime) -> Steps:
    """Make streams of several kinds, use them and close them."""
    device = machine.device(0)
    yield
    for _ in range(2):
        with device.create_stream(priority=1) as one, device.create_stream(flags=StreamFlag.FAST_LAUNCH) as two:
            buffer = device.alloc(64)
            one.write_value(buffer, 5)
            one.synchronize(WAIT_MS)
            two.write_value(buffer + 8, 6)
            assert two.query() in (True, False)
            two.synchronize(WAIT_MS)
            assert device.download(buffer, np.uint64)[:2].tolist() == [5, 6]
            buffer.close()


def events(machine: Runtime) -> Steps:
    """Record, wait for, ask about and subtract events."""
    device = machine.device(0)
    yield
    with ExitStack() as ends:
        one, two = (ends.enter_context(device.create_stream()) for _ in range(2))
        start, done = (ends.enter_context(device.create_event(timing=True)) for _ in range(2))
        between = ends.enter_context(device.create_event())
        buffer = ends.enter_context(closing(device.alloc(64)))
        for number in range(2):
            one.record(start)
            one.write_value(buffer, 7 + number)
            two.wait(one.record(between))
            two.write_value(buffer + 8, 8)
            two.record(done)
            done.synchronize(WAIT_MS)
            assert done.query()
            assert done - start >= 0
            assert device.download(buffer, np.uint64)[:2].tolist() == [7 + number, 8]


def notifies(machine: Runtime) -> Steps:
    """Let one stream wait for a notify of another."""
    device = machine.device(0)
    yield
    for _ in range(2):
        with device.create_stream() as one, device.create_stream() as two, device.create_notify() as notify:
            notify.wait(two)
            notify.record(one)
            two.synchronize(WAIT_MS)
            one.synchronize(WAIT_MS)


def copies(machine: Runtime) -> Steps:
    """Copy, fill and reduce, at once and in a stream, between device and pinned and plain host memory."""
    device = machine.device(0)
    yield
    with ExitStack() as ends:
        stream = ends.enter_context(device.create_stream())
        first, second = (ends.enter_context(closing(device.upload(WORDS))) for _ in range(2))
        pinned = ends.enter_context(closing(device.alloc_host(64)))
        pinned.numpy(np.int32)[:] = 2
        device.fill(second, 0)
        stream.copy(second, first)
        stream.copy(first, pinned)
        stream.copy(pinned, second)
        stream.synchronize(WAIT_MS)
        assert pinned.numpy(np.int32).tolist() == WORDS.tolist()
        stream.copy_rows(second, 16, first, 32, 16, 2)
        stream.reduce(second, first, "add", "int32")
        stream.fill(first, 1)
        stream.synchronize(WAIT_MS)
        assert device.download(second, np.int32)[:8].tolist() == [4] * 8
        assert set(device.download(first).tolist()) == {1}


def launches(machine: Runtime) -> Steps:
    """Load a kernel, launch it prepared and not, wait and unload it."""
    device = machine.device(0)
    yield
    kernel, log = noted(device)
    with device.create_stream() as stream:
        for number in range(3):
            kernel[1](number, stream=stream)
        stream.synchronize(WAIT_MS)
        launch = kernel.bind(stream, 1)
        launch(3)
        stream.synchronize(WAIT_MS)
    kernel.program.close()
    assert log == [0, 1, 2, 3]


def batch(machine: Runtime) -> Steps:
    """Send many launches with one call, and a prepared batch of several tasks twice."""
    device = machine.device(0)
    kernel, log = noted(device)
    yield
    with device.create_stream() as stream, device.create_event() as event:
        stream.launch_many(kernel, 1, np.arange(40, dtype=np.uint64).reshape(40, 1))
        stream.synchronize(WAIT_MS)
        assert log == list(range(40))
        log.clear()
        prepared = stream.batch()
        for number in range(3):
            prepared.launch(kernel, 1, number)
        prepared.record(event)
        prepared.send()
        prepared.send()
        stream.synchronize(WAIT_MS)
    assert log == [0, 1, 2, 0, 1, 2]


def capturing(device: Device) -> None:
    """Refuse a device that has no graphs."""
    if not device.chip.has("MODEL_ACL_GRAPH"):
        raise Unsupported(f"{device.chip.soc} cannot capture")


def capture(machine: Runtime) -> Steps:
    """Capture two streams into a graph, execute it and close it."""
    device = machine.device(0)
    capturing(device)
    kernel, log = noted(device)
    yield
    with device.create_stream() as one, device.create_stream() as two, device.create_event() as event:
        with one.capture() as made:
            kernel[1](1, stream=one)
            two.wait(one.record(event))
            kernel[1](2, stream=two)
            one.wait(two.record(device.create_event()))
            kernel[1](3, stream=one)
        with closing(made):
            made.launch(one)
            one.synchronize(WAIT_MS)
            assert log == [1, 2, 3]


def update(machine: Runtime) -> Steps:
    """Change a graph that was captured, by node and by task group, and execute it between."""
    device = machine.device(0)
    capturing(device)
    kernel, log = noted(device)
    with device.create_stream() as probe, probe.capture() as tried:
        pass
    mapped = tried.software or device.chip.generation == "v100" or bool(tried.streams[0].queues.ring_base)
    tried.close()
    if not mapped:
        raise Unsupported("hardware queues of graphs are not mapped here")
    yield
    with device.create_stream() as stream, device.create_stream() as updater:
        with stream.capture() as made:
            kernel[1](1, stream=stream)
            with stream.task_group() as group:
                kernel[1](2, stream=stream)
        with closing(made):
            made.launch(stream)
            stream.synchronize(WAIT_MS)
            made.update(made.kernels[0], [10])
            with updater.update(group):
                kernel[1](20, stream=updater)
            updater.synchronize(WAIT_MS)
            made.launch(stream)
            stream.synchronize(WAIT_MS)
            assert log == [1, 2, 10, 20]


def graph(machine: Runtime) -> Steps:
    """Execute a graph again and again, beside other work in the stream, then close it."""
    device = machine.device(0)
    capturing(device)
    kernel, log = noted(device)
    stream = device.create_stream()
    with stream.capture() as made:
        for number in range(3):
            kernel[1](number, stream=stream)
    yield
    with stream, closing(made):
        for _ in range(2):
            made.launch(stream)
            kernel[1](9, stream=stream)
            made.launch(stream)
            stream.synchronize(WAIT_MS)
        assert log == [0, 1, 2, 9, 0, 1, 2] * 2


def model(machine: Runtime) -> Steps:
    """Build a model by hand, load it, execute it in a stream and at once, and close it."""
    device = machine.device(0)
    if device.chip.generation not in ("v100", "v200"):
        raise Unsupported(f"models of {device.chip.soc} are not covered")
    kernel, log = noted(device)
    yield
    with ExitStack() as ends:
        runner = ends.enter_context(device.create_stream())
        first, second = (device.create_stream(flags=StreamFlag.PERSISTENT) for _ in range(2))
        ends.callback(first.close, force=True)
        ends.callback(second.close, force=True)
        made = Model(device.context)
        ends.callback(made.close, force=True)
        made.bind(first, head=True)
        made.bind(second, head=True)
        kernel[1](1, stream=first)
        kernel[1](1, stream=second)
        made.end(second)
        made.load()
        made.execute(runner)
        runner.synchronize(WAIT_MS)
        made.execute_now(WAIT_MS)
        assert log == [1, 1, 1, 1]


def pool(machine: Runtime) -> Steps:
    """Take blocks of the pool for two streams, give them back in use, and empty it."""
    device = machine.device(0)
    yield
    with device.create_stream() as one, device.create_stream() as two:
        for size in (100, 3 * MiB, 100):
            with device.pool.alloc(size, one) as block:
                one.write_value(block, 3)
                block.record_stream(two)
                two.write_value(block + 8, 4)
            one.synchronize(WAIT_MS)
            two.synchronize(WAIT_MS)
        device.pool.empty_cache()
        assert device.pool.memory_allocated() == 0


def virtual_memory(machine: Runtime) -> Steps:
    """Reserve addresses, map physical memory twice, and take it apart."""
    device = machine.device(0)
    if not device.chip.has("DEVICE_VMM") and not hasattr(device, "reserve"):
        raise Unsupported(f"{device.chip.soc} has no virtual memory")
    yield
    size = device.granularity()
    with device.reserve(2 * size) as addresses, device.create_physical(size) as physical:
        for offset in (0, size):
            mapping = addresses.map(physical, offset)
            device.copy(mapping, WORDS)
            assert device.download(mapping.view(0, 64), np.int32).tolist() == WORDS.tolist()
            mapping.close()


def sharing(machine: Runtime) -> Steps:
    """Share memory and a notify, under keys that other processes could open."""
    device = machine.device(0)
    yield
    with closing(device.alloc(4096)) as buffer, device.share(buffer, None) as exported:
        exported.allow(device.bare_pid())
    with device.create_notify() as notify:
        notify.export(everyone=True)
    size = device.granularity()
    with device.create_physical(size) as physical:
        physical.export(())
    with device.create_event(shared=True) as event:
        event.share()


def callbacks(machine: Runtime) -> Steps:
    """Have functions called on the host, in order with a stream."""
    device = machine.device(0)
    yield
    seen: list[int] = []
    with device.create_stream() as one, device.create_stream() as two:
        for number in range(2):
            one.host_function(seen.append, number)
            one.synchronize(WAIT_MS)
        two.host_function(seen.append, 2)
        two.synchronize(WAIT_MS)
    assert seen == [0, 1, 2]


def saving(device: Device) -> None:
    """Refuse a device that has no snapshots."""
    if not device.chip.has("DFX_PROCESS_SNAPSHOT"):
        raise Unsupported(f"{device.chip.soc} has no snapshots")


def saved(machine: Runtime) -> tuple[Device, Any, Any, Kernel, list[int]]:
    """Return a device with memory, a stream and a kernel on it."""
    device = machine.device(0)
    saving(device)
    kernel, log = noted(device)
    return device, device.upload(WORDS), device.create_stream(), kernel, log


def restored(machine: Runtime) -> None:
    """Restore; where that has failed half-way once more, as the failure's cure says."""
    try:
        machine.snapshot.restore()
    except RuntimeFault:
        machine.snapshot.restore()
        raise


def snapshot(machine: Runtime) -> Steps:
    """Save what is on a device, and go on with it."""
    device, buffer, stream, kernel, log = saved(machine)
    yield
    with closing(buffer), stream:
        kernel[1](1, stream=stream)
        with machine.snapshot.locked():
            machine.snapshot.backup()
            restored(machine)
        kernel[1](2, stream=stream)
        stream.synchronize(WAIT_MS)
        assert log == [1, 2]
        assert device.download(buffer, np.int32).tolist() == WORDS.tolist()


def restore(machine: Runtime) -> Steps:
    """Bring a snapshot back on another card; one that fails half-way is made once more."""
    device, buffer, stream, kernel, log = saved(machine)
    kernel[1](1, stream=stream)
    machine.snapshot.lock()
    machine.snapshot.backup()
    machine.hal.fake.device(0).exchange()
    yield
    with closing(buffer), stream:
        try:
            restored(machine)
        finally:
            machine.snapshot.unlock()
            kernel[1](2, stream=stream)
            stream.synchronize(WAIT_MS)
            assert log == [1, 2]
            assert device.download(buffer, np.int32).tolist() == WORDS.tolist()


def close(machine: Runtime) -> Steps:
    """Close by force a device on which there is something of everything: a plain close is one of all other stages."""
    device = machine.device(0)
    kernel, log = noted(device)
    stream, event = device.create_stream(), device.create_event(timing=True)
    held = [device.alloc(64), device.alloc_host(64), device.pool.alloc(64), device.create_notify()]
    kernel[1](1, stream=stream)
    stream.record(event)
    if device.chip.has("MODEL_ACL_GRAPH"):
        with stream.capture() as made:
            kernel[1](2, stream=stream)
        made.launch(stream)
        held.append(made)
    stream.host_function(log.append, 3)
    stream.synchronize(WAIT_MS)
    yield
    device.close(force=True)


class Unsupported(Exception):
    """The chip does not have what a stage is about."""


STAGES: dict[str, Callable[[Runtime], Any]] = {
    "open": opening, "streams": streams, "events": events, "notifies": notifies, "copies": copies,
    "launches": launches, "batch": batch, "capture": capture, "update": update, "graph": graph, "model": model,
    "pool": pool, "virtual memory": virtual_memory, "sharing": sharing, "callbacks": callbacks, "snapshot": snapshot,
    "restore": restore, "close": close,
}  # fmt: skip
CHIPS = ("ascend910b1", "ascend950pr_9599", "ascend910_9391", "mc62cm12a", "ascend310b1")
"""The chips of the contract."""
TIERS = ("fake", "fake-abi")


def machines() -> list[str]:
    """Return the URLs of all machines that the stages are swept on."""
    return [f"{tier}://{chip}" for chip in CHIPS for tier in TIERS if find_chip(chip)]
