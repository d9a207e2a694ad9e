"""Command line: prints each difference and `matched M/N` for each file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import npuhal
from tests.tools.hal_answers.catalogue import answers, differences, rows
from tests.tools.hal_answers.exceptions import reason

_URLS = {"910B": "fake-abi://ascend910b3", "950": "fake-abi://ascend950"}
"""The machine that a file of this name is compared with."""


def main(arguments: list[str] | None = None) -> int:
    """Make the calls and compare; 1 when a row differs that the documents do not name."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.hal_answers", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="recorded answers, a row a line")
    parser.add_argument("--url", help="HAL to make the calls on (default: the fake of the file's chip)")
    parser.add_argument("--quiet", action="store_true", help="totals only")
    parsed = parser.parse_args(arguments)
    different = 0
    for path in parsed.files:
        url = parsed.url or _URLS.get(path.name.partition(".")[0])
        if url is None:
            parser.error(f"{path}: no machine is known for the name {path.name!r}; say it with --url")
        recorded = list(rows(path))
        hal = npuhal.open_hal(url)
        found = differences(recorded, answers(hal))
        hal.close()
        unnamed = [row for row in found if reason(row.call) is None]
        different += len(unnamed)
        if not parsed.quiet:
            for row in found:
                why = reason(row.call)
                named = "" if why is None else f" ({why}, see docs/fake.md)"
                print(f"{path.name} {row.call}: recorded {row.recorded}, answered {row.answered}{named}")
        print(
            f"{path.name} on {url}: matched {len(recorded) - len(found)}/{len(recorded)}, "
            f"{len(found) - len(unnamed)} more differ on purpose"
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
