"""`npuhal run`: a script written for pyACL, on this runtime."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from runtime.cli import UsageError
from runtime.cli.script import Kind, Program, check_module, prepare_torch, run_program, script_program

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Run a Python script for which `import acl` gives this runtime's pyACL. What the script prints and the status it "
    "ends with are its own. Without --url the machine is that of NPUHAL_URL, or the real one."
)
EXAMPLES = (
    ("npuhal run --url fake://ascend910b3 train.py --epochs 1", "on a fake"),
    ("npuhal run -m pytest tests", "a module, as python -m does"),
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
    # What follows belongs to the module or the text, as with `python -m` and `python -c`.
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE",
                        help="run a module, with what follows as its arguments")
    parser.add_argument("-c", dest="text", nargs=argparse.REMAINDER, metavar="TEXT",
                        help="run a text, with what follows as its arguments")
    parser.add_argument("script", nargs="?", help="path of the script, - for standard input")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run the script as `__main__`; its exit status is ours."""
    if args.interpret and not args.triton:
        raise UsageError("--interpret is for kernels of Triton", "add --triton")
    program = _program(args)
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


def _program(args: argparse.Namespace) -> Program:
    """Return what is to be run, known to be there."""
    for kind, words in ((Kind.MODULE, args.module), (Kind.TEXT, args.text)):
        if words is not None:
            if not words:
                raise UsageError(f"npuhal run: {kind.value} needs a {kind.name.lower()}", "`npuhal run --help`")
            if kind is Kind.MODULE:
                check_module(words[0])
            return Program(kind, words[0], words[1:])
    if not args.script:
        raise UsageError("npuhal run: no script was given", "give SCRIPT, -m MODULE, -c TEXT, or - for standard input")
    return script_program(args.script, args.arguments)
