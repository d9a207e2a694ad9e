"""`npuhal bench`: what our own code costs per call, with the device taken away; and beside another checkout's."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from npuhal.records import asdict

if TYPE_CHECKING:
    from runtime.cli.bench.groups import Plan
    from runtime.cli.bench.measure import Row
    from runtime.cli.bench.paired import Pairing
    from runtime.cli.output import Output

HELP = (
    "CPU time per call of the runtime. The backend null:// accepts and completes everything at once, so what is left "
    "is ours; compiled, with the calls of a launch in C where a compiler is found, crossing ctypes is part of it. Each "
    "figure is the median of several runs; the ratio to the calibration row makes machines comparable. Figures of the "
    "vendor's runtime were measured elsewhere; a target is a ratio to calibration.\n\n"
    "With --against, processes of this tree and of another checkout take turns; a row passes when the median of their "
    "ratios is at most 1.03 or its 95 % interval contains 1. A row's full name is \"NAME, CHIP, BACKEND\"."
)
EXAMPLES = (
    ("npuhal bench", "all rows"),
    ("npuhal bench --quick --json", "fewer calls, for scripts"),
    ("npuhal bench --rows 'event record'", "rows with this in their full name"),
    ("npuhal bench --rows '*910b1, null*' --library libascendcl.so", "and those of a library beside them"),
    ("npuhal bench --against ../before --rows 'launch, *910b1, null'", "is it slower than there? status 1 if so"),
)

_CALLS, _QUICK = 100_000, 5_000
_SAMPLE_NS, _QUICK_SAMPLE_NS = 20e6, 5e6


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="machine-readable output, one object per row")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the calls, fewer sizes: a minute, not ten")
    parser.add_argument("--rows", metavar="PATTERN", default="",
                        help="only rows whose full name contains this, or matches it as a whole if it has a *")
    parser.add_argument("--library", metavar="PATH",
                        help="also run these operations in a C loop over this libascendcl.so, on its device 0")
    parser.add_argument("--kernel", metavar="FILE:NAME", default="",
                        help="with --library: the kernel that its launches run, with eight arguments or fewer")
    parser.add_argument("--peers", action="store_true",
                        help="also run launches of tinygrad and of numba's simulator, where they are installed")
    parser.add_argument("--against", metavar="CHECKOUT", help="compare with the tree in this folder, pair by pair")
    parser.add_argument("--pairs", metavar="N", type=int,
                        help="with --against: pairs per row, 15 unless given, 6 at least")


def run(args: argparse.Namespace, out: Output) -> int:
    """Measure and print."""
    from runtime.cli.bench.groups import plans, suites
    from runtime.cli.parser import UsageError

    if args.kernel and args.library is None:
        raise UsageError("--kernel names what a library launches", "give --library PATH too")
    if args.against is not None and (args.library is not None or args.peers):
        raise UsageError("--against compares two trees, row by row", "leave --library and --peers out")
    if args.pairs is not None and args.against is None:
        raise UsageError("--pairs counts the pairs of a comparison", "give --against CHECKOUT too")
    chosen = list(plans(suites(compiled=_compiles()), args.rows, quick=args.quick))
    if not chosen:
        raise UsageError(f"no row matches '{args.rows}'", "`npuhal bench --quick` shows the full names of all rows")
    return _against(args, chosen, out) if args.against is not None else _alone(args, chosen, out)


def _alone(args: argparse.Namespace, chosen: list[Plan], out: Output) -> int:
    calls = _QUICK if args.quick else _CALLS
    found: list[Row] = []
    beside: list[Row] = []
    if args.library is not None:  # first, because it may be one that cannot be measured
        from runtime.cli.bench import library

        beside += library.rows(args.library, calls, args.kernel)
    try:
        with out.progress("measuring", _count(chosen)) as show:
            for measured in rows(chosen, calls):
                found.append(measured)
                show(f"{measured.chip} {measured.name}")
            if args.peers:
                from runtime.cli.bench import peers

                beside += peers.rows()
    finally:  # also after Ctrl-C: what was measured until then took its time
        _show(found + beside, out, as_json=args.json)
    return 0


def _count(chosen: list[Plan]) -> int:
    return sum(len(names) for plan in chosen for names in plan.wanted.values())


def rows(chosen: list[Plan], calls: int) -> Iterator[Row]:
    """Yield the calibration rows and the chosen ones, each as soon as it is measured.

    Args:
        calls: how often a launch is made per run; slower operations run less often.
    """
    from runtime.cli.bench.groups import find
    from runtime.cli.bench.measure import calibrate, row

    yield from calibrate(calls)
    for suite, wanted in chosen:
        for name, names in wanted.items():
            for spec, loop in find(name).entries(suite.url, names):
                if loop is not None:
                    yield row(spec, loop, suite.chip, suite.backend, calls // suite.share)


def _against(args: argparse.Namespace, chosen: list[Plan], out: Output) -> int:
    from runtime.cli.bench import paired
    from runtime.cli.parser import UsageError

    pairs = paired.PAIRS if args.pairs is None else args.pairs
    if pairs < paired.LEAST_PAIRS:
        raise UsageError(f"--pairs {pairs}: fewer than {paired.LEAST_PAIRS} have no 95 % interval",
                         f"give {paired.PAIRS} or more")
    other = paired.checkout(args.against)
    found: list[Pairing] = []
    sample_ns = _QUICK_SAMPLE_NS if args.quick else _SAMPLE_NS
    try:
        with out.progress("measuring", _count(chosen)) as show:
            for pairing in paired.compare(chosen, paired.here(), other, pairs=pairs, sample_ns=sample_ns):
                found.append(pairing)
                show(f"{pairing.chip} {pairing.name}")
    finally:
        _show_pairings(found, out, as_json=args.json)
    return 1 if any(pairing.passed is False for pairing in found) else 0


def _show_pairings(found: list[Pairing], out: Output, *, as_json: bool) -> None:
    if as_json:
        out.json([_object(pairing) | {"passed": pairing.passed} for pairing in found])
        return
    out.table(
        ("operation", "chip", "backend", "here", "there", "ratio", "95 % interval", "pairs", ""),
        [_pairing_cells(pairing) for pairing in found],
    )
    failed, alone = (sum(pairing.passed is wanted for pairing in found) for wanted in (False, None))
    out.line(f"{len(found) - failed - alone} rows pass, {failed} fail" + (f", {alone} only here" if alone else ""))


def _pairing_cells(pairing: Pairing) -> tuple[str, ...]:
    head = (pairing.name, pairing.chip, pairing.backend)
    verdict = {True: "", False: "FAILED", None: "only here"}[pairing.passed]
    if pairing.missing:
        return (*head, "", "", "", "", "", f"{verdict}: {pairing.missing}")
    return (
        *head, f"{pairing.ours:,.0f} {pairing.unit}", f"{pairing.theirs:,.0f} {pairing.unit}", f"{pairing.ratio:.3f}",
        f"{pairing.low:.3f} .. {pairing.high:.3f}", str(pairing.pairs), verdict,
    )  # fmt: skip


def _object(measured: Row | Pairing) -> dict[str, Any]:
    """Return a row for JSON, which has no infinity; `door` is what `backend` was called."""
    values = {name: None if value == math.inf else value for name, value in asdict(measured).items()}
    return values | {"door": measured.backend}


def _show(found: list[Row], out: Output, *, as_json: bool) -> None:
    from runtime.core.submission import compiled

    if as_json:
        sends = "python" if compiled.extension is None else "compiled"
        out.json([_object(measured) | {"met": measured.met, "sends": sends} for measured in found])
        return
    out.table(
        ("operation", "chip", "backend", "per call, ns", "spread", "x calibration", "target", "vendor ns (elsewhere)"),
        [_cells(measured) for measured in found],
    )
    out.line(f"sends: {compiled.told()}")


def _cells(measured: Row) -> tuple[str, ...]:
    unit = "" if measured.unit == "ns" else f" {measured.unit}"
    limit = f"{measured.limit:g}{unit}" if measured.limit else f"{measured.target_ratio:.1f}"
    return (
        measured.name, measured.chip, measured.backend, f"{measured.value:,.0f}{unit}", f"{measured.spread:.0%}",
        f"{measured.ratio:,.1f}" if measured.ratio else "",
        "" if measured.met is None else f"{limit} {'met' if measured.met else 'MISSED'}",
        f"{measured.vendor_ns:,}" if measured.vendor_ns else "",
    )


def _compiles() -> bool:
    """Whether the backend with calls in C can be had: it needs a C compiler."""
    import npuhal
    from runtime.cli.bench.groups import CHIPS

    try:
        npuhal.open_hal(f"null://{CHIPS[0]}?compiled=1").close()
    except npuhal.errors.BadUrl:
        return False
    return True
