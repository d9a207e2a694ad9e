"""``npuhal fake``: what the fake device models and refuses, the machines that are shipped, and campaigns on it."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from npuhal.records import asdict
from runtime.cli import campaign

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "What the fake HAL (fake://, fake-abi://) does with each function of the HAL's headers: modelled; absent, that is "
    "answered with NOT_SUPPORT as the real library does where the feature is missing; or refused, that is NotModelled "
    "raised with the function's name. And what to do with it: every driver call of a script fails once, tests under "
    "thousands of schedules."
)
EXAMPLES = (
    ("npuhal fake coverage", "functions by what becomes of a call"),
    ("npuhal fake scenarios", "machines for fake://scenario=NAME"),
    ("npuhal fake sweep train.py --call halMemAlloc", "each allocation of a script fails once"),
    ("npuhal fake campaign tests/test_pipeline.py --seeds 1000", "tests under a thousand schedules"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    coverage = actions.add_parser("coverage", help="list the functions by what becomes of a call")
    coverage.add_argument("--chip", metavar="NAME", default="Ascend910B3", help="SoC (default Ascend910B3)")
    coverage.add_argument("--all", action="store_true", help="also functions the vendor's runtime does not refer to")
    coverage.add_argument("--json", action="store_true", help="write JSON")
    scenarios = actions.add_parser("scenarios", help="list the machines that fake://scenario=NAME opens")
    scenarios.add_argument("--json", action="store_true", help="write JSON")
    campaign.configure_sweep(actions.add_parser("sweep", help="let each driver call of a script fail, once"))
    campaign.configure_campaign(actions.add_parser("campaign", help="run tests, or validate chips, under many seeds"))


def run(args: argparse.Namespace, out: Output) -> int:
    """Do what was asked for; a sweep or campaign that has found something gives 1."""
    actions = {
        "coverage": _coverage, "scenarios": _scenarios, "sweep": campaign.run_sweep, "campaign": campaign.run_campaign,
    }  # fmt: skip
    return actions[args.action](args, out)


def _scenarios(args: argparse.Namespace, out: Output) -> int:
    from fakes.url.scenario import shipped

    rows = [(each.path.stem, each.soc, each.about) for each in shipped()]
    if args.json:
        out.json({name: {"soc": soc, "about": about} for name, soc, about in rows})
    else:
        out.table(("name", "chip", "what it is"), rows)
    return 0


def _coverage(args: argparse.Namespace, out: Output) -> int:
    from chips import find_chip
    from fakes.hal.coverage import coverage

    chip = find_chip(args.chip)
    rows = [row for row in coverage(chip.traits.driver_tree) if row.referenced or args.all]
    counts = Counter(row.status.value for row in rows)
    if args.json:
        out.json(
            {
                "chip": chip.soc, "counts": dict(counts),
                "functions": [{**asdict(row), "status": row.status.value} for row in rows],
            }
        )  # fmt: skip
        return 0
    order = {"modelled": 0, "absent": 1, "refused": 2}
    rows.sort(key=lambda row: (order[row.status.value], row.chapter, row.name))
    columns = ("status", "chapter", "function", "why")
    out.table(columns, [(row.status.value, row.chapter, row.name, _why(row.reason, row.exported)) for row in rows])
    out.line()
    out.line(f"{len(rows)} functions on {chip.soc}: " + ", ".join(f"{counts[name]} {name}" for name in order))
    return 0


def _why(reason: str, exported: bool) -> str:
    return reason if exported else f"not exported: {reason}"
