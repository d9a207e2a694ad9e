"""How costs grow: with the number of streams, of graph nodes, and of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.measure import Operation, Row, middle
from runtime.cli.bench.operations import again, kernel

if TYPE_CHECKING:
    from runtime.api import Device

STREAMS = (1, 10, 100, 1000)
NODES = (1, 100, 1000, 4000)
THREADS = (1, 2, 4, 8)
_IDLE_PERCENT = 5.0
"""The most of a core that a waiting thread may take."""


def operations(device: Device, *, quick: bool) -> Iterator[Operation]:
    """Yield the rows; each makes what it needs when it is reached."""
    yield from _streams(device, STREAMS[:-1] if quick else STREAMS)
    yield from _nodes(device, NODES[:-1] if quick else NODES)
    yield from _threads(device)


def _streams(device: Device, counts: tuple[int, ...]) -> Iterator[Operation]:
    bench, block = kernel(device), device.alloc(64).address
    made: list[Callable[[int], None]] = []
    for count in counts:
        while len(made) < count:
            made.append(bench.bind_device_arguments(device.create_stream(), 8))
        chosen = made[:count]

        def loop(calls: int, chosen: list[Callable[[int], None]] = chosen) -> None:
            for _ in range(max(calls // len(chosen), 1)):
                for launch in chosen:
                    launch(block)

        yield Operation(f"launch over {count:,} streams in turn", loop, 1)


def _nodes(device: Device, counts: tuple[int, ...]) -> Iterator[Operation]:
    bench, block = kernel(device), device.alloc(64).address
    stream = device.create_stream()
    for count in counts:
        with stream.capture() as graph:
            launch = bench.bind_device_arguments(stream, 8)
            for _ in range(count):
                launch(block)
        yield Operation(f"replay of a graph of {count:,} kernels", again(graph.launch, stream), 2)
        graph.close()


def _threads(device: Device) -> Iterator[Operation]:
    bench, block = kernel(device), device.alloc(64).address
    for count in THREADS:
        made = [bench.bind_device_arguments(device.create_stream(), 8) for _ in range(count)]

        def loop(calls: int, made: list[Callable[[int], None]] = made) -> None:
            each = max(calls // len(made), 1)

            def work(launch: Callable[[int], None]) -> None:
                for _ in range(each):
                    launch(block)

            threads = [threading.Thread(target=work, args=(launch,)) for launch in made]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        yield Operation(f"launch from {count} threads, a stream each", loop, 1)


def waiting(device: Device, chip: str) -> Iterator[Row]:
    """Yield what a waiting thread costs: its share of a core after the first 10 ms, and the wake-up delay.

    The device must be a fake; its first card is held while the stream is waited for.
    """
    fake: Any = device.hal.fake
    stream, card = device.create_stream(), fake.device(0)
    bench = kernel(device)
    shares: list[float] = []
    delays: list[float] = []
    for _ in range(3):
        card.hold()
        bench[1](device.alloc(64), device.alloc(64), device.alloc(64), device.alloc(64), stream=stream)
        woken: list[int] = []
        cpu: list[int] = []

        def wait(woken: list[int] = woken, cpu: list[int] = cpu) -> None:
            began = time.thread_time_ns()
            stream.synchronize()
            woken.append(time.perf_counter_ns())
            cpu.append(time.thread_time_ns() - began)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.25)
        released = time.perf_counter_ns()
        card.release()
        thread.join()
        shares.append(max(cpu[0] - 10e6, 0) / 0.24e9 * 100)
        delays.append(float(woken[0] - released))
    yield middle("waiting thread, after the first 10 ms", chip, "fake", shares, unit="%", limit=_IDLE_PERCENT)
    yield middle("waiting thread, delay of its wake-up", chip, "fake", delays)
