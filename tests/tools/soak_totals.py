"""Totals of a soak run in one table: `python -m tests.tools.soak_totals FOLDER`, where each part has left an XML file.

A case is a test, or what a test says that it has tried: `record_property("cases", 120)`. Exits with 1 where something
has failed, or a part of those named behind the folder has left no file: it was ended for taking too long.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

COLUMNS = ("part", "tests", "cases", "failures", "skipped", "minutes")


class Part(NamedTuple):
    """What one part has come to."""

    name: str
    tests: int
    cases: int
    failures: int
    skipped: int
    seconds: float


def read(path: Path) -> Part:
    """Return the totals of one XML file as pytest writes it."""
    tests = cases = failures = skipped = 0
    root = ElementTree.parse(path).getroot()
    for test in root.iter("testcase"):
        outcome = {child.tag for child in test}
        tests += 1
        failures += bool(outcome & {"failure", "error"})
        if "skipped" in outcome:
            skipped += 1
            continue
        said = test.find("properties/property[@name='cases']")
        cases += 1 if said is None else int(said.attrib["value"])
    seconds = sum(float(suite.attrib.get("time", 0)) for suite in root.iter("testsuite"))
    return Part(path.stem, tests, cases, failures, skipped, seconds)


def table(parts: list[Part], missing: list[str]) -> str:
    """Return the table, with a line for all parts together."""
    total = Part("all", *(sum(column) for column in zip(*(part[1:] for part in parts), strict=True))) if parts else None
    rows = [COLUMNS, *(_row(part) for part in (*parts, *filter(None, [total])))]
    rows += [(name, "-", "-", "did not end", "-", "-") for name in missing]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _row(part: Part) -> tuple[str, ...]:
    return part.name, *map(str, part[1:5]), f"{part.seconds / 60:.1f}"


def main(arguments: list[str]) -> int:
    """Print the table of a folder; the names behind it are the parts that there should be."""
    folder, wanted = Path(arguments[0]), arguments[1:]
    parts = [read(path) for path in sorted(folder.glob("*.xml"))]
    missing = [name for name in wanted if name not in {part.name for part in parts}]
    print(table(parts, missing))
    return int(bool(missing) or any(part.failures for part in parts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
