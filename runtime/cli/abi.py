"""``npuhal abi check``: compare the binding's structs, enums, macros and prototypes with measured ABI files."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.cli import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from npuhal.abi import Report
    from runtime.cli.output import Output

HELP = "Compare the HAL binding (structs, enums, macros, prototypes) with measured ABI files, or with C headers."
EXAMPLES = (
    ("npuhal abi check hal_abi.yaml", "compare with a measured file"),
    ("npuhal abi check --headers include", "measure the headers in a folder, and compare"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``npuhal abi``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="compare and print every difference and `matched M/N`")
    check.add_argument("files", nargs="*", metavar="FILE", type=Path, help="measured ABI, YAML")
    check.add_argument("--headers", metavar="DIR", type=Path, help="measure the headers in DIR with a C compiler ($CC)")
    check.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, out: Output) -> int:
    """Compare each file and the headers; 1 if anything differs."""
    from npuhal import abi

    if not args.files and args.headers is None:
        raise UsageError(
            "nothing to compare with", "name a measured ABI file, or a folder of headers with --headers DIR"
        )
    total = abi.Report()
    for path in args.files:
        total.merge(abi.check(_load(path)))
    if args.headers is not None:
        from npuhal.measure import measure_and_check

        total.merge(measure_and_check(args.headers))
    if args.json:
        out.json(_as_json(total))
    else:
        _print(total, out)
    return EXIT_FINDINGS if total.differences else EXIT_OK


def _load(path: Path) -> Mapping[str, Any]:
    from chips import yaml_file

    try:
        document = yaml_file.load(path)
    except yaml_file.BadYaml as error:
        raise UsageError(f"{path}: not YAML: {error}", "measured ABI files are YAML text") from None
    if not isinstance(document, dict) or not {"functions", "structs", "enums"} & document.keys():
        raise UsageError(f"{path}: no ABI facts here: expected the keys functions, structs or enums")
    return document


def _print(report: Report, out: Output) -> None:
    groups: dict[str, list[str]] = {}
    for kind, name, reason in report.unbound:
        groups.setdefault(f"{kind}s not bound ({reason})", []).append(name)
    for title, names in groups.items():
        out.line(f"{len(names)} {title}:")
        for line in textwrap.wrap(", ".join(names), width=116):
            out.line(f"    {line}")
    for difference in report.differences:
        out.line(str(difference))
    out.line(f"matched {report.matched}/{report.total}")


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "matched": report.matched,
        "total": report.total,
        "differences": [str(difference) for difference in report.differences],
        "not_bound": [{"kind": kind, "name": name, "reason": reason} for kind, name, reason in report.unbound],
    }
