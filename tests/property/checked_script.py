"""A program of several streams in which everything is ordered as it must be, made by a seed, written down as it runs.

Blocks are used when the tasks that they must come after are over or waited for. What each holds is computed beside.
"""

from __future__ import annotations

import random

import numpy as np

from runtime.api import Runtime
from runtime.testing.script import Script

STREAMS, BLOCKS, STEPS = 4, 6, 40
KINDS = (
    "fill", "fill", "copy", "copy", "kernel_launch", "kernel_launch", "graph", "forked_graph", "task_group",
    "condition", "model", "notify", "timed", "value", "host_function", "pinned", "rows", "reduce", "alias", "batch",
    "new", "new", "free", "wait", "read", "trim", "snapshot",
)  # fmt: skip
_PLACES = ("device", "pool", "pool", "managed", "virtual")
_MAPPED = 2 << 20

_HEAD = f"""
streams = [device.create_stream() for _ in range({STREAMS})]
graphs = []


def move(context):
    \"\"\"What the kernel does: (target, source, bytes).\"\"\"
    size = context.args[2]
    context.args.array(0, "u1", size)[:] = context.args.array(1, "u1", size)


kernel = device.load(minimal_kernel("move", 3), name="move").only
device.hal.fake.attach(kernel.code, move, name="move", grid=True)


def wait():
    for each in streams:
        each.synchronize()


def close_graphs():
    wait()
    while graphs:
        graphs.pop().close()


def compare(buffer, content):
    found = buffer.numpy(np.uint8) if hasattr(buffer, "numpy") else device.download(buffer)
    assert np.array_equal(found[: len(content)], content)

"""
_IMPORTS = (
    "from runtime.cli.sample import minimal_kernel", "from runtime.core.stream.stream import StreamFlag",
    "from runtime.core.sync.label import Label, LabelList", "from runtime.feature import graph",
    "from runtime.feature.graph import Condition, ConditionKind, Handle, Model",
    "from runtime.feature.graph.model.links import switch_label",
)  # fmt: skip


class Block:
    """Memory of a number: its bytes, and the streams and events of the tasks that have used it last."""

    def __init__(self, number: int, size: int, close: str, place: str) -> None:
        self.buffer, self.content, self.size, self.close = f"b{number}", f"w{number}", size, close
        self.place = place
        self.written: tuple[int, str] | None = None
        self.read: list[tuple[int, str]] = []


