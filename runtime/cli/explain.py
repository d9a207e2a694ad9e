"""``npuhal explain``: cause and cure of codes and messages from any level, or the codes that are about a word."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from npuhal.records import asdict
from npuhal.words import count
from runtime.cli import EXIT_OK, EXIT_USAGE
from runtime.errors.explain import Explanation, UnknownCode, explain, find

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "What a code means and what to do: public codes (107002, ACL_ERROR_RT_CONTEXT_NULL), user messages (EE1023), "
    "driver codes (DRV_ERROR_NO_RESOURCES), inner codes (0x07030010, RT_ERROR_...), device codes (0x26, TS_ERROR_...). "
    "Any other word lists the codes whose name, cause or cure contains it."
)
EXAMPLES = (
    ("npuhal explain 107002", "a public code"),
    ("npuhal explain EE1023 DRV_ERROR_NO_RESOURCES", "a message and a driver code"),
    ("npuhal explain 'out of memory'", "every code that is about it"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("code", nargs="+", metavar="CODE|WORD", help="a number, a hexadecimal number, a name or a word")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(args: argparse.Namespace, out: Output) -> int:
    """Explain each code; a word lists what contains it. What is neither is a usage error."""
    explanations: list[Explanation] = []
    unknown, lists = [], []
    for code in args.code:
        try:
            explanations.append(explain(code))
            if code.isalpha() and not args.json and len(found := find(code)) > 1:
                lists.append((code, found))  # the end of one name, and a word of others
        except UnknownCode as problem:
            if "_" not in code and (found := find(code)):
                lists.append((code, found))
            else:
                unknown.append(problem)
    if args.json:
        found_too = [each for _, found in lists for each in found]
        out.json([asdict(explanation) for explanation in (*explanations, *found_too)])
    else:
        for position, explanation in enumerate(explanations):
            if position:
                out.line()
            _show(explanation, out)
        for position, (word, found) in enumerate(lists):
            if position or explanations:
                out.line()
            _list(word, found, out)
    for other in unknown:
        out.error(str(other), other.hint)
    return EXIT_USAGE if unknown else EXIT_OK


def _list(word: str, found: list[Explanation], out: Output) -> None:
    out.table(("code", "name", "cause"), [(each.number, each.name, each.cause) for each in found])
    out.line(f"{count(len(found), 'code')} about {word!r}; npuhal explain CODE says more")


def _show(it: Explanation, out: Output) -> None:
    head = it.number if it.number == it.name else f"{it.number} {it.name}"
    out.line(f"{head}  ({it.kind} code)" if it.kind != "message" else f"{head}  (user message)", style="bold")
    rows = [("cause", it.cause), ("cure", it.cure)]
    if it.family:
        rows.append(("fault", f"runtime.errors.{it.family}, {it.layer} layer"))
    rows += [("maps to" if position == 0 else "", step) for position, step in enumerate(it.chain)]
    for label, text in rows:
        out.line(f"  {label:<7} {text}")
    for other in it.also:
        out.line()
        out.line("the same number also means:" if it.number == other.number else "it also means:")
        _show(other, out)
