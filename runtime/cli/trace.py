"""`npuhal trace`: watch a script's launches phase by phase, or record, replay and compare its HAL calls."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuhal.files import check_writable, read_bytes
from npuhal.loader import check_url
from runtime.cli import UsageError
from runtime.cli.parser import Parser
from runtime.cli.script import Program, add_program, prepare_torch, program_of, run_program
from runtime.memory.statistics import amount

if TYPE_CHECKING:
    from npuhal.trace import Record
    from runtime.api import Runtime
    from runtime.cli.output import Output
    from runtime.trace import Tracing
    from runtime.trace.memory import MemoryLane

HELP = (
    "Run a script (plain Python, or pyACL) and record each launch: its phases, its submission path, how full the "
    "ring was, copies, events, device work. Writes a page for the browser and a file for ui.perfetto.dev, and says "
    "which phase is slow. The exit status is the script's. With --hal the calls of the driver's library are recorded "
    "too; --replay plays such a recording against a machine, and --diff compares two: status 1 where they differ."
)
EXAMPLES = (
    ("npuhal trace --url fake://ascend910b3 job.py", "watch a script; job.trace.html and .json"),
    ("npuhal trace -o out.html job.py --flag", "only the page"),
    ("npuhal trace -m pytest tests/test_job.py", "a module, as python -m does"),
    ("npuhal trace --memory job.py", "device memory over time too: who held how much, and where they asked for it"),
    ("npuhal trace --hal good.jsonl job.py", "record the driver calls too"),
    ("npuhal trace --diff good.jsonl bad.jsonl", "first call in which two recordings differ"),
    ("npuhal trace --replay good.jsonl --url fake://ascend910b3", "make the calls again"),
    ("npuhal trace --strace box.txt", "an strace (-f -y) of a machine as named driver calls"),
)

_OBSERVER = "npuhal trace"
_MOST_HOLDERS = 12
"""Call sites that the table of memory names."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.keeps_dashes = True  # type: ignore[attr-defined]  # a Parser of ours
    parser.add_argument("--url", metavar="URL", help="machine, e.g. fake://ascend910b3 (default: $NPUHAL_URL)")
    parser.add_argument(
        "--output", "-o", metavar="FILE", type=Path, action="append",
        help="where the trace goes: .html is a page, anything else JSON; may be repeated "
        "(default: SCRIPT.trace.html and SCRIPT.trace.json here)",
    )
    parser.add_argument(
        "--memory", action="store_true",
        help="also record each block of device memory that comes and goes, with owner and call site",
    )
    parser.add_argument(
        "--torch", action="store_true", help="let torch_npu run on this runtime, as `npuhal run --torch` does"
    )
    parser.add_argument("--hal", metavar="FILE", type=Path, help="also record every HAL call, as JSON lines")
    parser.add_argument(
        "--replay", metavar="FILE", type=Path, help="make the calls of a recording again, without a script"
    )
    parser.add_argument("--diff", metavar="FILE", type=Path, nargs=2, help="compare two recordings, run no script")
    parser.add_argument(
        "--strace", metavar="FILE", type=Path, help="show an strace as named calls of the kernel driver, run no script"
    )
    parser.add_argument(
        "--json", action="store_true",
        help="write table and verdict, or what was compared, as JSON; what the script prints goes to standard error",
    )
    add_program(parser, more="; behind -- options of npuhal trace may follow")


def run(args: argparse.Namespace, out: Output) -> int:
    """Do what was asked for."""
    program = program_of(args)
    if program is not None:
        program = _take_own_options(program, args, out)
    if args.diff:
        return _diff(args, out)
    if args.strace:
        return _strace(args, out)
    if args.replay:
        return _replay(args, out)
    if program is None:
        raise UsageError(
            "no script was given",
            "npuhal trace SCRIPT [ARGUMENTS], -m MODULE, -c TEXT, --replay FILE, --diff FILE FILE, or --strace FILE",
        )
    return _trace(program, args, out)


