"""Random programs in which everything is ordered as it must be: memory holds what it should, and no checker complains.

Fills, copies, kernels and graphs of several streams on blocks of the device and of a pool; a block is used when the
tasks that it must come after are over or waited for, by an event or a notify. Blocks come and go, streams are waited
for, everything is saved and brought back on an empty card.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from runtime.api import Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.event import Event
from runtime.launch.batch.batch import Batch
from runtime.testing.script import Script

CHIPS = ("ascend910b3", "ascend950")
STREAMS, BLOCKS, STEPS = 4, 6, 40
KINDS = (
    "fill", "fill", "copy", "copy", "kernel_launch", "kernel_launch", "graph", "notify", "batch", "new", "free", "wait",
    "read", "snapshot",
)  # fmt: skip


def move(context: Any) -> None:
    """What the kernel does: (target, source, bytes)."""
    size = context.args[2]
    context.args.array(0, "u1", size)[:] = context.args.array(1, "u1", size)


class Block:
    """Memory, what must be in it, and the tasks that have used it last."""

    def __init__(self, buffer: Any, size: int) -> None:
        self.buffer, self.content = buffer, np.zeros(size, np.uint8)
        self.written: tuple[Stream, Event] | None = None
        self.read: list[tuple[Stream, Event]] = []


class Program:
    """One run of a program of a seed."""

    def __init__(self, url: str, seed: int) -> None:
        self.machine = Runtime(url)
        self.device = self.machine.device(0)
        self.rng = random.Random(seed)
        self.streams = [self.device.create_stream() for _ in range(STREAMS)]
        self.blocks: list[Block] = []
        self.graphs: list[Any] = []
        self.kernel = self.device.load(minimal_kernel("move", 3), name="move").only
        self.device.hal.fake.attach(self.kernel.code, move, name="move", grid=True)

    def run(self) -> list[str]:
        """Do the steps; returns what checkers have reported."""
        for _ in range(STEPS):
            what = self.rng.choice(KINDS)
            if len(self.blocks) < 2:
                what = "new"
            getattr(self, what)()
        self.wait()
        for block in self.blocks:
            self.compare(block)
        self.close_graphs()
        found = [str(report) for report in self.machine.hal.fake.reports.take()]
        self.machine.close(force=True)
        return found

    def pick(self) -> Block:
        return self.rng.choice(self.blocks)

    def after(self, stream: Stream, block: Block, write: bool, to: Stream | Batch) -> None:
        """Let a stream, or the batch that is being made for it, wait for what its next task must come after."""
        others = [block.written, *(block.read if write else [])]
        for stream_of, event in filter(None, others):
            if stream_of is not stream:
                to.wait(event)

    def note(self, stream: Stream, block: Block, write: bool, to: Stream | Batch) -> None:
        event = self.device.create_event()
        to.record(event)
        if write:
            block.written, block.read = (stream, event), []
        else:
            block.read.append((stream, event))

    def new(self) -> None:
        if len(self.blocks) == BLOCKS:
            return
        size, stream = self.rng.randrange(1, 5000), self.rng.choice(self.streams)
        pooled = self.rng.random() < 0.6
        block = Block(self.device.pool.alloc(size, stream) if pooled else self.device.alloc(size), size)
        if pooled:  # what it was before is no longer asked for
            stream.fill(block.buffer, 0)
            self.note(stream, block, True, stream)
        else:
            self.device.fill(block.buffer, 0)
        self.blocks.append(block)

    def free(self) -> None:
        block = self.pick()
        self.settle(block)
        self.close_graphs()
        self.blocks.remove(block)
        block.buffer.close()

    def settle(self, block: Block) -> None:
        for _, event in filter(None, [block.written, *block.read]):
            event.synchronize()

    def fill(self) -> None:
        stream, block, value = self.rng.choice(self.streams), self.pick(), self.rng.randrange(256)
        self.after(stream, block, True, stream)
        stream.fill(block.buffer, value)
        self.note(stream, block, True, stream)
        block.content[:] = value

    def copy(self) -> None:
        source, target = self.rng.sample(self.blocks, 2)
        stream = self.rng.choice(self.streams)
        self._copy(stream, source, target, stream)

    def _copy(self, stream: Stream, source: Block, target: Block, to: Stream | Batch) -> None:
        size = self.rng.randrange(1, min(len(source.content), len(target.content)) + 1)
        self.after(stream, source, False, to)
        self.after(stream, target, True, to)
        to.copy(target.buffer, source.buffer, size)
        self.note(stream, source, False, to)
        self.note(stream, target, True, to)
        target.content[:size] = source.content[:size]

    def kernel_on(self, to: Any, source: Block, target: Block, size: int) -> None:
        """Launch the kernel that moves bytes from one block to another."""
        to.launch(self.kernel, 1, target.buffer, source.buffer, size)

    def used(self, stream: Stream, source: Block, target: Block) -> None:
        """One has been read and one written by what the stream was given last."""
        self.note(stream, source, False, stream)
        self.note(stream, target, True, stream)

    def kernel_launch(self) -> None:
        source, target = self.rng.sample(self.blocks, 2)
        stream, size = self.rng.choice(self.streams), self.common(source, target)
        self.after(stream, source, False, stream)
        self.after(stream, target, True, stream)
        self.kernel_on(stream, source, target, size)
        self.used(stream, source, target)
        target.content[:size] = source.content[:size]

    def common(self, source: Block, target: Block) -> int:
        return self.rng.randrange(1, min(len(source.content), len(target.content)) + 1)

    def graph(self) -> None:
        """Capture a fill and a kernel, and execute them once or twice; the graph stays for a while."""
        source, target = self.rng.sample(self.blocks, 2)
        stream, size, value = self.rng.choice(self.streams), self.common(source, target), self.rng.randrange(256)
        with stream.capture() as graph:
            stream.fill(target.buffer, value)
            self.kernel_on(stream, source, target, size)
        self.graphs.append(graph)
        self.after(stream, source, False, stream)
        self.after(stream, target, True, stream)
        for _ in range(self.rng.randrange(1, 3)):
            graph.launch(stream)
        self.used(stream, source, target)
        target.content[:] = value
        target.content[:size] = source.content[:size]

    def close_graphs(self) -> None:
        """Close the graphs, behind everything that executes them."""
        self.wait()
        while self.graphs:
            self.graphs.pop().close()

    def notify(self) -> None:
        """Let one stream fill a block and another one go on with it behind a notify."""
        (one, two), block = self.rng.sample(self.streams, 2), self.pick()
        self.after(one, block, True, one)
        one.fill(block.buffer, 1)
        with self.device.create_notify() as notify:
            notify.record(one)
            notify.wait(two)
            two.fill(block.buffer, 2)
            self.note(two, block, True, two)
            block.content[:] = 2
            self.settle(block)
            one.synchronize()

    def batch(self) -> None:
        """Several tasks of one stream at once."""
        stream = self.rng.choice(self.streams)
        with stream.batch() as batch:
            for _ in range(self.rng.randrange(2, 5)):
                source, target = self.rng.sample(self.blocks, 2)
                self._copy(stream, source, target, batch)

    def wait(self) -> None:
        for stream in self.streams:
            stream.synchronize()

    def read(self) -> None:
        block = self.pick()
        self.settle(block)
        self.compare(block)

    def compare(self, block: Block) -> None:
        assert np.array_equal(self.device.download(block.buffer), block.content)

    def snapshot(self) -> None:
        if not self.device.chip.has("DFX_PROCESS_SNAPSHOT"):
            return
        self.close_graphs()
        with self.machine.snapshot.locked():
            self.machine.snapshot.backup()
            self.machine.hal.fake.device(0).exchange()
            self.machine.snapshot.restore()


def seeds(count: int) -> Iterator[tuple[str, int]]:
    for seed in range(count):
        yield f"fake://{CHIPS[seed % 2]}?seed={seed}&policy=random&check=all&hbm=1g", seed


def check(count: int) -> None:
    """Run so many programs; what fails carries the script of the programs of which checkers complain."""
    complaints, script = [], Script(None, f"from {__name__} import Program", "")
    for url, seed in seeds(count):
        line = f"assert not Program({url!r}, {seed}).run()"
        with Script(None, f"from {__name__} import Program", "", line).written():
            found = Program(url, seed).run()
        if found:
            complaints.append((seed, found))
            script.add(line)
    with script.written():
        assert not complaints


def test_checkers_say_nothing_of_programs_without_mistakes() -> None:
    check(6)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_checkers_say_nothing_of_programs_without_mistakes_long() -> None:
    check(1000)
