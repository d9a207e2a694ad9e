"""How costs grow: with the number of streams, of graph nodes, and of threads."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.groups import group
from runtime.cli.bench.measure import Loop, Spec
from runtime.cli.bench.operations import again, kernel

if TYPE_CHECKING:
    from runtime.api import Device

STREAMS = (1, 10, 100, 1000)
NODES = (1, 100, 1000, 4000)
THREADS = (1, 2, 4, 8)
_IDLE_PERCENT = 5.0
"""The most of a core that a waiting thread may take."""


@group(*(Spec(f"launch over {count:,} streams in turn", large=count == STREAMS[-1]) for count in STREAMS))
def streams(device: Device) -> Iterator[Loop]:
    """Launches into so many streams in turn."""
    bench, block = kernel(device), device.alloc(64).address
    made: list[Callable[[int], None]] = []
    for count in STREAMS:
        while len(made) < count:
            made.append(bench.bind_device_arguments(device.create_stream(), 8))
        chosen = made[:count]

        def loop(calls: int, chosen: list[Callable[[int], None]] = chosen) -> None:
            for launch in itertools.islice(itertools.cycle(chosen), calls):
                launch(block)

        yield loop


@group(*(Spec(f"replay of a graph of {count:,} kernels", 2, large=count == NODES[-1]) for count in NODES))
def nodes(device: Device) -> Iterator[Loop]:
    """Executions of graphs of so many kernels."""
    bench, block = kernel(device), device.alloc(64).address
    stream = device.create_stream()
    for count in NODES:
        with stream.capture() as graph:
            launch = bench.bind_device_arguments(stream, 8)
            for _ in range(count):
                launch(block)
        yield again(graph.launch, stream)
        graph.close()


@group(*(Spec(f"launch from {count} threads, a stream each") for count in THREADS))
def threads(device: Device) -> Iterator[Loop]:
    """Launches from so many threads at once."""
    bench, block = kernel(device), device.alloc(64).address
    for count in THREADS:
        made = [bench.bind_device_arguments(device.create_stream(), 8) for _ in range(count)]

        def loop(calls: int, made: list[Callable[[int], None]] = made) -> None:
            each = max(calls // len(made), 1)

            def work(launch: Callable[[int], None]) -> None:
                for _ in range(each):
                    launch(block)

            workers = [threading.Thread(target=work, args=(launch,)) for launch in made]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        yield loop


@group(
    Spec("waiting thread, after the first 10 ms", single=True, unit="%", limit=_IDLE_PERCENT),
    Spec("waiting thread, delay of its wake-up", single=True, unit="ns elapsed"),
)
def waiting(device: Device) -> Iterator[Loop]:
    """What a waiting thread costs: its share of a core after the first 10 ms, and the wake-up delay.

    The device must be a fake; its first card is held while the stream is waited for.
    """
    fake: Any = device.hal.fake
    stream, card = device.create_stream(), fake.device(0)
    bench, buffers = kernel(device), [device.alloc(64) for _ in range(4)]

    def waited() -> tuple[int, int]:
        """Return the CPU time of a thread that waits for a quarter of a second, and the delay of its wake-up, in ns."""
        card.hold()
        bench[1](*buffers, stream=stream)
        woken: list[int] = []
        cpu: list[int] = []

        def wait() -> None:
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
        return cpu[0], woken[0] - released

    yield lambda _: max(waited()[0] - 10e6, 0) / 0.24e9 * 100
    yield lambda _: float(waited()[1])
