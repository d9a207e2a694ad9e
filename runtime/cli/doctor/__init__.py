"""``npuhal doctor``: why would it not run here? Every finding says what was seen and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from npuhal.errors import BadUrl
from npuhal.loader import URL_VARIABLE, HalUrl, check_url
from npuhal.records import replace
from runtime.cli import UsageError
from runtime.cli.doctor import libraries, nodes, process, variables
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.ladder import Result, State, climb
from runtime.cli.doctor.machine import Machine
from runtime.cli.doctor.secrets import hidden, printable
from runtime.cli.script import check_kernel_file

if TYPE_CHECKING:
    from runtime.cli.output import Output

__all__ = ["HELP", "SECTIONS", "configure", "diagnose", "run"]

HELP = (
    "Looks at the driver's libraries, the device nodes and their rights, the container, limits and environment "
    "variables. With --probe it walks up from loading the library to a kernel and stops at the first step that fails."
)
EXAMPLES = (
    ("npuhal doctor", "look, change nothing"),
    ("npuhal doctor --probe", "walk up to a finished task"),
    ("npuhal doctor --probe --elf add.o --kernel add_custom", "and launch a kernel at the end"),
    ("npuhal doctor --bundle report.zip", "all of it in one file, to send to somebody"),
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
    parser.add_argument("--probe", action="store_true", help="walk up step by step, from loading to a completed task")
    parser.add_argument("--bundle", metavar="FILE", type=Path, help="probe, and write all that was found to a zip file")
    parser.add_argument("--url", help="backend to probe, such as fake://ascend910b3 (default: $NPUHAL_URL or hal://)")
    parser.add_argument("--device", type=int, default=0, metavar="ID", help="device to probe (default: 0)")
    parser.add_argument(
        "--elf", metavar="FILE", type=Path, help="with --probe: launch a kernel of this file at the end"
    )
    parser.add_argument("--kernel", metavar="NAME", help="the kernel in it (default: its only one)")


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
    """Print all findings and, if asked for, the steps of the probe; status 1 when something will not work."""
    if args.device < 0:
        raise UsageError(f"--device is {args.device}; devices are numbered from 0")
    if args.elf:
        check_kernel_file(args.elf)
    if args.elf and not args.probe:
        raise UsageError("--elf is a step of the probe", "give --probe too")
    machine = Machine()
    if args.url:
        machine = replace(machine, environ={**machine.environ, URL_VARIABLE: args.url})
    url = args.url or machine.environ.get(URL_VARIABLE) or "hal://"
    if args.url:
        check_url(args.url)
    real = _is_real(url)
    findings = diagnose(machine, skip=() if real else _HARDWARE)
    if not args.json:
        if not real:
            shown = printable(hidden(url))
            out.line(f"{shown} needs no driver: libraries and devices are not looked at (--url hal:// does)")
            out.line()
        for name, found in findings.items():
            _show(name, found, out)
    results = _probe(args, url, machine, findings, out) if args.probe or args.bundle else []
    if args.json:
        told = {name: [finding.as_json() for finding in found] for name, found in findings.items()}
        steps = [result.as_json() for result in results]
        out.json(hidden({"backend": url, "door": url, "findings": told, "probe": steps}))
    wrong = any(finding.level is Level.PROBLEM for found in findings.values() for finding in found)
    return int(wrong or any(result.bad for result in results))


def _is_real(url: str) -> bool:
    """Whether a driver stands behind a URL; one that cannot be read is a finding of its own and hides no other."""
    try:
        return HalUrl.parse(url).scheme == "hal"
    except BadUrl:
        return True


def _probe(
    args: argparse.Namespace, url: str, machine: Machine, findings: dict[str, list[Finding]], out: Output
) -> list[Result]:
    from runtime.cli.doctor import bundle
    from runtime.cli.doctor.kernel import kernel_step
    from runtime.cli.doctor.probe import Probe

    traced = url if url.startswith("trace+") or not args.bundle else f"trace+{url}"
    probe = Probe(traced, args.device, machine)
    results: list[Result] = []
    if not args.json:
        out.line("probe", style="bold")
    with out.progress("probing"):
        for result in climb(probe.steps()):
            results.append(result)
            _show_step(result, args, out)
        members = bundle.collect(machine, findings, results, probe) if args.bundle else {}
        # A call that hangs holds what it uses: tidying up behind its back would hang too.
        rest = [] if results[-1].state is State.HUNG else [probe.tidy()]
        if args.elf and not results[-1].bad:
            rest.append(kernel_step(url, args.device, args.elf, args.kernel))
        for result in climb(rest):
            results.append(result)
            _show_step(result, args, out)
    if args.bundle:
        if not args.json:
            out.line(f"{args.bundle} will hold", style="bold")
            for line in bundle.contents(members, machine):
                out.line(f"  {line}")
        bundle.write(members, args.bundle)
        if not args.json:
            out.line(f"wrote {args.bundle}; logs are not inside, they lie in:")
            for folder in bundle.log_folders(machine):
                out.line(f"  {printable(hidden(folder))}")
    return results


def _show_step(result: Result, args: argparse.Namespace, out: Output) -> None:
    if args.json:
        return
    code = f" (code {result.code})" if result.code else ""
    style = "bold red" if result.bad else "yellow" if result.state is State.WARNING else ""
    told = f"{hidden(result.told)}{code}"
    out.line(f"  {result.state.value:<7}  {result.step:<12} {result.ms:9.2f} ms  {told}", style=style)
    if result.cure:
        out.line(f"           cure: {hidden(result.cure)}")


def _show(section: str, findings: list[Finding], out: Output) -> None:
    out.line(section, style="bold")
    if not findings:
        out.line("  ok       no problems found", style="green")
    for finding in findings:
        mark, style = _MARKS[finding.level]
        out.line(f"  {mark}  {hidden(finding.situation)}", style=style)
        for label, text in (("seen", finding.evidence), ("cure", finding.cure)):
            if text:
                out.line(f"           {label}: {hidden(text)}")
    out.line()
