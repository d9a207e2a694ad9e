"""`npuhal run`: a script written for pyACL, on this runtime."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from runtime.cli import UsageError
from runtime.cli.script import add_program, prepare_torch, program_of, run_program

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Run a Python script for which `import acl` gives this runtime's pyACL. What the script prints and the status it "
    "ends with are its own. Without --url the machine is that of NPUHAL_URL, or the real one."
)
EXAMPLES = (
    ("npuhal run --url fake://ascend910b3 train.py --epochs 1", "on a fake"),
    ("npuhal run -m pytest tests", "a module, as python -m does"),
    ("npuhal run --counters train.py", "count launches, copies, waits and requests for memory"),
    ("NPUHAL_STRICT=1 npuhal run script.py", "warn of misuse, by line"),
    ("npuhal run --torch --url 'fake://ascend910b3?check=all' train.py", "PyTorch, with checkers"),
    ("npuhal run --triton --interpret --url fake://ascend910b3 add.py", "@triton.jit kernels, computed without a card"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.keeps_dashes = True  # type: ignore[attr-defined]  # a Parser of ours
    parser.add_argument("--url", metavar="URL", help="machine to run on, e.g. fake://ascend910b3?devices=2")
    parser.add_argument(
        "--triton", action="store_true", help="be the driver of Triton-Ascend, so that @triton.jit kernels run here"
    )
    parser.add_argument(
        "--interpret", action="store_true",
        help="with --triton, on a fake: let Triton's own interpreter compute what kernels compute; needs no device "
        "compiler",
    )
    parser.add_argument(
        "--torch", action="store_true",
        help="let torch_npu run on this runtime, without CANN; on a fake, operators are computed on the host",
    )
    parser.add_argument(
        "--counters", action="store_true",
        help="write to standard error what was done on each device when it is closed, at the end of the script at the "
        "latest: launches, copies, waits, requests for memory (as NPUHAL_COUNTERS=1 does)",
    )
    add_program(parser)


def run(args: argparse.Namespace, out: Output) -> int:
    """Run the script as `__main__`; its exit status is ours."""
    if args.interpret and not args.triton:
        raise UsageError("--interpret is for kernels of Triton", "add --triton")
    program = program_of(args)
    if program is None:
        raise UsageError("npuhal run: no script was given", "give SCRIPT, -m MODULE, -c TEXT, or - for standard input")
    if args.counters:
        from runtime.core.diagnostics.counters import VARIABLE

        os.environ[VARIABLE] = "1"
    if args.torch:
        prepare_torch(args.url)
    if not args.triton:
        return run_program(program, args.url)
    import runtime.triton

    runtime.triton.install(args.url, interpret=args.interpret)
    try:
        return run_program(program, args.url)
    finally:
        runtime.triton.uninstall()
