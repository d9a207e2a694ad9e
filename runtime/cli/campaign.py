"""`npuhal fake sweep` and `npuhal fake campaign`: many independent runs, here or on a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cli import EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, UsageError
from runtime.cli.script import check_script

if TYPE_CHECKING:
    from runtime.cli.output import Output
    from runtime.testing.campaigns.campaign import Summary
    from runtime.testing.campaigns.jobs import Job

_CASES_PER_JOB = 20
_SEEDS_PER_JOB = 8
_CHIP_SEEDS_PER_JOB = 4
CHIPS = "chips"
"""The target that stands for the validation of chips."""


def configure_sweep(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sweep."""
    parser.add_argument("--url", default="fake://ascend910b3", help="machine (default: %(default)s)")
    parser.add_argument("--call", action="append", default=[], metavar="NAME", help="let only this function fail")
    parser.add_argument(
        "--codes", default="", metavar="CODE,...", help="what calls answer (default: what fakes/hal/codes.yaml lists)"
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="try about N failures only, spread evenly")
    _configure_runs(parser)
    parser.add_argument("script", help="path of the script; its own arguments follow")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments")


def configure_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the campaign."""
    parser.add_argument("--seeds", type=int, default=100, metavar="N", help="seeds to try (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed (default: %(default)s)")
    _configure_runs(parser)
    parser.add_argument(
        "targets", nargs="+", metavar="TARGET",
        help=f"tests as pytest names them (paths, node ids), or `{CHIPS}`: the validation of all chips",
    )


def _configure_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="jobs at a time (default: the processors)")
    parser.add_argument(
        "--executor", default="processes", metavar="WHERE",
        help="processes (default), dask:tcp://HOST:PORT or ray:ray://HOST:PORT",
    )
    parser.add_argument(
        "--keep", metavar="FOLDER", default="npuhal-failures",
        help="where failures are kept, one program that repeats it per cause (default: %(default)s)",
    )
    parser.add_argument("--resume", action="store_true", help="leave out what the folder says is done")
    parser.add_argument("--patience", type=float, default=600, metavar="S", help="seconds that a job may take")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run_sweep(args: argparse.Namespace, out: Output) -> int:
    """Let each driver call of a script fail."""
    from runtime.testing.campaigns.jobs import Job, Result, in_batches
    from runtime.testing.campaigns.work import perform
    from runtime.testing.sweeps.sweep import checked, sampled

    check_script(args.script)
    url, codes = checked(args.url), [code for code in args.codes.split(",") if code]
    facts = {"program": args.script, "url": url, "arguments": args.arguments}
    planned = Result.from_data(perform("plan", {**facts, "calls": args.call, "codes": codes}, args.patience))
    if planned.failures:
        raise UsageError(f"{args.script} does not run without a failure: {planned.failures[0].text.strip()}")
    rows = list(sampled(planned.rows, args.sample))
    jobs = [Job("sweep", {**facts, "cases": batch}) for batch in in_batches(rows, _CASES_PER_JOB)]
    return _go(jobs, args, out)


def run_campaign(args: argparse.Namespace, out: Output) -> int:
    """Run tests, or the validation of chips, under many seeds."""
    if args.seeds < 1:
        raise UsageError(f"--seeds is {args.seeds}: at least 1 is needed")
    for target in args.targets:
        if target != CHIPS and not Path(target.partition("::")[0]).exists():
            raise UsageError(f"cannot open {target!r}: no such file", f"give a path or node id of pytest, or {CHIPS}")
    return _go(list(_jobs(args.targets, args.first, args.seeds)), args, out)


def _jobs(targets: Sequence[str], first: int, seeds: int) -> Iterator[Job]:
    from runtime.testing.campaigns.jobs import Job, in_batches

    numbers = range(first, first + seeds)
    if tests := [target for target in targets if target != CHIPS]:
        for batch in in_batches(numbers, _SEEDS_PER_JOB):
            facts = {"targets": tests, "seed": batch[0], "schedules": len(batch), "options": []}
            yield Job("tests", facts)
    if CHIPS in targets:
        from chips.catalog import all_socs

        names = list(all_socs())
        for batch in in_batches(numbers, _CHIP_SEEDS_PER_JOB):
            yield Job("chips", {"names": names, "seeds": batch})


def _go(jobs: Sequence[Job], args: argparse.Namespace, out: Output) -> int:
    from runtime.testing.campaigns import campaign, executors
    from runtime.testing.campaigns.folder import Folder

    folder = Folder(args.keep)
    quiet = args.json or not sys.stderr.isatty()

    def show(summary: Summary) -> None:
        if not quiet:
            print(f"\r\033[K{summary}", end="", file=sys.stderr, flush=True)

    with executors.opened(args.executor, args.jobs) as (executor, width):
        summary = campaign.run(
            jobs, executor, width, folder=folder, resume=args.resume, progress=show, patience_s=args.patience
        )
    if not quiet:
        print(file=sys.stderr)
    _print(summary, args, out)
    if summary.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FINDINGS if summary.failures else EXIT_OK


def _print(summary: Summary, args: argparse.Namespace, out: Output) -> None:
    coverage = list(summary.coverage.rows())
    if args.json:
        out.json({
            "jobs": summary.jobs, "done": summary.done, "runs": summary.runs, "interrupted": summary.interrupted,
            "totals": dict(summary.totals), "coverage": {kind: {"different": n, "all": m} for kind, n, m in coverage},
            "failures": [
                {"cause": found.cause, "count": found.count, "file": f"{found.name}.py"}
                for found in summary.failures.values()
            ],
        })  # fmt: skip
        return
    out.line(str(summary))
    if summary.totals:
        out.line(", ".join(f"{number} {name}" for name, number in summary.totals.most_common()))
    out.table(("seen", "different", "in all"), coverage)
    for failure in summary.failures.values():
        out.line(f"{failure.count} x {failure.text.strip().splitlines()[0]}")
        out.line(f"    python {args.keep}/{failure.name}.py")
    if summary.interrupted:
        out.line("interrupted: the same command with --resume goes on")
