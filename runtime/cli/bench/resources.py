"""What is paid once: imports, opening a device, loading a kernel, and the memory of objects."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.measure import Row, middle
from runtime.cli.bench.operations import kernel

if TYPE_CHECKING:
    from runtime.api import Device

_PROGRAMS = {
    "import npuhal": "import npuhal",
    "import runtime": "import runtime",
    "import runtime, and its first name": "import runtime; runtime.device",
    "import and device open, in a new process": "import runtime; runtime.device(0)",
}
_STARTS = 5
_OBJECTS = 50


def starts(url: str, chip: str, base: float) -> Iterator[Row]:
    """Measure programs in interpreters of their own, less an empty one's start; `url` is what a device is opened at."""
    empty = min(_cost("pass", url) for _ in range(_STARTS))
    for name, program in _PROGRAMS.items():
        _cost(program, url)  # byte code is compiled once
        samples = [max(_cost(program, url) - empty, 0.0) for _ in range(_STARTS)]
        of_device = program.endswith("device(0)")
        yield middle(name, chip if of_device else "-", "null" if of_device else "-", samples, base)


def _cost(program: str, url: str) -> float:
    """Return the CPU time of a program, in nanoseconds."""
    import resource

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    began = spent()
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "NPUHAL_URL": url})
    return (spent() - began) * 1e9


def once(url: str, chip: str, door: str, base: float) -> Iterator[Row]:
    """Measure opening a device, loading a kernel's file, and its first launch, all modules being loaded."""
    from runtime.api import Runtime
    from runtime.cli.sample import minimal_kernel

    image = minimal_kernel("once", arguments=4)
    steps: dict[str, list[float]] = {"device open": [], "kernel file load (ELF)": [], "first launch of a kernel": []}
    opened, loaded, launched = steps.values()
    for _ in range(3):
        machine = Runtime(url)
        try:
            began = time.process_time_ns()
            device = machine.device(0)
            opened.append(time.process_time_ns() - began)
            began = time.process_time_ns()
            found = device.load(image, name="once").only
            loaded.append(time.process_time_ns() - began)
            stream, buffers = device.create_stream(), [device.alloc(64) for _ in range(4)]
            began = time.process_time_ns()
            found[1](*buffers, stream=stream)
            launched.append(time.process_time_ns() - began)
        finally:
            machine.close(force=True)
    for name, samples in steps.items():
        yield middle(name, chip, door, samples, base)


def sizes(device: Device, chip: str) -> Iterator[Row]:
    """Measure the host memory that objects take, in bytes of one."""
    bench, block = kernel(device), device.alloc(64).address
    origin = device.create_stream()

    def graph() -> Any:
        with origin.capture() as captured:
            launch = bench.bind_device_arguments(origin, 8)
            for _ in range(100):
                launch(block)
        return captured

    makers: dict[str, Callable[[], Any]] = {
        "a stream": device.create_stream, "an event": device.create_event, "a graph of 100 kernels": graph,
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
        yield Row(f"host memory of {name}", chip, "null", _OBJECTS, taken, 0.0, 0.0, unit="bytes")
