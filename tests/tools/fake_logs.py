"""Digests of what the fake does with many random programs, to compare two trees: equal lines, equal behaviour.

    python -m tests.tools.fake_logs > after.txt
    python -m tests.tools.fake_logs --tree ../before > before.txt
    diff before.txt after.txt

A line is a URL, the seed of a program, and a digest of everything that can be seen of its run: the log with its times,
problems, what checkers say, the text of exceptions, and memory at the end. `--show N` prints the N-th run instead.
Garbage is collected between programs alone: in the middle of one, what was dropped in a cycle would be given back
sooner in a tree that makes more objects.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from runtime import errors

CHIPS = ("ascend910b1", "ascend950pr_9599", "ascend310b1", "mc62cm12a")
OPTIONS = (
    "", "policy=random", "policy=device_ahead", "policy=host_ahead", "policy=starved", "check=all",
    "check=all&policy=random", "check=race", "plan=0:3:1,0:9:2", "devices=2&policy=random", "devices=2",
    "fault=task:7:EXCEPTION", "fault=task:9:WARNING", "fault=task:5:LOST", "fault=task:11:HANG:kind=kernel",
    "fault=halSqTaskSend:20:DRV_ERROR_NO_RESOURCES", "fault=credit:3", "transient=7", "kernels=noop", "args=bar",
)  # fmt: skip
TIERS = ("fake", "fake-abi")
STREAMS, BUFFERS, WORDS, STEPS, LOOKS = 3, 5, 16, 45, 60


class Program:
    """A random program: everything in it follows from its seed and the URL."""

    def __init__(self, url: str, seed: int) -> None:
        import numpy as np

        import runtime

        self.rng = random.Random(seed)
        self.machine = runtime.Runtime(url)
        self.fake = self.machine.hal.fake
        self.notes: list[str] = []
        self.devices = [self.machine.device(index) for index in range(len(self.fake.devices))]
        self.device = self.devices[0]
        self.streams = [self.device.create_stream() for _ in range(STREAMS)]
        self.buffers = [self.device.alloc(WORDS * 8) for _ in range(BUFFERS)]
        self.table = self.device.upload(np.array([buffer.address for buffer in self.buffers[:3]], np.uint64))
        self.pinned = self.device.alloc_host(WORDS * 8)
        self.events = [self.device.create_event(), self.device.create_event(timing=True)]
        self.kernels = [self._kernel(name, function, grid) for name, function, grid in _FUNCTIONS]
        self.graphs: list[Any] = []

    def _kernel(self, name: str, function: Callable[[Any], object], grid: bool) -> Any:
        from runtime.cli.sample import minimal_kernel

        kernel = self.device.load(minimal_kernel(name, 3), name=name).only
        if name != "unknown" or "noop" not in self.machine.hal.url:
            self.fake.attach(kernel.code, function, name=name, grid=grid)
        return kernel

    def run(self) -> str:
        """Do the steps; returns everything that can be seen of the run."""
        steps = [name for name in dir(self) if name.startswith("do_")]
        usual = ["do_launch"] * 6 + ["do_record_wait"] * 2 + ["do_bare_launch"] * 3
        for _ in range(STEPS):
            self._try(getattr(self, self.rng.choice(steps + usual)))
        for stream in self.streams:
            self._try(lambda stream=stream: self._settle(stream))
        for buffer in self.buffers:
            self._try(lambda buffer=buffer: self.notes.append(self.device.download(buffer).tobytes().hex()))
        seen = [self.fake.log_text(), *self.fake.problems, *self.notes]
        for card in self.fake.devices:
            # how long a card was idle follows from how often a wait of the runtime looked, which a clock decides
            seen.append(f"{card.executed} {card.host_time} {sorted(card.engines.clocks.items())}")
            policy = getattr(card.policy, "_inner", card.policy)
            seen.append(f"{policy._last} {hash(policy.rng.getstate()[1])}")
        if self.fake.checks is not None:
            seen += sorted(str(report) for report in self.fake.reports.take())
        self._try(lambda: self.machine.close(force=True))
        return "\n".join([*seen, *self.notes[-1:]])

    def _try(self, call: Callable[[], object]) -> None:
        try:
            call()
        except errors.RuntimeFault as error:
            self.notes.append(f"{type(error).__name__}: {error}")
        except Exception as error:
            self.notes.append(f"{type(error).__name__}: {error}")

    def _stream(self) -> Any:
        return self.rng.choice(self.streams)

    def do_launch(self) -> None:
        kernel, stream, blocks = self.rng.choice(self.kernels[:5]), self._stream(), self.rng.choice((1, 2, 4))
        buffers = self.rng.sample(self.buffers, 3)
        for _ in range(self.rng.choice((1, 1, 2, 9))):
            kernel[blocks](*buffers, stream=stream)

    def do_bare_launch(self) -> None:
        """The same launch many times with arguments on the device, some of them through a stream that waits."""
        kernel, stream = self.kernels[0], self._stream()
        launch = kernel.bind_device_arguments(stream, 2)
        block = self.table.address if self.rng.random() < 0.8 else self.rng.choice(self.buffers).address
        for _ in range(self.rng.choice((1, 3, 40))):
            launch(block)

    def do_odd_launch(self) -> None:
        if self.rng.random() < 0.3:
            self.rng.choice(self.kernels)[2](*self.buffers[:3], stream=self._stream())

    def do_attach_again(self) -> None:
        kernel, (name, function, grid) = self.rng.choice(list(zip(self.kernels, _FUNCTIONS, strict=True)))
        self.fake.attach(kernel.code, function, name=f"{name}_again", grid=not grid)

    def do_many(self) -> None:
        import numpy as np

        rows = np.full((self.rng.choice((2, 20)), 3), self.buffers[0].address, np.uint64)
        self._stream().launch_many(self.kernels[1], 2, rows)

    def do_record_wait(self) -> None:
        event, (one, other) = self.rng.choice(self.events), self.rng.sample(self.streams, 2)
        one.record(event)
        other.wait(event)

    def do_wait_first(self) -> None:
        """A queue waits for a signal that comes later, behind much work of another one."""
        if not hasattr(self.device, "create_notify"):
            return
        notify, (one, other) = self.device.create_notify(), self.rng.sample(self.streams, 2)
        other.wait(notify)
        for _ in range(self.rng.choice((2, 30))):
            self.kernels[1][1](*self.buffers[:3], stream=one)
        self.streams[-1].query()
        notify.record(one)

    def do_value(self) -> None:
        one, other = self.rng.sample(self.streams, 2)
        target, value = self.buffers[-1], self.rng.randrange(1, 100)
        self.device.fill(target, 0)
        other.wait_value(target, value)
        for _ in range(3):
            self.kernels[1][1](*self.buffers[:3], stream=one)
        one.write_value(target, 255)

    def do_copy(self) -> None:
        one, other = self.rng.sample(self.buffers, 2)
        self._stream().copy(one, other)

    def do_upload(self) -> None:
        self._stream().copy(self.rng.choice(self.buffers), self.pinned)

    def do_fill(self) -> None:
        self._stream().fill(self.rng.choice(self.buffers), self.rng.randrange(256))

    def do_settle(self) -> None:
        self._settle(self._stream())

    def _settle(self, stream: Any) -> None:
        """Wait by a number of looks: one that depends on a clock would be another one in each run."""
        for _ in range(LOOKS):
            if stream.query():
                return
        self.notes.append("not over yet")

    def do_query(self) -> None:
        for _ in range(self.rng.choice((1, 5))):
            self.notes.append(str(self._stream().query()))

    def do_capture(self) -> None:
        one, other = self.rng.sample(self.streams, 2)
        fork, join = self.device.create_event(), self.device.create_event()
        with one.capture() as graph:
            self.kernels[0][2](*self.buffers[:3], stream=one)
            other.wait(one.record(fork))
            for _ in range(self.rng.choice((1, 8))):
                self.kernels[1][1](*self.buffers[1:4], stream=other)
            one.copy(self.buffers[0], self.buffers[1])
            self.kernels[2][4](*self.buffers[:3], stream=one)
            one.wait(other.record(join))
        self.graphs.append(graph)

    def do_replay(self) -> None:
        if self.graphs:
            graph = self.rng.choice(self.graphs)
            for _ in range(self.rng.choice((1, 3))):
                graph.launch(self._stream())

    def do_memory(self) -> None:
        """Blocks come and go, so that addresses change their owners."""
        block = self.device.alloc(self.rng.choice((64, 4096)))
        self.kernels[0][1](block, *self.buffers[:2], stream=self.streams[0])
        self._settle(self.streams[0])
        block.close()

    def do_other_card(self) -> None:
        if len(self.devices) > 1:
            stream = self.devices[1].default_stream
            notify = self.devices[1].create_notify()
            notify.record(stream)
            stream.wait(notify)
            self._settle(stream)

    def do_hold(self) -> None:
        card, stream = self.fake.devices[0], self._stream()
        card.hold(stream.stream_id)
        self.kernels[0][1](*self.buffers[:3], stream=stream)
        self.notes.append(str(card.step_stream(stream.stream_id, 2)))
        self.notes.append(str(card.step(3)))
        card.release(stream.stream_id)


def _mix(context: Any) -> None:
    import numpy as np

    mine, other = context.args.array(0, "uint64", 4), context.args.array(1, "uint64", 4)
    mine[:] = mine * np.uint64(6364136223846793005) + other + np.uint64(context.block + 1)


def _nothing(context: Any) -> None:
    pass


def _slow(context: Any) -> int:
    context.cost_ns = 700 + context.args[0] % 13
    return 5


def _waiting(context: Any) -> Iterator[None]:
    for _ in range(3 if context.blocks < 4 else 200):
        yield


def _odd(context: Any) -> Iterator[None] | None:
    return iter(_waiting(context)) if context.block % 2 else None


def _fails(context: Any) -> None:
    raise ValueError("a mistake")


def _traps(context: Any) -> None:
    from fakes import kernels

    raise kernels.Trap("trapped")


_FUNCTIONS: tuple[tuple[str, Callable[[Any], object], bool], ...] = (
    ("mix", _mix, False), ("nothing", _nothing, True), ("slow", _slow, True), ("waiting", _waiting, False),
    ("odd", _odd, False), ("fails", _fails, True), ("traps", _traps, True), ("unknown", _nothing, True),
)  # fmt: skip


def cases(seeds: int) -> Iterator[tuple[str, int]]:
    """Yield URLs and seeds of programs."""
    for (number, (chip, tier, options)), seed in itertools.product(
        enumerate(itertools.product(CHIPS, TIERS, OPTIONS)), range(seeds)
    ):
        yield f"{tier}://{chip}?seed={seed}&hbm=1g{'&' if options else ''}{options}", 1000 * number + seed


def main() -> int:
    """Print a line per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="programs per URL")
    parser.add_argument("--show", type=int, help="print all of this run")
    parser.add_argument("--tree", type=Path, help="checkout whose packages are used")
    given = parser.parse_args()
    if given.tree is not None:
        raise SystemExit(_in(given.tree.resolve()))
    gc.disable()
    for number, (url, seed) in enumerate(cases(given.seeds)):
        gc.collect()
        if given.show in (None, number):
            seen = Program(url, seed).run()
            if given.show is not None:
                print(seen)
            else:
                print(url, seed, len(seen.splitlines()), hashlib.sha256(seen.encode()).hexdigest()[:16], flush=True)
    return 0


def _in(tree: Path) -> int:
    """Run this text with the packages of another tree."""
    import os
    import subprocess

    arguments = [each for index, each in enumerate(sys.argv[1:]) if "--tree" not in (each, sys.argv[index])]
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    return subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}).returncode


if __name__ == "__main__":
    raise SystemExit(main())
