"""A storm: operations on a device, each interrupted somewhere, against a model of what memory must hold.

After each interrupt the program goes on as somebody at a prompt would who pressed Ctrl-C: objects that the interrupted
call was to make are forgotten, a capture that was under way is given up, and everything else is used on. All streams
must end their work then, and every block must hold what it held before the call or what the call has put there.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.abort import abort_device
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph import Model
from tests.tools.interrupts import Alarm, Interrupter

WAIT_MS = 20_000
KERNELS = "fakes/kernels.py"
"""What functions that stand for kernels call: an interrupt there ends the program's function, and its task fails."""
STREAMS, BLOCKS, SIZE = 3, 5, 512
COUNTED = 0.1
"""How many operations are left alone, to see how many places they have once everything is warm."""
Step = Callable[[], Any]


class CtrlC(KeyboardInterrupt):
    """What the storm interrupts with: of a type of its own, so that it is told from everybody else's."""


class HandlerError(Exception):
    """What a signal handler of the program raises."""


@contextmanager
def finalizers_may_be_interrupted() -> Generator[None, None, None]:
    """Let CPython drop the storm's own exceptions where they come while an object is finalized, and nothing else.

    No `__del__` can raise: CPython hands what one raises to `sys.unraisablehook`, and the program goes on. To be
    entered before a machine of `fake-abi://` is made, which looks first for what its own calls have raised.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type not in (CtrlC, HandlerError):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def kernels_may_be_interrupted() -> Generator[None, None, None]:
    """Let a task fail whose function, that stands for its kernel, an alarm has ended: such a one comes anywhere."""
    try:
        yield
    except errors.RuntimeFault as fault:
        if not any(f"has raised {each.__name__}" in str(fault) for each in (CtrlC, HandlerError)):
            raise


class Block:
    """Memory of one value per byte, and what may be in it: the value before an interrupted call, and behind it."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.value = 0
        self.possible: set[int] = set()


