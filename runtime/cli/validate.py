"""``npuhal validate``: proves the chip plug-ins, or names every hole."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from chips import Catalog, all_socs, find_chip
from chips.memory_rules import explain_allocation
from chips.verify.validate import Check, ChipReport, validate_chip
from npuhal.records import asdict, replace
from runtime.cli import UsageError

if TYPE_CHECKING:
    from chips import Chip
    from runtime.cli.output import Output

HELP = (
    "Alignment rules and SQE builders per chip: which task types have a builder (proved by recorded bytes or by rule "
    "only), whether the bit layouts are sound, whether every field survives encoding and decoding, what allocations "
    "become, and whether the limits agree. With --url also what a device reports. Exit status 1 on any hole."
)
EXAMPLES = (
    ("npuhal validate", "all SoCs"),
    ("npuhal validate --chip 910b3", "one of them"),
    ("npuhal validate --chips my_chips --chip my_soc", "a chip file of yours"),
    ("npuhal validate --url hal://", "does the card agree with its chip file?"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--chip", metavar="NAME", help="one SoC or family (910B3, ascend950); all SoCs if not given")
    parser.add_argument("--chips", metavar="DIR", help="folder with further chip files (bring-up of a new SoC)")
    parser.add_argument("--url", help="compare the device behind this backend (hal://, fake://...) with its chip file")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random field values (default 0)")


def run(args: argparse.Namespace, out: Output) -> int:
    """Validate one chip or all; 1 when any check of any chip found a hole."""
    chips, device = _chosen(args)
    reports = []
    with out.progress("validating", len(chips)) as say:
        for chip in chips:
            say(chip.soc)
            report = validate_chip(chip, seed=args.seed)
            reports.append(replace(report, checks=(*report.checks, device)) if device else report)
    if args.json:
        out.json([{**asdict(report), "ok": report.ok, "holes": report.holes} for report in reports])
    else:
        _show(reports, out)
        if len(chips) == 1:
            out.line()
            out.line(f"for example, {explain_allocation(100, 0, chips[0])}")
    return 0 if all(report.ok for report in reports) else 1


def _chosen(args: argparse.Namespace) -> tuple[list[Chip], Check | None]:
    """Return the chips to validate, and the comparison with a device if one was named."""
    if args.url and (args.chip or args.chips):
        raise UsageError("--url stands alone: the device says which chip it is", "leave --chip and --chips out")
    if args.url:
        return _ask_device(args.url)
    if args.chips:
        if not any(name.endswith(".yaml") for name in os.listdir(args.chips)):
            raise UsageError(f"{args.chips}: no chip file in it", "chip files are *.yaml; see CONTRIBUTING")
        catalog = Catalog.including(args.chips)
        return [catalog.find(name) for name in ((args.chip,) if args.chip else catalog.all_socs())], None
    return [find_chip(name) for name in ((args.chip,) if args.chip else all_socs())], None


def _ask_device(url: str) -> tuple[list[Chip], Check]:
    """Compare what the first device reports with its chip's file; a virtual NPU shows fewer cores than the file."""
    import npuhal
    from chips import VersionWord
    from runtime.driver.info import DeviceInfo, read_machine

    hal = npuhal.open_hal(url)
    try:
        machine = read_machine(hal)
        chip, info = machine.chip, DeviceInfo(hal, 0)
        stated = chip.ini.get("SoCInfo", {})
        rows = [
            ("chip type", VersionWord.of(machine.version_word).chip, chip.chip_value),
            ("task schedulers", machine.ts_count, chip.prop("tsCount")),
            ("AI CPUs", machine.aicpu_count, stated.get("ai_cpu_cnt")),
            ("AI cores", info.get("MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM"), stated.get("ai_core_cnt")),
            ("vector cores", info.get("MODULE_TYPE_VECTOR_CORE", "INFO_TYPE_CORE_NUM"), stated.get("vector_core_cnt")),
        ]
    finally:
        hal.close()
    known = [row for row in rows if isinstance(row[2], int)]
    holes = tuple(
        f"{what}: the device reports {seen}, the chip file says {said}" for what, seen, said in known if seen != said
    )
    return [chip], Check("device", len(known), holes)


def _show(reports: list[ChipReport], out: Output) -> None:
    columns = ["chips", "SoCs", "generation", "real", "placeholder", "unsupported", "by bytes", "by rule", "checks"]
    alike: dict[tuple[object, ...], list[str]] = {}
    for report in reports:
        wrong = [check.name for check in report.checks if check.holes]
        counts = (
            report.real,
            report.placeholder,
            report.unsupported,
            report.verified_by_bytes,
            report.verified_by_rule,
        )
        checks = f"gaps: {', '.join(wrong)}" if wrong else f"{len(report.checks)} ok"
        alike.setdefault((report.family, report.generation, *counts, checks), []).append(report.soc)
    rows = [(socs[0] if len(socs) == 1 else row[0], len(socs), *row[1:]) for row, socs in alike.items()]
    out.table(columns, rows)
    out.line("real: task types with a builder; placeholder: types that get a placeholder entry; unsupported: neither")
    out.line("by bytes: builders proved by recorded entries; by rule: by the written rule alone")
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
    chips = "1 chip" if len(reports) == 1 else f"{len(reports)} chips"
    verdict = f"gaps in {bad} of {chips}" if bad else f"no gaps in {chips}"
    out.line(f"{done_count} checks: {verdict}", style="bold red" if bad else "bold green")