def _take_own_options(program: Program, args: argparse.Namespace, out: Output) -> Program:
    """Take options of npuhal trace from behind `--` after the script; say so where one stands before it.

    What follows a script's name is the script's, as with `python`. Returns the program with its own arguments.
    """
    own = Parser("npuhal trace")
    configure(own)
    own.keeps_dashes = False
    mine = {each for action in own._actions for each in action.option_strings}
    if "--" not in program.arguments:
        if taken := [word for word in program.arguments if word.partition("=")[0] in mine]:
            out.note(f"{taken[0]} after the script's name is an argument of the script",
                     "options of npuhal trace stand before the script, or behind --")  # fmt: skip
        return program
    cut = program.arguments.index("--")
    args.script = args.module = args.text = None
    own.parse_args(program.arguments[cut + 1 :], args)
    if wrong := args.script or args.module or args.text:
        wrong = wrong if isinstance(wrong, str) else wrong[0]
        raise UsageError(f"{wrong!r} behind -- is no option of npuhal trace", "arguments of the script stand before --")
    return program._replace(arguments=program.arguments[:cut])


@contextmanager
def _output_elsewhere(apart: bool) -> Iterator[None]:
    """Let what the script prints, and what its subprocesses and C code do, go to standard error for a while."""
    if not apart:
        yield
        return
    sys.stdout.flush()
    try:
        kept, number = os.dup(sys.stdout.fileno()), sys.stdout.fileno()
    except (OSError, ValueError):  # not a file: a test's buffer
        with redirect_stdout(sys.stderr):
            yield
        return
    os.dup2(sys.stderr.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, number)
        os.close(kept)


def _trace(program: Program, args: argparse.Namespace, out: Output) -> int:
    from runtime.api import Runtime
    from runtime.trace import Tracing

    traces: list[Tracing] = []

    def watch(runtime: Runtime) -> None:
        traces.append(Tracing(runtime=runtime, memory=args.memory))
        traces[-1].__enter__()

    paths = _paths(program, args)
    if args.torch:
        prepare_torch(args.url)
    url = args.url or os.environ.get("NPUHAL_URL") or "hal://"
    if args.hal and not url.startswith("trace+"):
        url = f"trace+{url}"
    check_url(url)
    Runtime.started.register(_OBSERVER, watch)
    try:
        with _output_elsewhere(args.json):
            return run_program(program, url)
    finally:
        Runtime.started.register(_OBSERVER, None)
        for trace in traces:
            trace.__exit__()
        _report(args, paths, traces, out)


def _paths(program: Program, args: argparse.Namespace) -> list[Path]:
    """Return where the traces go, known to be possible before the script runs."""
    paths: list[Path] = args.output or [Path(f"{program.stem}.trace.{kind}") for kind in ("html", "json")]
    for path in (*paths, *((args.hal,) if args.hal else ())):
        try:
            check_writable(path)
        except OSError as problem:
            why = f"cannot write {str(path)!r}: {problem.strerror}"
            raise UsageError(why, "name a file that can be written") from None
    return paths


def _report(args: argparse.Namespace, paths: list[Path], traces: list[Tracing], out: Output) -> None:
    told: list[dict[str, Any]] = []
    for number, trace in enumerate(traces, 1):
        written = [path if number == 1 else path.with_stem(f"{path.stem}-{number}") for path in paths]
        for path in written:
            trace.write(path)
        if args.json:
            rows_of_json = [{**row._asdict(), "beat": row.phase} for row in trace.table()]
            told.append({
                "machine": trace.result.url, "phases": rows_of_json, "beats": rows_of_json,  # beats: the former name
                "verdict": trace.verdict(), "files": [str(path) for path in written],
                **({"memory": [_memory_of(lane) for lane in trace.memory]} if args.memory else {}),
            })  # fmt: skip
            continue
        rows = [
            (row.phase, f"{row.total_us:.1f}", f"{row.median_us:.2f}", f"{row.worst_us:.1f}",
             row.note or f"{row.share:.0%}") for row in trace.table()
        ]  # fmt: skip
        out.line()
        out.table(("phase", "total us", "median us", "worst us", "share"), rows)
        for lane in trace.memory:
            _show_memory(lane, out)
        for line in trace.verdict():
            out.line(f"* {line}")
        out.line(f"written: {', '.join(map(str, written))}")
    if args.json:  # of several machines a list
        out.json(told[0] if len(told) == 1 else told)
    if not traces:
        out.error("the script used no device, so no trace was written", "it has to open one: see npuhal trace --help")
    if args.hal:
        _save_calls(args.hal, traces, out)


