"""Threads on one device, each with a model of the memory that it has; blocks change hands behind events."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from runtime import errors
from runtime.api import Runtime, Stream
from runtime.cli.sample import minimal_kernel

WAIT_MS = 60_000
BLOCKS, SIZE = 3, 256


class Block:
    """Memory of one value per byte, and the event behind the last task that has written it."""

    def __init__(self, buffer: Any, written: Any = None) -> None:
        self.buffer, self.value, self.written = buffer, 0, written


class Member(threading.Thread):
    """One thread of the crowd; what goes wrong is in `failure`."""

    def __init__(self, crowd: Crowd, seed: int) -> None:
        super().__init__(name=f"member {seed}", daemon=True)
        self.crowd, self.device = crowd, crowd.device
        self.rng = random.Random(seed)
        self.failure: BaseException | None = None
        self.done = 0

    def run(self) -> None:
        try:
            self.streams = [self.device.create_stream() for _ in range(2)]
            self.blocks = [self.new() for _ in range(BLOCKS)]
            operations: list[Callable[[], None]] = [
                self.fill, self.fill, self.copy, self.copy, self.launch, self.graph, self.pooled, self.stream,
                self.abort, self.host_function, self.pass_on, self.look,
            ]  # fmt: skip
            for _ in range(self.crowd.steps):
                try:
                    self.rng.choice(operations)()
                    self.done += 1
                except errors.ResourceExhausted:
                    self.crowd.exhausted += 1
            self.look()
            for stream in self.streams:
                stream.close()
        except BaseException as failure:
            self.failure = failure

    def new(self) -> Block:
        block = Block(self.device.alloc(SIZE))
        self.device.fill(block.buffer, 0)
        return block

    def order(self, stream: Stream, block: Block) -> None:
        if block.written is not None:
            stream.wait(block.written)

    def wrote(self, stream: Stream, block: Block, value: int) -> None:
        block.written, block.value = stream.record(self.device.create_event()), value

    def fill(self) -> None:
        stream, block, value = self.rng.choice(self.streams), self.rng.choice(self.blocks), self.rng.randrange(256)
        self.order(stream, block)
        stream.fill(block.buffer, value)
        self.wrote(stream, block, value)

    def copy(self) -> None:
        stream, (source, target) = self.rng.choice(self.streams), self.rng.sample(self.blocks, 2)
        self.order(stream, source)
        self.order(stream, target)
        stream.copy(target.buffer, source.buffer)
        self.wrote(stream, target, source.value)
        source.written = target.written  # whoever writes it next comes after this read

    def launch(self) -> None:
        stream, number = self.rng.choice(self.streams), self.rng.randrange(1 << 30)
        self.crowd.kernel[1](number, stream=stream)
        stream.synchronize(WAIT_MS)
        assert number in self.crowd.ran

    def graph(self) -> None:
        stream, block, value = self.rng.choice(self.streams), self.rng.choice(self.blocks), self.rng.randrange(256)
        with stream.capture(self.crowd.mode) as graph:
            stream.fill(block.buffer, value)
            self.crowd.kernel[1](1, stream=stream)
        self.order(stream, block)
        for _ in range(self.rng.randrange(1, 3)):
            graph.launch(stream)
        self.wrote(stream, block, value)
        stream.synchronize(WAIT_MS)
        graph.close()

    def pooled(self) -> None:
        stream = self.rng.choice(self.streams)
        with self.device.pool.alloc(self.rng.choice((64, 5000, 2 << 20)), stream) as scratch:
            stream.fill(scratch, 7, 64)
            back = self.device.alloc_host(64)
            stream.copy(back, scratch, 64)
            stream.synchronize(WAIT_MS)
            assert set(back.numpy(np.uint8).tolist()) == {7}
            back.close()

    def stream(self) -> None:
        block, value = self.rng.choice(self.blocks), self.rng.randrange(256)
        with self.device.create_stream() as made:
            self.order(made, block)
            made.fill(block.buffer, value)
            made.synchronize(WAIT_MS)
        block.written, block.value = None, value

    def abort(self) -> None:
        """End a stream with nothing in it that matters, while others make streams."""
        with self.device.create_stream() as made:
            made.fill(self.crowd.rubbish, 1)
            made.abort()
            made.fill(self.crowd.rubbish, 2)
            made.synchronize(WAIT_MS)

    def host_function(self) -> None:
        stream, seen = self.rng.choice(self.streams), []
        stream.host_function(seen.append, 1)
        stream.synchronize(WAIT_MS)
        assert seen == [1]

    def pass_on(self) -> None:
        """Give a block to whoever comes next, and take one that somebody has given."""
        index = self.rng.randrange(BLOCKS)
        try:
            taken = self.crowd.passed.get_nowait()
        except Empty:
            taken = self.new()
        self.crowd.passed.put(self.blocks[index])
        self.blocks[index] = taken

    def look(self) -> None:
        for stream in self.streams:
            stream.synchronize(WAIT_MS)
        for block in self.blocks:
            if block.written is not None:
                block.written.synchronize(WAIT_MS)
            found = self.device.download(block.buffer)
            assert set(found.tolist()) == {block.value}, f"{set(found.tolist())}, not {block.value}"


class Crowd:
    """A device and the threads on it."""

    def __init__(self, url: str, seed: int, members: int, steps: int) -> None:
        from runtime.core.sync.open_captures import CaptureMode

        self.machine = Runtime(url)
        self.device = self.machine.device(0)
        self.mode = CaptureMode.RELAXED
        self.steps, self.exhausted = steps, 0
        self.passed: SimpleQueue[Block] = SimpleQueue()
        self.ran: set[int] = set()
        self.rubbish = self.device.alloc(SIZE)
        self.kernel = self.device.load(minimal_kernel("note", 1), name="note").only
        fake: Any = self.device.hal.fake
        fake.attach(self.kernel.code, lambda context: self.ran.add(context.args[0]), name="note", grid=True)
        self.members = [Member(self, seed * 1000 + number) for number in range(members)]

    def run(self) -> int:
        """Let all threads do their steps; returns how many were done, and raises what went wrong in one."""
        for member in self.members:
            member.start()
        for member in self.members:
            member.join(240)
            assert not member.is_alive(), f"{member.name} hangs"
        for member in self.members:
            if member.failure is not None:
                raise member.failure
        self.device.close(force=True)
        self.machine.close(force=True)
        return sum(member.done for member in self.members)
