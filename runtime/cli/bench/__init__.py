"""`npuhal bench`: what our own code costs per call, with the device taken away."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from runtime.cli.bench.measure import Row, added, calibrate, row

if TYPE_CHECKING:
    from runtime.api import Device
    from runtime.cli.bench.measure import Operation
    from runtime.cli.output import Output

HELP = (
    "CPU time per call of the runtime. The door null:// accepts and completes everything at once, so what is left is "
    "ours; compiled, with the calls of a launch in C where a compiler is found, crossing ctypes is part of it. Each "
    "figure is the median of several runs; the ratio to the calibration row makes machines comparable. Figures of the "
    "vendor's runtime were measured elsewhere; a target is a ratio to calibration."
)
EXAMPLES = (
    ("npuhal bench", "all rows"),
    ("npuhal bench --quick --json", "fewer calls, for scripts"),
)

CHIPS = ("ascend910b1", "ascend950pr_9599")
_CALLS, _QUICK = 100_000, 5_000
_FAKE_SHARE = 20
"""A launch on the fake takes about so many times what one takes on null://."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="machine-readable output, one object per row")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the calls, fewer sizes: a minute, not ten")


def run(args: argparse.Namespace, out: Output) -> int:
    """Measure and print."""
    found: list[Row] = []
    try:
        with out.progress("measuring") as tell:
            for measured in rows(_QUICK if args.quick else _CALLS, quick=args.quick):
                found.append(measured)
                tell(f"{measured.chip} {measured.name}")
    finally:  # also after Ctrl-C: what was measured until then took its time
        _show(found, out, as_json=args.json)
    return 0


def _show(found: list[Row], out: Output, *, as_json: bool) -> None:
    if as_json:
        out.json([asdict(measured) | {"met": measured.met} for measured in found])
        return
    out.table(
        ("operation", "chip", "door", "per call, ns", "spread", "x calibration", "target", "vendor ns (elsewhere)"),
        [_cells(measured) for measured in found],
    )


def _cells(measured: Row) -> tuple[str, ...]:
    unit = "" if measured.unit == "ns" else f" {measured.unit}"
    limit = f"{measured.limit:g}{unit}" if measured.limit else f"{measured.target_ratio:.1f}"
    return (
        measured.name, measured.chip, measured.door, f"{measured.value:,.0f}{unit}", f"{measured.spread:.0%}",
        f"{measured.ratio:,.1f}" if measured.ratio else "",
        "" if measured.met is None else f"{limit} {'met' if measured.met else 'MISSED'}",
        f"{measured.vendor_ns:,}" if measured.vendor_ns else "",
    )


def _compiles() -> bool:
    """Whether the door with calls in C can be had: it needs a C compiler."""
    import npuhal

    try:
        npuhal.open_hal(f"null://{CHIPS[0]}?compiled=1").close()
    except npuhal.errors.BadUrl:
        return False
    return True


def rows(calls: int, *, quick: bool = False) -> Iterator[Row]:
    """Yield all rows, each as soon as it is measured.

    Args:
        calls: how often a launch is made per run; slower operations run less often.
        quick: leave the largest sizes out.
    """
    from runtime.cli.bench import growth, resources

    base, foreign = calibrate(calls)
    yield base
    yield foreign
    doors = {"null, compiled": "null://{}?compiled=1"} if _compiles() else {}
    for chip in CHIPS:
        for door, url in {**doors, "null": "null://{}", "fake": "fake://{}"}.items():
            number = calls // _FAKE_SHARE if door == "fake" else calls
            yield from _measured(url.format(chip), chip, door, number, _operations)
        yield from _measured(f"null://{chip}", chip, "null", calls, partial(growth.operations, quick=quick))
        yield from _with(f"null://{chip}", partial(_watching, chip=chip, calls=calls))
        yield from resources.once(f"null://{chip}", chip, "null", base.value)
        yield from _with(f"null://{chip}", partial(resources.sizes, chip=chip))
    yield from resources.starts(f"null://{CHIPS[0]}", CHIPS[0], base.value)
    yield from _with(f"fake://{CHIPS[0]}?free_run=1", partial(growth.waiting, chip=CHIPS[0]))


def _operations(device: Device) -> Iterator[Operation]:
    from runtime.cli.bench import operations

    yield from operations.codec(device)
    yield from operations.launches(device, device.create_stream())
    yield from operations.batches(device, device.create_stream())
    yield from operations.tasks(device, device.create_stream())
    yield from operations.memory(device)
    yield from operations.graphs(device, device.create_stream())


def _measured(
    url: str, chip: str, door: str, calls: int, make: Callable[[Device], Iterator[Operation]]
) -> Iterator[Row]:
    def measured(device: Device) -> Iterator[Row]:
        for operation in make(device):
            yield row(operation, chip, device.chip.generation, door, calls, compared=door != "fake")

    yield from _with(url, measured)


def _watching(device: Device, chip: str, calls: int) -> Iterator[Row]:
    """Yield what a trace adds to a launch."""
    from runtime.cli.bench import operations

    yield added("tracing on, added to a launch", chip, "null", operations.watching(device), max(calls // 4, 1))


def _with(url: str, use: Callable[..., Iterator[Row]]) -> Iterator[Row]:
    from runtime.api import Runtime

    machine = Runtime(url)
    try:
        yield from use(machine.device(0))
    finally:
        machine.close(force=True)
