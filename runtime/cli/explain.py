"""``npuhal explain``: cause and cure of codes and messages from any level."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from npuhal.records import asdict
from runtime.cli import EXIT_OK, EXIT_USAGE
from runtime.errors.explain import Explanation, UnknownCode, explain

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "What a code means and what to do: public codes (107002, ACL_ERROR_RT_CONTEXT_NULL), user messages (EE1023), "
    "driver codes (DRV_ERROR_NO_RESOURCES), inner codes (0x07030010, RT_ERROR_...), device codes (0x26, TS_ERROR_...)."
)
EXAMPLES = (
    ("npuhal explain 107002", "a public code"),
    ("npuhal explain EE1023 DRV_ERROR_NO_RESOURCES", "a message and a driver code"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("code", nargs="+", metavar="CODE", help="a number, a hexadecimal number or a name")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(args: argparse.Namespace, out: Output) -> int:
    """Explain each code; an unknown one is a usage error that names its neighbours."""
    explanations, unknown = [], []
    for code in args.code:
        try:
            explanations.append(explain(code))
        except UnknownCode as problem:
            unknown.append(problem)
    if args.json:
        out.json([asdict(explanation) for explanation in explanations])
    else:
        for position, explanation in enumerate(explanations):
            if position:
                out.line()
            _show(explanation, out)
    for other in unknown:
        out.error(str(other), other.hint)
    return EXIT_USAGE if unknown else EXIT_OK


def _show(it: Explanation, out: Output) -> None:
    head = it.number if it.number == it.name else f"{it.number} {it.name}"
    out.line(f"{head}  ({it.kind} code)" if it.kind != "message" else f"{head}  (user message)", style="bold")
    rows = [("cause", it.cause), ("cure", it.cure)]
    if it.family:
        rows.append(("fault", f"runtime.errors.{it.family}, {it.layer} layer"))
    rows += [("way up" if position == 0 else "", step) for position, step in enumerate(it.chain)]
    for label, text in rows:
        out.line(f"  {label:<7} {text}")
    for other in it.also:
        out.line()
        out.line("or, from another level:")
        _show(other, out)