def _memory_of(lane: MemoryLane) -> dict[str, Any]:
    """Return a device's memory as JSON has it."""
    when, most = lane.high_water
    last = lane.times[-1] if lane.times else 0.0
    return {
        "device": lane.device, "high_water_bytes": most, "high_water_us": when, "at_high_water": dict(lane.at(when)),
        "at_end": dict(lane.at(last)), "fragmentation": lane.fragmentation(when)._asdict(),
        "holders": [dict(zip(("owner", "site", "bytes", "blocks"), row, strict=True)) for row in lane.by_site(when)],
    }  # fmt: skip


def _show_memory(lane: MemoryLane, out: Output) -> None:
    """Write who held how much of a device when its memory was fullest."""
    when, _ = lane.high_water
    rows = [(owner, amount(size), count, site or "before the trace") for owner, site, size, count in lane.by_site(when)]
    out.line()
    out.table((f"memory of device {lane.device}", "bytes", "blocks", "asked for at"), rows[:_MOST_HOLDERS])
    if len(rows) > _MOST_HOLDERS:
        out.line(f"and {len(rows) - _MOST_HOLDERS} more")


def _save_calls(path: Path, traces: list[Tracing], out: Output) -> None:
    from npuhal.trace import TraceApi, save

    calls = [record for trace in traces if isinstance(hal := trace.hal, TraceApi) for record in hal.records]
    save(calls, path)
    if calls:
        out.line(f"recorded: {len(calls)} HAL calls in {path}")
    else:
        out.error("no HAL call was recorded", "the script names its machine itself: let it take that of NPUHAL_URL")


def _strace(args: argparse.Namespace, out: Output) -> int:
    from collections import Counter

    from npuhal.ioctl import read_strace

    try:
        calls = read_strace(read_bytes(args.strace).decode("utf-8", "replace").splitlines())
    except OSError as problem:
        told = f"{args.strace} cannot be read: {problem.strerror}"
        raise UsageError(told, "name the output of strace -f -y") from None
    if not calls:
        raise UsageError(f"{args.strace}: there is no call of a driver's node in it", "name the output of strace -f -y")
    rows = [
        (row.number, row.process, row.call.descriptor, row.call.name, row.call.result, row.call.error, row.call.meaning)
        for row in calls
    ]
    if args.json:
        keys = ("line", "process", "descriptor", "request", "result", "errno", "hal_code")
        out.json({"calls": [dict(zip(keys, row, strict=True)) for row in rows]})
        return 0
    shown = [tuple("" if cell is None else str(cell) for cell in row) for row in rows]
    out.table(("line", "process", "file", "request", "result", "errno", "HAL code"), shown)
    counts = Counter(row.call.name for row in calls)
    out.line(f"{len(calls)} driver calls: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return 0


def _replay(args: argparse.Namespace, out: Output) -> int:
    import npuhal
    from npuhal.replay import replay

    records = _load(args.replay)
    hal = npuhal.open_hal(args.url)
    try:
        outcome = replay(records, hal)
    finally:
        hal.close()
    problems = list(getattr(getattr(hal, "fake", None), "problems", ()))
    if args.json:
        out.json({
            "machine": hal.url, "replayed": outcome.replayed, "calls": len(records), "skipped": outcome.skipped,
            "fake_says": problems, "difference": None if outcome.divergence is None else str(outcome.divergence),
        })  # fmt: skip
        return int(outcome.divergence is not None)
    skipped = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
    out.line(f"replayed {outcome.replayed} of {len(records)} calls on {hal.url}{skipped}")
    for index, name, reason in outcome.skipped:
        out.line(f"  skipped #{index} {name}: {reason}")
    for problem in problems:
        out.line(f"  the fake device says: {problem}")
    if outcome.divergence is None:
        return 0
    out.line(f"differs at {outcome.divergence}", style="bold red")
    return 1


def _diff(args: argparse.Namespace, out: Output) -> int:
    from npuhal.replay import diff

    first, second = map(_load, args.diff)
    found = diff(first, second)
    where = None if found is None else str(found).replace("recorded", "first").replace("now", "second")
    if args.json:
        out.json({"calls": [len(first), len(second)], "difference": where})
    elif where is None:
        out.line(f"the same {len(first)} calls")
    else:
        out.line(f"differ at {where}", style="bold red")
    return int(where is not None)


def _load(path: Path) -> list[Record]:
    from npuhal.trace import load

    how = "recordings are made by npuhal trace --hal FILE SCRIPT"
    try:
        records = load(path)
    except ValueError as problem:
        raise UsageError(str(problem), how) from None
    if not records:
        raise UsageError(f"{path}: there is no HAL call in it", how)
    return records
