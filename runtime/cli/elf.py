"""``npuhal elf``: what registration makes of device binaries."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuhal.tuples import NamedTuple
from runtime.cli import EXIT_USAGE

if TYPE_CHECKING:
    import argparse

    from chips.binary.fat import DeviceBinary
    from chips.binary.kernels import Kernel, Magic
    from chips.binary.registration import Registration
    from chips.chip import Chip
    from runtime.cli.elf_other import Listing
    from runtime.cli.elf_triton import TritonFile
    from runtime.cli.output import Output

HELP = (
    "Show the kernels of device binaries (.o), or of the device binaries inside host libraries, as registration on a "
    "chip sees them: kinds, keys, entries, arguments, stack, globals, and what the file holds that is not honoured. Of "
    "kernels of Triton-Ascend, also signature, argument block, workspace and locks; bundles of PyPTO are taken apart."
)
EXAMPLES = (
    ("npuhal elf add.o", "its kernels, as its own chip takes them"),
    ("npuhal elf --chip 950 add.o", "as another chip would"),
    ("npuhal elf --json libkernels.so", "the device binaries inside a host library"),
    ("npuhal elf ~/.triton/cache/ABC", "a kernel of Triton-Ascend, by its cache folder or .npubin"),
)

_USUAL_SOC: Final = "Ascend910B1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE",
        help="device ELF, host library or archive with some inside, cache folder of Triton-Ascend; - is standard input",
    )
    parser.add_argument(
        "--chip", metavar="NAME", help="SoC name, or chip type by name or number (default: what the file was built for)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per binary, each on a line of its own")


def run(args: argparse.Namespace, out: Output) -> int:
    """Show every file; 1 when registration refuses one, 2 when one cannot be read or is no ELF file."""
    from chips.binary.errors import BinaryError, BinaryNotFound, NotAnElf, UnreadableBinary
    from chips.binary.registration import register

    chosen = None if args.chip is None else _chip_named(args.chip)
    status = 0
    for path in map(Path, args.files):
        try:
            binaries = list(_binaries(path))
        except BinaryError as problem:
            out.error(str(problem), problem.hint if problem.hint not in str(problem) else "")
            status = EXIT_USAGE if isinstance(problem, BinaryNotFound | UnreadableBinary) else status or 1
            continue
        for found in binaries:
            if found.listing is not None:
                _list(found.name, found.listing, out, as_json=args.json)
                continue
            chip = chosen or _chip_built_for(found.data)
            result = register(found.data, chip, magic=found.magic, side_json=found.side)
            if isinstance(result.error, NotAnElf):
                start = bytes(found.data[:4]).hex(" ") or "nothing"
                out.error(f"{found.name} is not an ELF file: it begins with {start}",
                          "give a compiled device binary (.o) or a host library with some inside")  # fmt: skip
                status = EXIT_USAGE
                continue
            if result.error is not None:
                status = status or 1
            try:
                about = None if found.produced is None else found.produced.describe(chip)
            except BinaryError as problem:
                out.error(f"{found.name}: {printable(str(problem))}")
                about, status = None, status or 1
            if args.json:
                out.line(json.dumps(as_json(found.name, result) | (about.as_json() if about else {})))
            else:
                _show(found.name, chip, result, out)
                if about is not None:
                    about.show(out)
                out.line()
    return status


def as_json(name: str, result: Registration) -> dict[str, object]:
    """Return a registration as plain data; keys and numbers are those recorded of the vendor's runtime."""
    return {
        "file": name,
        **{stage: _code(result, stage) for stage in ("parse", "json", "register")},
        "text_offset": result.text_offset,
        "load_size": result.load_size,
        "read_only": int(result.read_only),
        "elf_stack": result.elf_stack,
        "prog_stack": result.program_stack,
        "meta_flag": result.meta_flags,
        "machine": result.machine,
        "kernel_num": result.symbol_count,
        "func_num": result.function_count,
        "default_attr": int(result.default),
        "intercore": int(result.intercore_sync),
        "globals": {each: list(span) for each, span in result.globals.items()},
        "kernels": [_kernel_json(kernel) for kernel in result.kernels],
        "table": [kernel.key for kernel in result.table],
    }


def _kernel_json(kernel: Kernel) -> dict[str, object]:
    return {
        "name": kernel.name,
        "key": kernel.key,
        "attr": int(kernel.attribute),
        "mix": int(kernel.mix),
        "offset": kernel.offset1,
        "offset2": kernel.offset2,
        "length": kernel.length1,
        "length2": kernel.length2,
        "ration": kernel.ratio,
        "func_type": kernel.func_type,
        "user_args": kernel.user_args,
        "sys_args": kernel.system_args,
        "ffts_arg": int(kernel.ffts_arg),
        "min_stack": kernel.min_stack,
        "min_stack2": kernel.min_stack2,
        "vf": kernel.vector_function,
        "share": kernel.share_memory,
        "entry_type": int(kernel.entry_type),
        "sched": kernel.sched_mode,
        "early": int(kernel.early_start),
        "dfx_size": kernel.meta_size,
        # The counts are settled when a device is opened, and this command opens none.
        "prefetch1": 0,
        "prefetch2": 0,
        "in_table": int(kernel.in_table),
    }


