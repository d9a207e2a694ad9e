"""``npuhal validate``: proves the chip plug-ins, or names every hole."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from chips import Catalog, all_socs, find_chip
from chips.memory_rules import explain_allocation
from chips.validate import ChipReport, validate_chip

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Alignment rules and SQE builders per chip: which task types have a builder (proved by recorded bytes or by rule "
    "only), whether the bit layouts are sound, whether every field survives encoding and decoding, what allocations "
    "become, and whether the limits agree. Exit status 1 on any hole."
)

_MARKS = {True: "ok", False: "HOLE"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--chip", metavar="NAME", help="one SoC or family (910B3, ascend950); all SoCs if not given")
    parser.add_argument("--chips", metavar="DIR", help="folder with further chip files (bring-up of a new SoC)")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random field values (default 0)")


def run(args: argparse.Namespace, out: Output) -> int:
    """Validate one chip or all; 1 when any check of any chip found a hole."""
    if args.chips:
        catalog = Catalog.including(args.chips)
        names = (args.chip,) if args.chip else catalog.all_socs()
        chips = [catalog.find(name) for name in names]
    else:
        chips = [find_chip(name) for name in ((args.chip,) if args.chip else all_socs())]
    reports = []
    with out.progress("validating") as say:
        for chip in chips:
            say(f"validating {chip.soc}")
            reports.append(validate_chip(chip, seed=args.seed))
    if args.json:
        out.json([{**asdict(report), "ok": report.ok, "holes": report.holes} for report in reports])
    else:
        _show(reports, out)
        if len(chips) == 1:
            out.line()
            out.line(f"for example, {explain_allocation(100, 0, chips[0])}")
    return 0 if all(report.ok for report in reports) else 1


def _show(reports: list[ChipReport], out: Output) -> None:
    checks = [check.name for check in max(reports, key=lambda report: len(report.checks)).checks]
    columns = ["chips", "SoCs", "generation", "real", "placeholder", "unsupported", "by bytes", "by rule", *checks]
    alike: dict[tuple[object, ...], list[str]] = {}
    for report in reports:
        done = {check.name: _MARKS[not check.holes] for check in report.checks}
        counts = (
            report.real,
            report.placeholder,
            report.unsupported,
            report.verified_by_bytes,
            report.verified_by_rule,
        )
        row = (report.family, report.generation, *counts, *(done.get(name, "-") for name in checks))
        alike.setdefault(row, []).append(report.soc)
    rows = [(socs[0] if len(socs) == 1 else row[0], len(socs), *row[1:]) for row, socs in alike.items()]
    out.table(columns, rows)
    out.line()
    where: dict[str, list[str]] = {}
    for report in reports:
        for hole in report.holes:
            where.setdefault(hole, []).append(report.soc)
    for hole, socs in where.items():
        more = f" and {len(socs) - 1} more" if len(socs) > 1 else ""
        out.line(f"{socs[0]}{more}: {hole}", style="red")
    bad = sum(not report.ok for report in reports)
    done_count = sum(check.checked for report in reports for check in report.checks)
    verdict = f"{bad} of {len(reports)} chips have holes" if bad else f"{len(reports)} chips without a hole"
    out.line(f"{done_count} checks: {verdict}", style="bold red" if bad else "bold green")
