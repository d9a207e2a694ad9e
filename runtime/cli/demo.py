"""`npuhal demo`: load a compiled kernel and launch it, on three chips of the fake, or on the box with --url."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuhal.loader import HalUrl
from runtime.cli.parser import UsageError
from runtime.cli.script import check_kernel_file

if TYPE_CHECKING:
    from runtime.api import Device, Kernel, Runtime
    from runtime.cli.output import Output

HELP = (
    "End-to-end tour: two streams, a copy that overlaps a kernel, an event between them, and a result checked with "
    "NumPy. Runs on a fake 910B3, 910_9391 and 950PR; --url picks another machine, --elf another kernel."
)
EXAMPLES = (
    ("npuhal demo", "on three fake chips"),
    ("npuhal demo --url fake-abi://ascend910b3", "on one, every call through C"),
    ("npuhal demo --url hal:// --elf add.o --kernel add_custom", "your kernel, on the card"),
)

URLS = ("fake://ascend910b3", "fake://ascend910_9391", "fake://ascend950pr_9599")
_SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "data" / "kernels"
_ROWS, _LENGTH, _WIDTH = 16, 32, 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--url", action="append", help="machine to run on, may be repeated (default: $NPUHAL_URL, or three fakes)"
    )
    parser.add_argument(
        "--elf", metavar="FILE", type=Path, help="another kernel file; launched once, zeroed buffers as arguments"
    )
    parser.add_argument("--kernel", metavar="NAME", help="the kernel in it (default: its only one)")
    parser.add_argument(
        "--blocks", metavar="N", type=int, default=8, help="how many cores to launch on (default: %(default)s)"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    """Run the tour on every machine asked for; 1 if a result is wrong."""
    from runtime.api import Runtime
    from runtime.launch.kernel import MAX_BLOCKS

    if args.elf:
        check_kernel_file(args.elf)
    if args.kernel and not args.elf:
        raise UsageError(f"--kernel {args.kernel} is a kernel of which file?", "give --elf FILE too")
    if not args.elf and not _SAMPLES.is_dir():
        out.line("The tour's compiled kernels are in the source tree only: files made on the spot stand for them.")
    status = 0
    named = os.environ.get("NPUHAL_URL")
    if not 1 <= args.blocks <= MAX_BLOCKS:
        raise UsageError(f"--blocks is {args.blocks}; a launch has 1 to {MAX_BLOCKS} blocks", "--blocks 8")
    for url in args.url or ((named,) if named else URLS):
        started = time.perf_counter()
        machine = Runtime(url)
        try:
            with machine.device(0) as device:
                out.line(
                    f"{url}: {device.chip.soc}, {device.core_counts[0]} cube and {device.core_counts[1]} vector "
                    f"cores, arguments by {device.arguments.way}",
                    style="bold",
                )
                if not args.elf and HalUrl.parse(url).scheme not in ("fake", "fake-abi"):
                    raise UsageError(
                        f"{url} is no fake: what the tour's kernels compute is said in Python, for fakes only",
                        "run your own kernel there: npuhal demo --url hal:// --elf FILE --kernel NAME",
                    )
                right = _foreign(args, device, out) if args.elf else _tour(machine, device, args.blocks, out)
        finally:
            machine.close(force=True)
        verdict = "as NumPy computes it" if right else "WRONG"
        if not args.elf:
            out.line(f"  result {verdict}; {(time.perf_counter() - started) * 1000:.0f} ms in all")
        out.line()
        status |= not right
    return status


def _foreign(args: argparse.Namespace, device: Device, out: Output) -> bool:
    """Launch a kernel of the user's file: buffers of zeros as arguments, nothing to compare with."""
    program = device.load(args.elf)
    kernel = program.kernel(args.kernel) if args.kernel else program.only
    _let_fake_run(device, kernel, lambda context: None)
    count = kernel.argument_count or 1
    buffers = [device.upload(bytes(1 << 16)) for _ in range(count)]
    with device.create_stream() as stream:
        _show_launch(kernel, stream, args.blocks, buffers, out)
    return True


def _tour(machine: Runtime, device: Device, blocks: int, out: Output) -> bool:
    """Turn padded rows into packed ones (910B), or invert a permutation (950), while another stream copies."""
    import numpy as np

    work = _Jagged(device) if device.chip.generation == "v100" else _Inverse(device)
    with device.create_stream(name="compute") as compute, device.create_stream(name="copies") as copies:
        bulk = np.arange(1 << 20, dtype=np.uint32)
        staging, target = device.alloc_host(bulk.nbytes), device.alloc(bulk.nbytes)
        staging.numpy(bulk.dtype)[:] = bulk
        start, done = device.create_event(timing=True), device.create_event(timing=True)
        compute.record(start)
        compute.launch(work.kernel, blocks, *work.arguments)
        compute.record(done)
        copies.copy(target, staging)  # overlaps the kernel: nothing orders the two streams so far
        copies.wait(done)  # the event does: the result is read after the kernel
        result = device.alloc_host(work.expected.nbytes)
        copies.copy(result, work.result)
        copies.synchronize()
        compute.synchronize()
        right = np.array_equal(result.numpy(work.expected.dtype), work.expected)
        right &= np.array_equal(device.download(target, bulk.dtype), bulk)
        out.line(
            f"  kernel {work.kernel.name}: {done - start:.4f} ms by the device's clock, beside a copy of "
            f"{bulk.nbytes >> 20} MiB in another stream"
        )
        _show_launch(work.kernel, compute, blocks, work.arguments, out)
    return bool(right)


