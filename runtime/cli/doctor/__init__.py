"""``npuhal doctor``: why would it not run here? Every finding says what was seen and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from runtime.cli.doctor import libraries, nodes, process, variables
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine

if TYPE_CHECKING:
    from runtime.cli.output import Output

__all__ = ["HELP", "SECTIONS", "configure", "diagnose", "run"]

HELP = (
    "Looks at the driver's libraries, the device nodes and their rights, the container, limits and environment "
    "variables. With --probe it walks up from loading the library to a kernel and stops at the first step that fails."
)

SECTIONS: tuple[tuple[str, Callable[[Machine], Iterator[Finding]]], ...] = (
    ("libraries", libraries.check),
    ("devices", nodes.check),
    ("process", process.check),
    ("environment", variables.check),
)

_HARDWARE = frozenset({"libraries", "devices"})
_MARKS = {
    Level.PROBLEM: ("PROBLEM", "bold red"),
    Level.WARNING: ("warning", "yellow"),
    Level.NOTE: ("note   ", ""),
    Level.OK: ("ok     ", "green"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="write JSON")


def diagnose(machine: Machine, skip: Iterable[str] = ()) -> dict[str, list[Finding]]:
    """Return the findings of every section; a check that breaks is a finding itself."""
    found: dict[str, list[Finding]] = {}
    for name, check in SECTIONS:
        if name in skip:
            continue
        findings = found.setdefault(name, [])
        try:
            findings.extend(check(machine))
        except Exception as problem:  # a diagnosis must not die of what it examines
            findings.append(
                Finding(
                    Level.WARNING,
                    f"the check of {name} could not be finished",
                    f"{type(problem).__name__}: {problem}",
                    "please report this with the text above",
                )
            )
    return found


def run(args: argparse.Namespace, out: Output) -> int:
    """Print all findings; status 1 when one of them is a problem."""
    machine = Machine()
    found = diagnose(machine)
    if args.json:
        out.json({name: [finding.as_json() for finding in findings] for name, findings in found.items()})
    else:
        for name, findings in found.items():
            _show(name, findings, out)
    return int(any(finding.level is Level.PROBLEM for findings in found.values() for finding in findings))


def _show(section: str, findings: list[Finding], out: Output) -> None:
    out.line(section, style="bold")
    if not findings:
        out.line("  ok       nothing stands out", style="green")
    for finding in findings:
        mark, style = _MARKS[finding.level]
        out.line(f"  {mark}  {finding.situation}", style=style)
        for label, text in (("seen", finding.evidence), ("cure", finding.cure)):
            if text:
                out.line(f"           {label}: {text}")
    out.line()