class Storm:
    """One machine, and operations on it that are interrupted."""

    def __init__(self, url: str, seed: int, by: type[Alarm] | None = None) -> None:
        """Args:
        by: what interrupts; by default an `Interrupter`, which can do so at places of its choice.
        """
        self.rng = random.Random(seed)
        self.machine = Runtime(url)
        self.device: Device = self.machine.device(0)
        self.streams = [self.device.create_stream() for _ in range(STREAMS)]
        self.blocks = [self.new_block() for _ in range(BLOCKS)]
        self.ran: list[int] = []
        self.kernel = self.load()
        self.event = self.device.create_event()
        chosen = partial(Interrupter, never_inside=KERNELS, finalizers=True) if by is None else by
        self.interrupter = chosen(raises=CtrlC)
        self.handler = chosen(raises=HandlerError)
        self.lengths: dict[str, int] = {}
        """How many places each operation has come to when it was last made without an interrupt."""
        self.struck: Counter[str] = Counter()
        self.operations: list[Callable[[], Step]] = [
            self.fill, self.copy, self.launch, self.events, self.notifies, self.host_function, self.batch,
            self.graph, self.stream, self.allocate, self.pooled, self.host_memory, self.wait, self.upload,
            self.object_pair, self.program, self.abort, self.abort_all, self.model,
        ]  # fmt: skip

    def run(self, interrupts: int) -> None:
        """Make operations until so many have been interrupted; what goes wrong is raised."""
        while self.struck.total() < interrupts:
            self.step()

    def step(self) -> None:
        """Make one operation, interrupted somewhere, and look at everything."""
        make = self.rng.choice(self.operations)
        operation, name = make(), make.__name__
        interrupter = self.rng.choice((self.interrupter, self.interrupter, self.handler))
        if self.rng.random() < COUNTED or name not in self.lengths:
            self.lengths[name] = interrupter.count(operation)
        else:
            with kernels_may_be_interrupted():
                self.struck[name] += interrupter.run(operation, self.rng.randrange(self.lengths[name]))
        try:
            self.recover()
            self.check()
        except BaseException as failure:
            at = f"after {self.struck.total()} interrupts; {name} was interrupted at {interrupter.at or 'nowhere'}"
            raise AssertionError(f"{at}: {type(failure).__name__}: {failure}") from failure

    def recover(self) -> None:
        """Give up a capture that is under way, and put closed streams out of the list."""
        for stream in list(self.streams):
            if stream.closed or stream.branch is not None:
                if not stream.closed:
                    stream.close(force=True)
                self.streams.remove(stream)
        while len(self.streams) < STREAMS:
            self.streams.append(self.device.create_stream())

    def check(self) -> None:
        """Wait for everything, and compare memory."""
        for stream in self.streams:
            with kernels_may_be_interrupted():
                stream.synchronize(WAIT_MS)
            stream.synchronize(WAIT_MS)
        for block in self.blocks:
            found = self.device.download(block.buffer)
            values = set(found.tolist())
            assert len(values) == 1, f"mixed values {values}"
            (value,) = values
            assert value == block.value or value in block.possible, f"{value}, not {block.value} or {block.possible}"
            block.value = value
            block.possible.clear()
        self.ran.clear()

    # -- operations: what is chosen is chosen before, what is returned is interrupted ------------------------------

    def pick(self) -> tuple[Stream, Block, int]:
        stream, block, value = self.rng.choice(self.streams), self.rng.choice(self.blocks), self.rng.randrange(256)
        block.possible.add(value)
        return stream, block, value

    def new_block(self) -> Block:
        buffer = self.device.alloc(SIZE)
        self.device.fill(buffer, 0)
        return Block(buffer)

    def load(self) -> Kernel:
        kernel = self.device.load(minimal_kernel("note", 1), name="note").only
        fake: Any = self.device.hal.fake
        fake.attach(kernel.code, lambda context: self.ran.append(context.args[0]), name="note", grid=True)
        return kernel

    def fill(self) -> Step:
        stream, block, value = self.pick()
        return lambda: stream.fill(block.buffer, value)

    def copy(self) -> Step:
        stream, (source, target) = self.rng.choice(self.streams), self.rng.sample(self.blocks, 2)
        target.possible.add(source.value)
        return lambda: stream.copy(target.buffer, source.buffer)

    def launch(self) -> Step:
        stream, number = self.rng.choice(self.streams), self.rng.randrange(1000)
        return lambda: self.kernel[1](number, stream=stream)

    def events(self) -> Step:
        one, two = self.rng.sample(self.streams, 2)

        def step() -> None:
            one.record(self.event)
            two.wait(self.event)
            self.event.synchronize(WAIT_MS)

        return step

    def notifies(self) -> Step:
        one, two = self.rng.sample(self.streams, 2)
        notify = self.device.create_notify()  # one that was recorded and not waited for holds its next record back

        def step() -> None:
            notify.record(one)
            notify.wait(two)
            notify.close()

        return step

    def host_function(self) -> Step:
        stream = self.rng.choice(self.streams)
        return lambda: stream.host_function(self.ran.append, 1)

    def batch(self) -> Step:
        stream, block, value = self.pick()

        def step() -> None:
            with stream.batch() as batch:
                batch.launch(self.kernel, 1, 5)
                batch.fill(block.buffer, value)
                batch.record(self.event)

        return step

    def graph(self) -> Step:
        stream, block, value = self.pick()

        def step() -> None:
            with stream.capture() as graph:
                self.kernel[1](1, stream=stream)
                stream.fill(block.buffer, value)
            graph.launch(stream)
            stream.synchronize(WAIT_MS)
            graph.close()

        return step

    def stream(self) -> Step:
        block, value = self.pick()[1:]

        def step() -> None:
            with self.device.create_stream() as made:
                made.fill(block.buffer, value)

        return step

    def allocate(self) -> Step:
        size = self.rng.choice((1, 4096, 3 << 20))
        return lambda: self.device.alloc(size).close()

    def pooled(self) -> Step:
        stream, size = self.rng.choice(self.streams), self.rng.choice((64, 5000, 3 << 20))

        def step() -> None:
            with self.device.pool.alloc(size, stream) as block:
                stream.fill(block, 1)
            if size > 5000:
                self.device.pool.empty_cache()

        return step

    def host_memory(self) -> Step:
        stream, block, value = self.pick()

        def step() -> None:
            pinned = self.device.alloc_host(SIZE)
            pinned.numpy(np.uint8)[:] = value
            stream.copy(block.buffer, pinned)
            stream.synchronize(WAIT_MS)
            pinned.close()

        return step

    def upload(self) -> Step:
        _, block, value = self.pick()
        return lambda: self.device.copy(block.buffer, np.full(SIZE, value, np.uint8))

    def wait(self) -> Step:
        stream, block, value = self.pick()
        stream.fill(block.buffer, value)
        block.value = value
        return lambda: self.device.synchronize(WAIT_MS)

    def object_pair(self) -> Step:
        def step() -> None:
            self.device.create_event(timing=True).close()
            self.device.create_notify().close()

        return step

    def abort(self) -> Step:
        stream, block, value = self.pick()

        def step() -> None:
            stream.fill(block.buffer, value)
            stream.abort()

        return step

    def abort_all(self) -> Step:
        (one, block, value), (two, other, another) = self.pick(), self.pick()
        if block is other:
            block.possible |= {value, another}

        def step() -> None:
            one.fill(block.buffer, value)
            two.fill(other.buffer, another)
            abort_device(self.device)

        return step

    def model(self) -> Step:
        _, block, value = self.pick()
        stream = self.rng.choice(self.streams)

        def step() -> None:
            model, part = Model(self.device.context), self.device.create_stream(flags=StreamFlag.PERSISTENT)
            model.bind(part)
            part.fill(block.buffer, value)
            model.end(part)
            model.load()
            model.execute(stream)
            stream.synchronize(WAIT_MS)
            model.close()
            part.close()

        return step

    def program(self) -> Step:
        image = minimal_kernel("other", 1)
        return lambda: self.device.load(image, name="other").close()