def _show_launch(kernel: Kernel, stream: Any, blocks: int, arguments: Any, out: Output) -> None:
    from runtime.trace.phases import PHASES, trace_launch

    trace = trace_launch(kernel, stream, blocks, *arguments)
    spent = ["prepared", *(f"{us:.1f}" for us in trace.phases_us[1:])]
    rows = [(f"{number}", name, us) for number, (name, us) in enumerate(zip(PHASES, spent, strict=True), 1)]
    out.table(("phase", "what", "us"), rows)
    decoded = stream.plugin.decode(trace.sqe)
    out.line(f"  the SQE at ring position {trace.position} ({decoded.layout}, by {trace.way}):")
    out.line(f"    {trace.sqe.hex(' ', 4)}")
    fields = [f"{name}={value:#x}" for name, value in decoded.fields.items() if value]
    for start in range(0, len(fields), 6):
        out.line("    " + "  ".join(fields[start : start + 6]))


class _Jagged:
    """DenseToJagged on 910B: (dense, offsets, jagged, workspace, tiling)."""

    FILE = "ascend910b/DenseToJagged_26fffc50fb8bdec16664aed9b9571742.o"

    def __init__(self, device: Device) -> None:
        import numpy as np

        random = np.random.default_rng(7)
        dense = random.standard_normal((_ROWS, _LENGTH, _WIDTH), dtype=np.float32)
        lengths = random.integers(1, _LENGTH + 1, _ROWS)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self.expected = np.concatenate([dense[row, :length].ravel() for row, length in enumerate(lengths)])
        self.kernel = _sample(device, self.FILE, 5)
        self.result = device.alloc(self.expected.nbytes)
        tiling = np.array([_ROWS, _LENGTH, _WIDTH], np.int64)
        self.arguments = (
            device.upload(dense),
            device.upload(offsets),
            self.result,
            device.alloc(4096),
            device.upload(tiling),
        )
        _let_fake_run(device, self.kernel, self._stand_in)

    @staticmethod
    def _stand_in(context: Any) -> None:
        rows, length, width = (int(size) for size in context.args.array(4, "i8", 3))
        dense = context.args.array(0, "f4", rows * length * width).reshape(rows, length, width)
        offsets = context.args.array(1, "i8", rows + 1)
        jagged = context.args.array(2, "f4", int(offsets[-1]) * width).reshape(-1, width)
        for row in range(rows):
            jagged[offsets[row] : offsets[row + 1]] = dense[row, : offsets[row + 1] - offsets[row]]


class _Inverse:
    """InvertPermute on 950: (permutation, inverse, workspace, tiling); found by its tiling key."""

    FILE = "ascend950/InvertPermute_e1213a34da9f82d37a43dd341739df75.o"

    def __init__(self, device: Device) -> None:
        import numpy as np

        permutation = np.random.default_rng(7).permutation(_ROWS * _LENGTH).astype(np.int32)
        self.expected = np.argsort(permutation).astype(np.int32)
        self.kernel = _sample(device, self.FILE, 4, tiling_key=0)
        self.result = device.alloc(permutation.nbytes)
        tiling = np.array([permutation.size], np.int64)
        self.arguments = (device.upload(permutation), self.result, device.alloc(4096), device.upload(tiling))
        _let_fake_run(device, self.kernel, self._stand_in)

    @staticmethod
    def _stand_in(context: Any) -> None:
        size = int(context.args.array(3, "i8", 1)[0])
        permutation = context.args.array(0, "i4", size)
        context.args.array(1, "i4", size)[permutation] = range(size)


def _sample(device: Device, name: str, arguments: int, tiling_key: int | None = None) -> Kernel:
    """Load a compiled kernel; where there is only the installed package, make a file that will do for the fake."""
    if (path := _SAMPLES / name).is_file():
        program = device.load(path, allow_foreign=hasattr(device.hal, "fake"))  # a function stands in for it there
        return program.only if tiling_key is None else program.kernel(tiling_key)
    from runtime.cli.sample import minimal_kernel

    return device.load(minimal_kernel(path.name.partition("_")[0], arguments)).only


def _let_fake_run(device: Device, kernel: Kernel, function: Any) -> None:
    """On a fake, say what the kernel's code computes; real devices run the code itself."""
    machine = getattr(device.hal, "fake", None)
    if machine is not None:
        machine.attach(kernel.code, function, name=kernel.name, grid=True)
