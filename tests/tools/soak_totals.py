"""Totals of a soak run in one table: `python -m tests.tools.soak_totals FOLDER`, where each part has left an XML file.

A case is a test, or what a test says that it has tried: `record_property("cases", 120)`. Sweeps say with
`record_property("machine", url)` where they were run, and how often each verdict was found: that is a second table.
Exits with 1 where something has failed, or a part of those named behind the folder has left no file: it was ended for
taking too long.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from runtime.testing.sweeps.cases import Verdict

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


def swept(path: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Give for each sweep in an XML file the machine, and what it has counted: stages, cases and verdicts."""
    for test in ElementTree.parse(path).getroot().iter("testcase"):
        said = {each.attrib["name"]: each.attrib["value"] for each in test.iter("property")}
        if machine := said.pop("machine", ""):
            yield machine, Counter(stages=1, **{name: int(number) for name, number in said.items()})


def sweep_table(sweeps: Iterable[tuple[str, Counter[str]]]) -> str:
    """Return the table of sweeps by machine, with a line for all together; empty where there are none."""
    good = [verdict.value for verdict in Verdict if verdict.good]
    bad = [verdict.value for verdict in Verdict if not verdict.good]
    by_machine: dict[str, Counter[str]] = {}
    for machine, counts in sweeps:
        by_machine.setdefault(machine, Counter()).update(counts)
    if not by_machine:
        return ""
    by_machine["all"] = sum(by_machine.values(), Counter())
    rows: list[tuple[str, ...]] = [("machine", "stages", "cases", *good, "findings")]
    for machine, counts in by_machine.items():
        numbers = *(counts[name] for name in rows[0][1:-1]), sum(counts[name] for name in bad)
        rows.append((machine, *map(str, numbers)))
    return _laid_out(rows)


def table(parts: list[Part], missing: list[str]) -> str:
    """Return the table, with a line for all parts together."""
    total = Part("all", *(sum(column) for column in zip(*(part[1:] for part in parts), strict=True))) if parts else None
    rows = [COLUMNS, *(_row(part) for part in (*parts, *filter(None, [total])))]
    rows += [(name, "-", "-", "did not end", "-", "-") for name in missing]
    return _laid_out(rows)


def _laid_out(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _row(part: Part) -> tuple[str, ...]:
    return part.name, *map(str, part[1:5]), f"{part.seconds / 60:.1f}"


def main(arguments: list[str]) -> int:
    """Print the table of a folder; the names behind it are the parts that there should be."""
    folder, wanted = Path(arguments[0]), arguments[1:]
    files = sorted(folder.glob("*.xml"))
    parts = [read(path) for path in files]
    missing = [name for name in wanted if name not in {part.name for part in parts}]
    print(table(parts, missing))
    if sweeps := sweep_table(each for path in files for each in swept(path)):
        print(f"\n{sweeps}")
    return int(bool(missing) or any(part.failures for part in parts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
