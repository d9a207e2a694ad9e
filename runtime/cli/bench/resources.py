"""What is paid once: imports, opening a device, loading a kernel, and the memory of objects."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.measure import Row
from runtime.cli.bench.operations import kernel

if TYPE_CHECKING:
    from runtime.api import Device

_IMPORTS = ("npuhal", "runtime")
_OBJECTS = 50


def imports(base: float) -> Iterator[Row]:
    """Measure `import` of each package in an interpreter of its own, less an empty one's start."""
    empty = min(_start("pass") for _ in range(5))
    for name in _IMPORTS:
        samples = sorted(_start(f"import {name}") - empty for _ in range(5))
        ns = samples[2] * 1e9
        yield Row(f"import {name}", "-", "-", 5, ns, (samples[-1] - samples[0]) / samples[2], ns / base)


def _start(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - began


def once(url: str, chip: str, door: str, base: float) -> Iterator[Row]:
    """Measure opening a device, loading a kernel's file, and its first launch."""
    from runtime.api import Runtime
    from runtime.cli.sample import minimal_kernel

    image = minimal_kernel("once", arguments=4)
    steps: dict[str, list[float]] = {"device open": [], "kernel file load": [], "first launch of a kernel": []}
    for _ in range(3):
        machine = Runtime(url)
        try:
            began = time.process_time_ns()
            device = machine.device(0)
            steps["device open"].append(time.process_time_ns() - began)
            began = time.process_time_ns()
            found = device.load(image, name="once").only
            steps["kernel file load"].append(time.process_time_ns() - began)
            stream, buffers = device.create_stream(), [device.alloc(64) for _ in range(4)]
            began = time.process_time_ns()
            found[1](*buffers, stream=stream)
            steps["first launch of a kernel"].append(time.process_time_ns() - began)
        finally:
            machine.close(force=True)
    for name, samples in steps.items():
        ns = sorted(samples)[1]
        yield Row(name, chip, door, len(samples), ns, (max(samples) - min(samples)) / ns, ns / base)


def sizes(device: Device, chip: str) -> Iterator[Row]:
    """Measure the host memory that objects take, in bytes: `ns` and `ratio` hold the bytes of one."""
    bench, block = kernel(device), device.alloc(64).address
    origin = device.create_stream()

    def graph() -> Any:
        with origin.capture() as captured:
            launch = bench.bind_device_arguments(origin, 8)
            for _ in range(100):
                launch(block)
        return captured

    makers: dict[str, Callable[[], Any]] = {
        "stream": device.create_stream, "event": device.create_event, "graph of 100 kernels": graph,
    }
    for name, make in makers.items():
        make()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            made = [make() for _ in range(_OBJECTS)]
            taken = (tracemalloc.get_traced_memory()[0] - before) / len(made)
        finally:
            tracemalloc.stop()
        yield Row(f"host memory of a {name}, bytes", chip, "null", _OBJECTS, taken, 0.0, taken)
