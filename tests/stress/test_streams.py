"""Many threads, many streams, many launches: nothing lost, nothing twice, nothing left behind.

The fake's own log is the judge. `make test` runs the short forms, `make soak` all of it.
"""

from __future__ import annotations

import random
import resource
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission.ring import RingV100

CHIPS = ("ascend910b1", "ascend950pr_9599")
_FAULTS = (Effect.EXCEPTION, Effect.TRAP, Effect.TIMEOUT, Effect.CONFLICT)


class Feeder(threading.Thread):
    """One thread with streams of its own: launches, records, waits across its streams, and counts what it sent."""

    def __init__(self, device: Device, number: int, streams: int, launches: int) -> None:
        super().__init__(name=f"feeder-{number}")
        self.device, self.launches = device, launches
        self.random = random.Random(number)
        self.streams = [device.create_stream() for _ in range(streams)]
        self.sent: Counter[int] = Counter()
        self.failures = 0
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self._feed()
        except BaseException as problem:
            self.problem = problem

    def _feed(self) -> None:
        event = self.device.create_event()
        kernel = self.device.load(minimal_kernel("k", 1), name="k").only
        puts = [(stream, kernel.bind(stream, 1)) for stream in self.streams]
        for number in range(self.launches):
            stream, launch = puts[number % len(puts)]
            launch(number)
            self.sent[stream.stream_id] += 1
            if number % 97 == 0:
                other = self.random.choice(self.streams)
                event.record(stream)
                event.wait(other)
            if number % 1501 == 0:
                self._wait(stream)
        for stream in self.streams:
            self._wait(stream)
        event.close()

    def _wait(self, stream: Stream) -> None:
        """Synchronise; a failed task is counted and the stream goes on."""
        try:
            stream.synchronize(120_000)
        except errors.Timeout:
            raise
        except errors.RuntimeFault:
            self.failures += 1


def run_feeders(url: str, threads: int, streams: int, launches: int, *, faulty: int = 0) -> None:
    machine = Runtime(url + "&kernels=noop")
    try:
        device = machine.device(0)
        fake = machine.hal.fake
        executed: Counter[int] = Counter()
        places: dict[int, list[int]] = defaultdict(list)
        feeders = [Feeder(device, number, streams, launches) for number in range(threads)]
        mine = {stream.stream_id for feeder in feeders for stream in feeder.streams}

        class Log(list[object]):
            """Counts kernels as they are executed instead of keeping a log of millions."""

            def append(self, entry: Any) -> None:
                if entry.stream in mine:
                    places[entry.stream].append(entry.position)
                    executed[entry.stream] += entry.kind == "kernel"

            def __iadd__(self, entries: Iterable[Any]) -> Log:  # type: ignore[override, misc]
                for entry in entries:
                    self.append(entry)
                return self

        fake.log = Log()
        for nth in range(faulty):
            fake.faults.on_task(_FAULTS[nth % len(_FAULTS)], 1000 * (nth + 1), kind="kernel")
        for feeder in feeders:
            feeder.start()
        for feeder in feeders:
            feeder.join(1500)
            assert not feeder.is_alive(), "deadlock"
        assert [feeder.problem for feeder in feeders if feeder.problem] == []
        sent = sum((feeder.sent for feeder in feeders), Counter())
        assert executed == sent
        assert sum(sent.values()) == threads * launches
        for stream_id, positions in places.items():
            depth = device.chip.limits.rtsq_depth
            assert all((b - a) % depth == 1 for a, b in pairwise(positions)), stream_id
        assert (sum(feeder.failures for feeder in feeders) > 0) == bool(faulty)
        for feeder in feeders:
            for stream in feeder.streams:
                assert stream.ring.pending == 0
                assert not stream.reports.expected
                assert not stream.ring.completion_callbacks
    finally:
        machine.close(force=True)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("free_run", [0, 1], ids=["stepped", "free running"])
def test_threads_streams_and_events(chip: str, free_run: int) -> None:
    run_feeders(f"fake://{chip}?seed=3&free_run={free_run}", threads=4, streams=2, launches=600)


@pytest.mark.parametrize("chip", CHIPS)
def test_threads_streams_and_events_with_faults(chip: str) -> None:
    run_feeders(f"fake://{chip}?seed=4&policy=random&transient=97", threads=4, streams=2, launches=1000, faulty=3)


@pytest.mark.soak
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("free_run", [0, 1], ids=["stepped", "free running"])
def test_threads_streams_and_events_long(chip: str, free_run: int) -> None:
    run_feeders(
        f"fake://{chip}?seed=5&policy=random&transient=97&free_run={free_run}",
        threads=8, streams=4, launches=40_000, faulty=20,
    )


@pytest.mark.parametrize("chip", CHIPS)
def test_more_launches_than_there_are_ids(chip: str) -> None:
    machine = Runtime(f"fake://{chip}?seed=6&policy=device_ahead&kernels=noop")
    try:
        device = machine.device(0)
        stream = device.create_stream()
        launch = device.load(minimal_kernel("k", 1), name="k").only.bind_device_arguments(stream, 1)
        address = device.alloc(64).address
        ring = stream.ring
        count = 65_536 + ring.depth
        for _ in range(count):
            launch(address)
        stream.synchronize(60_000)
        queue = machine.hal.fake.device(0).by_stream[stream.stream_id]
        assert queue.done == queue.sent == count
        assert ring.pending == 0
        assert (ring.submitted, ring.tail) == (count, count % ring.depth)
        if isinstance(ring, RingV100):
            assert ring.next_id == count % 65_535
            assert 0xFFFF not in ring.ids
    finally:
        machine.close(force=True)


@pytest.mark.soak
@pytest.mark.parametrize("chip", CHIPS)
def test_a_million_launches_leave_memory_flat(chip: str) -> None:
    machine = Runtime(f"fake://{chip}?kernels=noop&policy=device_ahead")
    try:
        device = machine.device(0)
        stream = device.create_stream()
        launch = device.load(minimal_kernel("k", 1), name="k").only.bind(stream, 1)

        def run(count: int) -> int:
            for number in range(count):
                launch(number)
            stream.synchronize(60_000)
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        machine.hal.fake.log = deque(maxlen=1000)  # what the fake remembers is not the question
        before = run(100_000)  # every pool is warm
        assert run(900_000) - before < 4096  # KiB
    finally:
        machine.close(force=True)
