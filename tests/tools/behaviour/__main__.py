"""Command line of the replay: prints each difference and `matched M/N`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tools.behaviour.replay import Finding, replay

_KEYS = frozenset({"id", "chip", "group", "setup", "steps"})


def scenarios(paths: list[Path], only: str) -> Iterator[dict[str, Any]]:
    """Read the scenarios of files whose id contains `only`.

    Of a folder all .jsonl in it are read, at any depth; rows of what is no scenario, such as tables of differences, are
    told on standard error and left out. A file that is named must have scenarios alone.

    Raises:
        SystemExit: a row of a file that was named is no scenario.
    """
    for path in paths:
        for file in sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            if others := sum(not row.keys() >= _KEYS for row in rows):
                told = f"{file}: {others} of {len(rows)} rows are no scenarios: they need {', '.join(sorted(_KEYS))}"
                if not path.is_dir():
                    sys.exit(told)
                print(told, file=sys.stderr)
            for row in rows:
                if row.keys() >= _KEYS and only in row["id"]:
                    yield {**row, "file": str(file.resolve())}


def main(arguments: list[str] | None = None) -> int:
    """Replay and compare; 1 when something differs that is not excepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.behaviour", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="scenario files or folders of them")
    parser.add_argument("--url", default="fake", help="tier to run on: fake or fake-abi (default: %(default)s)")
    parser.add_argument("--only", default="", help="only scenarios whose id contains this")
    parser.add_argument("--quiet", action="store_true", help="totals only")
    parsed = parser.parse_args(arguments)
    matched, compared, groups = 0, 0, Counter[str]()
    missing, different = Counter[str](), Counter[str]()
    for scenario in scenarios(parsed.files, parsed.only):
        result = replay(scenario, parsed.url.partition(":")[0])
        matched += result.matched
        compared += result.compared
        groups[scenario["group"]] += result.compared
        different[scenario["group"]] += result.compared - result.matched
        missing.update(result.missing)
        if not parsed.quiet:
            for finding in result.findings:
                print(f"{scenario['chip']} {scenario['id']}[{finding.step}] {finding}")
    for group, count in sorted(groups.items()):
        print(f"{group}: matched {count - different[group]}/{count}")
    for name, count in missing.most_common():
        print(f"no entry for {name}: {count} steps")
    print(f"matched {matched}/{compared}")
    return 0 if matched == compared else 1


__all__ = ["Finding", "main", "scenarios"]

if __name__ == "__main__":
    sys.exit(main())
