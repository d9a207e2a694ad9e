"""What is paid once: imports, opening a device, loading a kernel, and the memory of objects."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.cli.bench.groups import Loops, group, group_of_urls
from runtime.cli.bench.images import image
from runtime.cli.bench.measure import Loop, Spec
from runtime.cli.bench.operations import kernel

if TYPE_CHECKING:
    from runtime.api import Device

_IMPORTS = {
    "import npuhal": "import npuhal",
    "import runtime": "import runtime",
    "import runtime, and its first name": "import runtime; runtime.device",
}
_FIRST_LAUNCH = """
import runtime
device = runtime.device(0)
kernel = device.load({path!r}, name="once").only
{stand_in}
stream, buffers = device.create_stream(), [device.alloc(64) for _ in range(4)]
kernel[1](*buffers, stream=stream)
stream.synchronize()
"""
_STAND_IN = "device.hal.fake.attach(kernel.code, lambda context: None, name='once', grid=True)"
"""Without it a fake card has nothing to execute."""
_STARTS = 5
_OBJECTS = 50


@group_of_urls(*(Spec(name, single=True) for name in _IMPORTS))
def imports(_url: str) -> Loops:
    """Imports in new interpreters, less the start of an empty one."""
    for program in _IMPORTS.values():
        yield _started(program, "")


@group_of_urls(
    Spec("import and device open, in a new process", single=True),
    Spec("import, device open and first launch, in a new process", single=True),
)
def starts(url: str) -> Loops:
    """Programs in interpreters of their own, less the start of an empty one."""
    yield _started("import runtime; runtime.device(0)", url)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "once.o")
        path.write_bytes(image("once"))
        stand_in = _STAND_IN if url.startswith("fake") else ""
        yield _started(_FIRST_LAUNCH.format(path=str(path), stand_in=stand_in), url)


def _started(program: str, url: str) -> Loop:
    """Return the loop of one program; byte code is compiled by its first start, before anything is measured."""
    _cost(program, url)
    return lambda _: max(_cost(program, url) - _empty(), 0.0)


@lru_cache(maxsize=1)
def _empty() -> float:
    """Return the least CPU time of an interpreter that does nothing, in nanoseconds."""
    return min(_cost("pass", "") for _ in range(_STARTS))


def _cost(program: str, url: str) -> float:
    """Return the CPU time of a program, in nanoseconds."""
    import resource

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    began = spent()
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "NPUHAL_URL": url})
    return (spent() - began) * 1e9


@group_of_urls(
    Spec("device open", single=True),
    Spec("kernel file load (ELF)", single=True),
    Spec("first launch of a kernel", single=True),
)
def once(url: str) -> Loops:
    """Opening a device, loading a kernel's file, and its first launch, all modules being loaded."""
    from runtime import Runtime

    def steps() -> tuple[int, int, int]:
        """Return what each of the three takes, in nanoseconds of CPU time."""
        machine = Runtime(url)
        try:
            times = [time.process_time_ns()]
            device = machine.device(0)
            times.append(time.process_time_ns())
            found = device.load(image("once"), name="once").only
            times.append(time.process_time_ns())
            stream, buffers = device.create_stream(), [device.alloc(64) for _ in range(4)]
            began = time.process_time_ns()
            found[1](*buffers, stream=stream)
            launched = time.process_time_ns() - began
        finally:
            machine.close(force=True)
        return times[1] - times[0], times[2] - times[1], launched

    yield lambda _: steps()[0]
    yield lambda _: steps()[1]
    yield lambda _: steps()[2]


@group(*(Spec(f"host memory of {name}", single=True, unit="bytes") for name in
         ("a stream", "an event", "a graph of 100 kernels")))
def sizes(device: Device) -> Iterator[Loop]:
    """The host memory that objects take, in bytes of one."""
    bench, block = kernel(device), device.alloc(64).address
    origin = device.create_stream()

    def graph() -> Any:
        with origin.capture() as captured:
            launch = bench.bind_device_arguments(origin, 8)
            for _ in range(100):
                launch(block)
        return captured

    yield _size(device.create_stream)
    yield _size(device.create_event)
    yield _size(graph)


def _size(make: Callable[[], Any]) -> Loop:
    def loop(_: int) -> float:
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            made = [make() for _ in range(_OBJECTS)]
            return (tracemalloc.get_traced_memory()[0] - before) / len(made)
        finally:
            tracemalloc.stop()

    return loop
