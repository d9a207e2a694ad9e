"""Run random programs twice, in processes that differ in what no program says, and compare what the fake did.

    python -m tests.tools.repeated_logs [--seeds N] [--only PATTERN]

The two processes hash in other orders, send with the compiled part or with Python functions, and their time limits
strike after other times. Beyond the programs of `tests.tools.fake_logs`, waits reach such limits, objects are dropped
instead of closed, and graphs go with replays still queued. What docs/fake.md excepts is no part of them: host
functions, and a collector of garbage that runs when it likes.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import npuhal
from runtime import errors
from tests.tools.fake_logs import Program

ROOT = Path(__file__).resolve().parents[2]
CHIPS = ("ascend910b3", "ascend950")
TIERS = ("fake", "fake-abi")
OPTIONS = (
    "", "policy=random", "policy=device_ahead", "policy=host_ahead", "policy=starved", "check=all",
    "check=all&policy=random", "plan=", "policy=random&plan=0:3:1,0:9:2,0:40:0", "devices=3&policy=random",
    "devices=2&check=all", "fault=credit:3&policy=random", "transient=7", "transient=3&policy=random",
    "fault=task:17:EXCEPTION", "fault=task:9:WARNING,task:23:LOST", "fault=task:21:HANG:kind=kernel",
    "fault=halSqTaskSend:20:DRV_ERROR_NO_RESOURCES",
)  # fmt: skip
LIMIT = "REPEATED_LOGS_LIMIT_MS"
"""Environment variable: how long waits last that are to reach their limit."""
KEEP = "REPEATED_LOGS_KEEP"
"""Environment variable: a folder for what was seen of each program."""
WAYS = (
    {"PYTHONHASHSEED": "0", "NPUHAL_COMPILED": "1", LIMIT: "4"},
    {"PYTHONHASHSEED": "4711", "NPUHAL_COMPILED": "0", LIMIT: "13"},
)


class Unsteady(Program):
    """A program that does what a clock or the collector could decide on."""

    limit_ms = 1

    def run(self) -> str:
        """Do the steps; returns what can be seen of the run but how far idle time and policies are."""
        return super().run().replace(f"{self.limit_ms} ms", "its limit")

    def do_time_limit(self) -> None:
        """Wait for a stream until the limit is reached, when nothing can go on: else the clock says how far it gets."""
        stream, other = self.rng.sample(self.streams, 2)
        notify = self.device.create_notify()
        stream.wait(notify)
        self.kernels[1][1](*self.buffers[:3], stream=stream)
        for _ in range(3):
            for each in self.streams:
                self._settle(each)  # a look of the host lets a queue go on that has failed
            for _ in range(5):
                self.fake.run_until_idle()  # kernels that yield go on at the next look
        for each in (stream, self.rng.choice(self.streams)):
            try:
                each.synchronize(self.limit_ms)
            except errors.RuntimeFault as fault:
                self.notes.append(f"{type(fault).__name__} {fault.code}")
        notify.record(other)
        self._settle(stream)

    def do_drop_streams(self) -> None:
        """Streams, events and notifies are dropped where they are busy, and made anew."""
        one, other = self.device.create_stream(), self.device.create_stream()
        event, notify = self.device.create_event(), self.device.create_notify()
        self.kernels[0][2](*self.buffers[:3], stream=one)
        one.record(event)
        other.wait(event)
        if self.rng.random() < 0.5:
            notify.record(other)
            one.wait(notify)
        self.kernels[1][1](*self.buffers[:3], stream=other)
        number = self.rng.randrange(len(self.streams))
        self._settle(self.streams[number])  # nobody looks at one that is dropped but a wait, if it is long
        self.streams[number], self.events[0] = one, event

    def do_drop_memory(self) -> None:
        """Blocks are dropped while tasks use them."""
        block = self.device.alloc(self.rng.choice((64, 4096, 1 << 20)))
        self.kernels[0][1](block, *self.buffers[:2], stream=self._stream())
        self._stream().copy(block, self.buffers[0], 8)
        self.buffers[self.rng.randrange(3)] = self.device.alloc(128)

    def do_drop_graph(self) -> None:
        """A graph goes while it is replayed."""
        if self.graphs:
            self.graphs.pop(self.rng.randrange(len(self.graphs))).launch(self._stream())

    def do_batch(self) -> None:
        """A batch names things of several kinds, each of which it holds."""
        with self._stream().batch() as batch:
            for buffer in self.buffers[:3]:
                batch.launch(self.kernels[1], 1, buffer, *self.buffers[:2])
            batch.record(self.events[0])

    def do_collect(self) -> None:
        """Collect garbage: streams and graphs that were dropped are in cycles."""
        gc.collect()


def cases(seeds: int, only: str = "*") -> Iterator[tuple[str, int]]:
    """Yield URLs and seeds of programs."""
    for (number, (chip, tier, options)), seed in itertools.product(
        enumerate(itertools.product(CHIPS, TIERS, OPTIONS)), range(seeds)
    ):
        url = f"{tier}://{chip}?seed={seed}&hbm=1g{'&' if options else ''}{options}"
        if fnmatch.fnmatch(url, only):
            yield url, 1000 * number + seed


def seen(url: str, seed: int) -> str:
    """Return everything that can be seen of a program: it is the same in every process."""
    try:
        return Unsteady(url, seed).run()
    except npuhal.errors.NpuHalError as problem:
        return f"{type(problem).__name__}: {problem}"


def differing(chosen: list[tuple[str, int]], tell: Callable[[str], object] = print) -> list[int]:
    """Run programs in both ways; returns the numbers of those that differ, and tells about them."""
    outputs = []
    for way in WAYS:
        command = [sys.executable, "-m", "tests.tools.repeated_logs", "--run"]
        asked = "\n".join(f"{url} {seed}" for url, seed in chosen)
        run = subprocess.run(
            command, input=asked, capture_output=True, text=True, cwd=ROOT, timeout=3600,
            env={**os.environ, "PYTHONPATH": str(ROOT), **way},
        )  # fmt: skip
        if run.returncode:
            raise RuntimeError(run.stderr[-2000:])
        outputs.append(run.stdout.splitlines())
    wrong = [number for number, (one, other) in enumerate(zip(*outputs, strict=True)) if one != other]
    for number in wrong:
        tell(f"{chosen[number][0]} {chosen[number][1]} differs from one process to the other")
    return wrong


def _run() -> None:
    Unsteady.limit_ms = int(os.environ[LIMIT])
    gc.disable()
    for line in sys.stdin.read().splitlines():
        url, seed = line.split()
        gc.collect()
        text = seen(url, int(seed))
        if folder := os.environ.get(KEEP):
            Path(folder, f"{seed}.{os.environ['PYTHONHASHSEED']}").write_text(text)
        print(hashlib.sha256(text.encode()).hexdigest(), flush=True)


def main() -> int:
    """Print which programs differ; exit status 1 if one does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="programs per URL")
    parser.add_argument("--only", default="*", help="only URLs like this")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        _run()
        return 0
    chosen = list(cases(given.seeds, given.only))
    wrong = differing(chosen)
    print(f"same {len(chosen) - len(wrong)}/{len(chosen)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