def _code(result: Registration, stage: str) -> int:
    if result.error is None or result.failed is None or result.failed.value != stage:
        return 0
    from runtime.errors.tables import internal_codes

    return internal_codes()[result.error.code].value


class _Found(NamedTuple):
    """A device binary: `magic` and `side` are what it is registered with, `produced` what its compiler says besides."""

    name: str
    data: memoryview
    magic: Magic | None = None
    side: bytes | None = None
    produced: TritonFile | None = None
    listing: Listing | None = None
    """What is said of it instead, where it holds no kernels for AI cores."""


def _list(name: str, listing: Listing, out: Output, *, as_json: bool) -> None:
    if as_json:
        out.line(json.dumps({"file": name} | listing.as_json()))
    else:
        listing.show(name, out)
        out.line()


def _binaries(path: Path) -> Iterator[_Found]:
    from chips.binary.errors import BinaryError
    from chips.binary.fat import Layout, find_device_binaries
    from chips.binary.source import read_binary, read_side
    from runtime.cli.elf_other import BundleListing, bundle_parts, listing_of
    from runtime.cli.elf_triton import triton_files

    if str(path) != "-" and (kernels := triton_files(path)) is not None:
        for each in kernels:
            yield _Found(each.name, memoryview(each.binary), each.magic, None, each)
        return
    data = memoryview(sys.stdin.buffer.read() if str(path) == "-" else read_binary(path))
    found: tuple[DeviceBinary, ...] = ()
    with contextlib.suppress(BinaryError):  # registration says what is wrong with it
        found = find_device_binaries(data)
    embedded = [each for each in found if each.layout is not Layout.PLAIN]
    listing = None if found else listing_of(data)
    if listing is not None:
        yield _Found(path.name, data, listing=listing)
        for entry, part_listing in bundle_parts(listing.bundle) if isinstance(listing, BundleListing) else ():
            yield _Found(f"{path.name}:{entry.label}", entry.value, listing=part_listing)
    elif not embedded:
        yield _Found(path.name, data, None, read_side(path))
    for part in embedded:
        yield _Found(f"{path.name}.at_{part.offset:x}", part.data, part.magic)


def _chip_named(name: str) -> Chip:
    from chips import UnknownChip, all_socs, find_chip

    try:
        return find_chip(name)
    except UnknownChip:
        for chip in map(find_chip, all_socs()):
            if name.upper() in (chip.chip_type, chip.chip_type.removeprefix("CHIP_"), str(chip.chip_value)):
                return chip
        raise


def _chip_built_for(data: memoryview) -> Chip:
    from chips import find_chip
    from chips.binary.cores import core_of
    from chips.binary.elf import ElfFile
    from chips.binary.errors import BinaryError

    core = None
    with contextlib.suppress(BinaryError):
        core = core_of(ElfFile(data).header.flags)
    return find_chip(core.soc if core is not None else _USUAL_SOC)


def _show(name: str, chip: Chip, result: Registration, out: Output) -> None:
    stack = f"{result.program_stack} bytes" if result.program_stack else "the chip's own"
    out.line(f"{name} on {chip.soc}", style="bold")
    if foreign := _foreign(chip, result):
        out.line(f"  NOT FOR THIS CHIP: it was compiled for {foreign}", style="red")
    out.line(
        f"  load {result.load_size} bytes from file offset {result.text_offset}"
        f" ({'read-only' if result.read_only else 'writable'}), stack {stack},"
        f" kernels: {len(result.kernels)}, kernel symbols: {result.symbol_count}, default kind {result.default.name}"
    )
    if result.kernels:
        heads = ["kernel", "key", "kind", "mix", "ratio", "entry", "bytes", "args", "stack", "arguments"]
        out.table(heads, [_row(kernel) for kernel in result.kernels])
    for each, span in result.globals.items():
        out.line(f"  global {printable(each)}: offset {span.offset}, {span.size} bytes")
    for note in result.notes.texts():
        out.line(f"  note: {printable(note)}", style="yellow")
    if result.error is not None:
        out.error(f"{name}: {printable(str(result.error))}")


def _foreign(chip: Chip, result: Registration) -> str:
    """Return the cores that a binary was compiled for, where the chip has others; else nothing."""
    from chips.binary.cores import core_of

    core = None if result.file is None else core_of(result.file.header.flags)
    return "" if core is None or core.runs_on(chip) else str(core)


def _row(kernel: Kernel) -> list[str]:
    pair = kernel.second is not None
    return [
        printable(kernel.name),
        str(kernel.key) if kernel.in_table else f"({kernel.key})",
        kernel.attribute.name,
        kernel.mix.name if kernel.mix else "-",
        str(kernel.ratio),
        f"{kernel.offset1}, {kernel.offset2}" if pair else str(kernel.offset1),
        f"{kernel.length1}, {kernel.length2}" if pair else str(kernel.length1),
        f"{kernel.user_args}+{kernel.system_args}",
        str(kernel.min_stack or "-"),
        " ".join(_argument_name(each.kind) for each in kernel.described_by.arguments) or "-",
    ]


def _argument_name(kind: int) -> str:
    return str(getattr(kind, "name", kind)).lower()


def printable(text: str) -> str:
    """Return text out of a file so that a terminal can show it: control and undecodable characters are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
