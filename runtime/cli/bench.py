"""`npuhal bench`: what our own code costs per call, with the device taken away (null://)."""

from __future__ import annotations

import argparse
import statistics
import struct
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api import Device
    from runtime.cli.output import Output

HELP = (
    "CPU time per call of the runtime on null://, which accepts and completes everything at once: the device costs "
    "nothing, so what is left is ours. Each figure is the median of several runs; the calibration row makes machines "
    "comparable."
)

CHIPS = ("ascend910b1", "ascend950pr_9599")
_RUNS = 5
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """One measured operation.

    Attributes:
        ns: median CPU nanoseconds per call.
        spread: (largest - smallest run) / median.
        ratio: ns divided by the calibration row's.
    """

    name: str
    chip: str
    calls: int
    ns: float
    spread: float
    ratio: float


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")


def run(args: argparse.Namespace, out: Output) -> int:
    """Measure and print."""
    calls = 10_000 if args.quick else 100_000
    base = measure(_calibrate, calls)
    rows = [Row("calibration: pack 64 bytes", "-", calls, *base, 1.0)]
    for chip in CHIPS:
        rows += _chip_rows(chip, calls, base[0])
    if args.json:
        out.json([asdict(row) for row in rows])
        return 0
    out.table(
        ("operation", "chip", "calls", "ns/call", "spread", "x calibration"),
        [
            (row.name, row.chip, f"{row.calls:,}", f"{row.ns:,.0f}", f"{row.spread:.0%}", f"{row.ratio:.1f}")
            for row in rows
        ],
    )
    return 0


def _chip_rows(chip: str, calls: int, base: float) -> list[Row]:
    from runtime.api import Runtime

    machine = Runtime(f"null://{chip}")
    try:
        device = machine.device(0)
        rows = []
        for name, loop, size in (*_codec(device), *_operations(device)):
            number = max(calls // size, 1)
            ns, spread = measure(loop, number)
            rows.append(Row(name, chip, number, ns, spread, ns / base))
        return rows
    finally:
        machine.close(force=True)


def measure(loop: Callable[[int], None], calls: int) -> tuple[float, float]:
    """Return (median CPU ns per call, spread) of `loop(calls)` over several runs after a warm-up."""
    loop(max(calls // 10, 1))
    samples = []
    for _ in range(_RUNS):
        started = time.process_time_ns()
        loop(calls)
        samples.append((time.process_time_ns() - started) / calls)
    middle = statistics.median(samples)
    return middle, (max(samples) - min(samples)) / middle


def _calibrate(calls: int) -> None:
    """The cheapest thing a launch must do: one 64-byte pack of constant runs and two words."""
    pack, buffer = struct.Struct("<6sH32sQ16s").pack_into, bytearray(64)
    first, middle, last = bytes(6), bytes(32), bytes(16)
    for number in range(calls):
        pack(buffer, 0, first, number & 0xFFFF, middle, 0x12C0C0000000, last)


Operation = tuple[str, Callable[[int], None], int]
"""Name, what runs it so many times, and how much longer than a launch it takes, about."""


def _codec(device: Device) -> list[Operation]:
    """Encoding and decoding without a stream: a task by its general builder, an entry, many kernels at once."""
    import numpy as np

    from chips.env import TaskIds
    from chips.tasks import AicKernel, EventRecord

    plugin, env = device.plugin, device.env
    kernel, event = AicKernel(pc=0x12C0_C000_0000, args=0x12C0_C100_0000, block_dim=8), EventRecord(event_id=1)
    ids, template = TaskIds(77), plugin.template(kernel, env)
    assert template is not None
    entry = plugin.encode(kernel, env, ids)
    numbers = np.arange(_BATCH, dtype=np.uint64)
    columns = {name: numbers * 64 if name == "args" else numbers for name in template.names}

    def encode(task: AicKernel | EventRecord) -> Callable[[int], None]:
        def loop(calls: int) -> None:
            for _ in range(calls):
                plugin.encode(task, env, ids)

        return loop

    def decode(calls: int) -> None:
        for _ in range(calls):
            plugin.decode(entry)

    def batch(calls: int) -> None:
        for _ in range(calls):
            template.render_many(_BATCH, **columns)

    return [
        ("encode a kernel, general builder", encode(kernel), 2),
        ("encode an event record, general builder", encode(event), 2),
        ("decode an entry", decode, 10),
        (f"encode {_BATCH:,} kernels at once", batch, 100),
    ]


def _operations(device: Device) -> list[Operation]:
    kernel = _kernel(device)
    stream = device.create_stream()
    buffers = [device.alloc(4096) for _ in range(kernel.argument_count or 4)]
    block = device.alloc(4096)
    with_device_args = kernel.bind_device_arguments(stream, 8)
    bound = kernel.bind(stream, 8)
    event = device.create_event()

    def device_args(calls: int) -> None:
        address = block.address
        for _ in range(calls):
            with_device_args(address)

    def host_args(calls: int) -> None:
        for _ in range(calls):
            bound(*buffers)

    def subscript(calls: int) -> None:
        for _ in range(calls):
            kernel[8](*buffers, stream=stream)

    def record(calls: int) -> None:
        for _ in range(calls):
            event.record(stream)

    def synchronize(calls: int) -> None:
        for _ in range(calls):
            stream.synchronize()

    return [
        ("launch, bound, arguments on the device", device_args, 1),
        ("launch, bound, buffers", host_args, 1),
        ("launch, kernel[blocks](...)", subscript, 1),
        ("event record", record, 1),
        ("synchronize an idle stream", synchronize, 1),
    ]


def _kernel(device: Device) -> Any:
    """A kernel without a file: the null device does not look at code, so a minimal ELF made here will do."""
    from runtime.cli.sample import minimal_kernel

    return device.load(minimal_kernel("bench", arguments=4), name="bench").only
