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
        for name, loop in _operations(device):
            ns, spread = measure(loop, calls)
            rows.append(Row(name, chip, calls, ns, spread, ns / base))
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


def _operations(device: Device) -> list[tuple[str, Callable[[int], None]]]:
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
        ("launch, bound, arguments on the device", device_args),
        ("launch, bound, buffers", host_args),
        ("launch, kernel[blocks](...)", subscript),
        ("event record", record),
        ("synchronize an idle stream", synchronize),
    ]


def _kernel(device: Device) -> Any:
    """A kernel without a file: the null device does not look at code, so a minimal ELF made here will do."""
    from runtime.cli.sample import minimal_kernel

    return device.load(minimal_kernel("bench", arguments=4), name="bench").only