class Program:
    """One run of the program of a seed."""

    def __init__(self, url: str, seed: int, steps: int = STEPS) -> None:
        self.rng, self.steps = random.Random(seed), steps
        self.machine = Runtime(url)
        self.device = self.machine.device(0)
        names = {"np": np, "machine": self.machine, "device": self.device, "stream": self.device.create_stream()}
        self.script = Script(url, *_IMPORTS, names=names)
        exec("\n".join(_IMPORTS), self.script.names)
        self.script.run(_HEAD)
        self.managed = "910" in self.device.chip.soc and self.rng.random() < 0.5
        """Whether there is managed memory, beside which nothing is saved."""
        self.blocks: list[Block] = []
        self.numbers = 0

    def run(self) -> list[str]:
        """Do the steps; returns what checkers have reported."""
        try:
            for _ in range(self.steps):
                what = self.rng.choice(KINDS)
                getattr(self, "new" if len(self.blocks) < 2 else what)()
            self.do("wait()")
            for block in self.blocks:
                self.do(f"compare({block.buffer}, {block.content})")
            self.do("close_graphs()")
            return [str(report) for report in self.machine.hal.fake.reports.take()]
        finally:
            self.machine.close(force=True)

    # -- what the steps are made of ---------------------------------------------------------------------------------

    def do(self, *lines: str) -> None:
        self.script.run(*lines)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def pick(self) -> Block:
        return self.rng.choice(self.blocks)

    def filled(self) -> Block:
        """Return a block that streams fill: what the host can use is filled at once, whatever is queued."""
        return self.rng.choice([block for block in self.blocks if block.place != "managed"])

    def two(self, *, filled: bool = False) -> tuple[Block, Block, int]:
        """Return a source, a target (`filled`: one that streams fill), and how many bytes go from one to the other."""
        source, target = self.rng.sample(self.blocks, 2)
        if filled and target.place == "managed":
            source, target = target, self.filled()
        return source, target, self.rng.randrange(1, min(source.size, target.size) + 1)

    def stream(self) -> int:
        return self.rng.randrange(STREAMS)

    def after(self, stream: int, block: Block, write: bool, to: str = "") -> None:
        """Let a stream, or the batch that is being made for it, wait for what its next task must come after."""
        for used_by, event in filter(None, [block.written, *(block.read if write else [])]):
            if used_by != stream:
                self.do(f"{to or f'streams[{stream}]'}.wait({event})")

    def note(self, stream: int, block: Block, write: bool, to: str = "") -> None:
        event = f"e{self.number()}"
        timing = self.rng.random() < 0.2
        self.do(f"{event} = device.create_event(timing={timing})", f"{to or f'streams[{stream}]'}.record({event})")
        if write:
            block.written, block.read = (stream, event), []
        else:
            block.read.append((stream, event))

    def between(self, stream: int, source: Block | None, target: Block, *lines: str, to: str = "") -> None:
        """Do something that reads one block and writes another."""
        if source is not None:
            self.after(stream, source, False, to)
        self.after(stream, target, True, to)
        self.do(*lines)
        if source is not None:
            self.note(stream, source, False, to)
        self.note(stream, target, True, to)

    def settle(self, block: Block) -> None:
        for _, event in filter(None, [block.written, *block.read]):
            self.do(f"{event}.synchronize()")

    # -- the steps --------------------------------------------------------------------------------------------------

    def new(self) -> None:
        if len(self.blocks) == BLOCKS:
            return
        number, size, stream = self.number(), self.rng.randrange(1, 5000), self.stream()
        place = self.rng.choice(_PLACES)
        if place == "managed" and (not self.managed or len(self.blocks) < BLOCKS // 2):
            place = "device"
        block = Block(number, size, f"b{number}.close()", place)
        if place == "pool":
            self.do(f"{block.buffer} = device.pool.alloc({size}, streams[{stream}])")
        elif place == "virtual":
            self.do(
                f"p{number}, r{number} = device.create_physical({_MAPPED}), device.reserve({_MAPPED})",
                f"m{number} = r{number}.map(p{number})", f"b{number} = m{number}.view(0, {size})",
            )  # fmt: skip
            block.close = f"m{number}.close(); r{number}.close(); p{number}.close()"
        elif place == "managed":
            self.do(f"{block.buffer} = device.alloc_managed({size})")
        else:
            self.do(f"{block.buffer} = device.alloc({size})")
        self.do(f"{block.content} = np.zeros({size}, np.uint8)", f"streams[{stream}].fill({block.buffer}, 0)")
        self.note(stream, block, True)
        self.blocks.append(block)

    def free(self) -> None:
        block = self.pick()
        self.settle(block)
        self.do("close_graphs()", block.close)
        self.blocks.remove(block)

    def fill(self) -> None:
        stream, block, value = self.stream(), self.filled(), self.rng.randrange(256)
        self.between(stream, None, block, f"streams[{stream}].fill({block.buffer}, {value})")
        self.do(f"{block.content}[:] = {value}")

    def moved(self, source: Block, target: Block, size: int) -> None:
        self.do(f"{target.content}[:{size}] = {source.content}[:{size}]")

    def copy(self) -> None:
        stream, (source, target, size) = self.stream(), self.two()
        line = f"streams[{stream}].copy({target.buffer}, {source.buffer}, {size})"
        self.between(stream, source, target, line)
        self.moved(source, target, size)

    def kernel_launch(self) -> None:
        stream, (source, target, size) = self.stream(), self.two()
        line = f"kernel[1]({target.buffer}, {source.buffer}, {size}, stream=streams[{stream}])"
        self.between(stream, source, target, line)
        self.moved(source, target, size)

    def alias(self) -> None:
        """Write a block by the address at which its key is opened."""
        block, stream, value, number = self.pick(), self.stream(), self.rng.randrange(256), self.number()
        if block.place != "device":
            return
        self.do(f"x{number} = device.share({block.buffer}, None)", f"o{number} = device.open_shared(x{number}.key)")
        self.between(stream, None, block, f"streams[{stream}].fill(o{number}, {value}, {block.size})")
        self.do(f"{block.content}[:] = {value}")
        self.settle(block)
        self.do(f"o{number}.close()", f"x{number}.close()")

    def pinned(self) -> None:
        """Read a block into pinned memory, or write it from there."""
        stream, block, number = self.stream(), self.pick(), self.number()
        size, value = self.rng.randrange(1, block.size + 1), self.rng.randrange(256)
        self.do(f"h{number} = device.alloc_host({size})")
        if self.rng.random() < 0.5:
            self.after(stream, block, False)
            self.do(f"streams[{stream}].copy(h{number}, {block.buffer}, {size})")
            self.note(stream, block, False)
            self.do(f"streams[{stream}].synchronize()", f"compare(h{number}, {block.content}[:{size}])")
        else:
            self.do(f"h{number}.numpy(np.uint8)[:] = {value}")
            line = f"streams[{stream}].copy({block.buffer}, h{number}, {size})"
            self.between(stream, None, block, line)
            self.do(f"{block.content}[:{size}] = {value}")
            self.settle(block)
        self.do(f"h{number}.close()")

    def rows(self) -> None:
        stream, (source, target, size) = self.stream(), self.two()
        width = max(1, size // 4)
        pitch, height = width + (size >= 8), min(3, size // (width + (size >= 8)))
        if not height:
            return
        line = (
            f"streams[{stream}].copy_rows({target.buffer}, {pitch}, {source.buffer}, {pitch}, {width}, {height})"
        )
        self.between(stream, source, target, line)
        self.do(*(
            f"{target.content}[{at}:{at + width}] = {source.content}[{at}:{at + width}]"
            for at in range(0, height * pitch, pitch)
        ))  # fmt: skip

    def reduce(self) -> None:
        """Add words of one block to those of another."""
        stream, (source, target, size) = self.stream(), self.two()
        if (size := size // 4 * 4) == 0:
            return
        words = f"{target.buffer}.view(0, {size}), {source.buffer}.view(0, {size})"
        self.between(stream, source, target, f"streams[{stream}].reduce({words}, 'add', 'int32')")
        self.do(f"{target.content}[:{size}].view(np.int32)[:] += {source.content}[:{size}].view(np.int32)")

    def host_function(self) -> None:
        """A function of the host between two tasks of a stream."""
        stream, block, number = self.stream(), self.filled(), self.number()
        self.between(
            stream, None, block, f"streams[{stream}].fill({block.buffer}, 3)", f"called{number} = []",
            f"streams[{stream}].host_function(called{number}.append, {number})",
            f"streams[{stream}].fill({block.buffer}, 4)",
        )  # fmt: skip
        self.do(f"{block.content}[:] = 4")
        self.settle(block)
        self.do(f"assert called{number} == [{number}]")

    def value(self) -> None:
        """Order two streams by a word that one of them writes."""
        (one, two), block, number = self.rng.sample(range(STREAMS), 2), self.filled(), self.number()
        self.do(f"f{number} = device.alloc(8)", f"device.fill(f{number}, 0)")
        self.after(one, block, True)
        self.do(
            f"streams[{one}].fill({block.buffer}, 5)", f"streams[{one}].write_value(f{number}, {number})",
            f"streams[{two}].wait_value(f{number}, {number})", f"streams[{two}].fill({block.buffer}, 6)",
            f"{block.content}[:] = 6",
        )  # fmt: skip
        self.note(two, block, True)
        self.settle(block)
        self.do(f"streams[{one}].synchronize()", f"f{number}.close()")

    def notify(self) -> None:
        """Let one stream fill a block and another one go on with it behind a notify."""
        (one, two), block, number = self.rng.sample(range(STREAMS), 2), self.filled(), self.number()
        self.after(one, block, True)
        self.do(
            f"n{number} = device.create_notify()", f"streams[{one}].fill({block.buffer}, 1)",
            f"n{number}.record(streams[{one}])", f"n{number}.wait(streams[{two}])",
            f"streams[{two}].fill({block.buffer}, 2)", f"{block.content}[:] = 2",
        )  # fmt: skip
        self.note(two, block, True)
        self.settle(block)
        self.do(f"streams[{one}].synchronize()", f"n{number}.close()")

    def timed(self) -> None:
        stream, number = self.stream(), self.number()
        self.do(f"t{number}, u{number} = device.create_event(timing=True), device.create_event(timing=True)",
                f"streams[{stream}].record(t{number})")  # fmt: skip
        self.fill()
        self.do(
            f"streams[{stream}].record(u{number})", f"u{number}.synchronize()", f"assert u{number} - t{number} >= 0",
            f"t{number}.close(); u{number}.close()",
        )  # fmt: skip

    def batch(self) -> None:
        """Several tasks of one stream at once."""
        stream = self.stream()
        self.do(f"batch = streams[{stream}].batch()")
        for _ in range(self.rng.randrange(2, 5)):
            source, target, size = self.two()
            line = (
                f"batch.copy({target.buffer}, {source.buffer}, {size})" if self.rng.random() < 0.5 else
                f"batch.launch(kernel, 1, {target.buffer}, {source.buffer}, {size})"
            )
            self.between(stream, source, target, line, to="batch")
            self.moved(source, target, size)
        self.do("batch.send()")

    # -- graphs -----------------------------------------------------------------------------------------------------

    def executed(self, stream: int, name: str, source: Block, target: Block) -> None:
        """Execute a graph, once or twice, which reads one block and writes another."""
        lines = [f"{name}.launch(streams[{stream}])"] * self.rng.randrange(1, 3)
        self.between(stream, source, target, *lines)

    def graph(self) -> None:
        """Capture a fill and a kernel, and execute them; the graph stays for a while."""
        stream, (source, target, size), name = self.stream(), self.two(filled=True), f"g{self.number()}"
        self.do(
            f"with streams[{stream}].capture() as {name}:", f"    streams[{stream}].fill({target.buffer}, 7)",
            f"    kernel[1]({target.buffer}, {source.buffer}, {size}, stream=streams[{stream}])",
            f"graphs.append({name})",
        )  # fmt: skip
        self.executed(stream, name, source, target)
        self.do(f"{target.content}[:] = 7")
        self.moved(source, target, size)

    def forked_graph(self) -> None:
        """A graph of two branches that come together again: they use other bytes."""
        (one, two), (source, target, size) = self.rng.sample(range(STREAMS), 2), self.two()
        name, half = f"g{self.number()}", size // 2
        if not half:
            return
        self.do(
            f"with streams[{one}].capture() as {name}:",
            f"    streams[{two}].wait(streams[{one}].record(device.create_event()))",
            f"    streams[{one}].copy({target.buffer}.view(0, {half}), {source.buffer}.view(0, {half}))",
            f"    streams[{two}].copy({target.buffer}.view({half}, {size - half}), "
            f"{source.buffer}.view({half}, {size - half}))",
            f"    streams[{one}].wait(streams[{two}].record(device.create_event()))", f"graphs.append({name})",
        )  # fmt: skip
        self.executed(one, name, source, target)
        self.moved(source, target, size)

    def task_group(self) -> None:
        """Change the kernel of a graph between two executions."""
        (stream, updater), (source, target, size) = self.rng.sample(range(STREAMS), 2), self.two()
        number, other = self.number(), self.rng.randrange(1, size + 1)
        launch = f"    kernel[1]({target.buffer}, {source.buffer}, {{}}, stream=streams[{{}}])"
        self.do(
            f"with streams[{stream}].capture() as g{number}, streams[{stream}].task_group() as k{number}:",
            launch.format(size, stream), f"graphs.append(g{number})",
        )  # fmt: skip
        self.executed(stream, f"g{number}", source, target)
        self.do(
            f"streams[{stream}].synchronize()", f"with streams[{updater}].update(k{number}):",
            launch.format(other, updater),
            f"streams[{stream}].wait(streams[{updater}].record(device.create_event()))",
        )  # fmt: skip
        self.executed(stream, f"g{number}", source, target)
        self.moved(source, target, size)

    def condition(self) -> None:
        """A graph whose branch runs or does not."""
        (stream, inner), (source, target, size) = self.rng.sample(range(STREAMS), 2), self.two()
        number, taken = self.number(), self.rng.randrange(2)
        self.do(
            f"g{number} = graph.begin(streams[{stream}])", f"c{number} = Handle(g{number}, {taken}, assigned=True)",
            f"d{number} = Condition(streams[{stream}], c{number}, ConditionKind.IF, 1)",
            f"graph.begin(streams[{inner}], into=d{number}.branches[0])",
            f"kernel[1]({target.buffer}, {source.buffer}, {size}, stream=streams[{inner}])",
            f"graph.end(streams[{inner}])", f"g{number} = graph.end(streams[{stream}])", f"graphs.append(g{number})",
        )  # fmt: skip
        self.executed(stream, f"g{number}", source, target)
        if taken:
            self.moved(source, target, size)

    def model(self) -> None:
        """A model by hand that jumps to a label, behind everything that uses its blocks."""
        (source, target, size), number = self.two(filled=True), self.number()
        self.settle(source)
        self.settle(target)
        self.do(
            f"m{number}, q{number} = Model(device.context), device.create_stream(flags=StreamFlag.PERSISTENT)",
            f"m{number}.bind(q{number}, head=True)",
            f"l{number} = [Label(device, device.runtime.label_ids) for _ in range(2)]",
            f"i{number}, y{number} = device.upload(np.array([1], 'u8')), LabelList(device, l{number})",
            f"switch_label(q{number}, i{number}.address, 2, y{number})", f"l{number}[0].set(q{number})",
            f"q{number}.fill({target.buffer}, 9)", f"l{number}[1].set(q{number})",
            f"kernel[1]({target.buffer}, {source.buffer}, {size}, stream=q{number})", f"m{number}.end(q{number})",
            f"m{number}.load()", f"m{number}.execute_now(5000)", f"m{number}.close()", f"y{number}.close()",
            f"i{number}.close()",
        )  # fmt: skip
        self.moved(source, target, size)

    # -- the host ---------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        self.do("wait()")

    def read(self) -> None:
        block = self.pick()
        self.settle(block)
        self.do(f"compare({block.buffer}, {block.content})")

    def trim(self) -> None:
        self.do("device.pool.trim()")

    def snapshot(self) -> None:
        """Save everything and bring it back on an empty card."""
        if self.managed:
            return
        self.do(
            "close_graphs()", "with machine.snapshot.locked():", "    machine.snapshot.backup()",
            "    machine.hal.fake.device(0).exchange()", "    machine.snapshot.restore()",
        )  # fmt: skip
