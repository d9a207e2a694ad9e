"""`npuhal shim`: libraries for programs that are not written for npuhal: the driver's, made of the fake."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cli import UsageError

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Write shared libraries for programs in C, C++ or any Python. `driver` writes a libascend_hal.so made of the fake: "
    "under an installed CANN, or under a program of your own, it takes the place of the driver, and no card is needed. "
    "`runtime` writes a libascendcl.so made of this runtime: the C API where CANN is not installed. "
    "`torch` writes that and what else an installed torch_npu asks of CANN: PyTorch programs run without both. "
    "A C compiler is needed to write a library, not to use it."
)
EXAMPLES = (
    ("npuhal shim driver --out build/shim", "then: source build/shim/env.sh; ./program"),
    ("npuhal shim driver --out build/shim --url 'fake://ascend950?devices=2&check=all'", "another machine"),
    ("npuhal shim runtime --out build/acl --headers", "C programs without CANN"),
    ("npuhal shim torch --out build/torch", "then: source build/torch/env.sh; python train.py"),
)
_DEFAULT = "fake://ascend910b3"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="LIBRARY")
    driver = actions.add_parser("driver", help="libascend_hal.so and libtsdclient.so, made of the fake")
    driver.add_argument("--out", metavar="DIR", required=True, type=Path, help="folder for the files")
    driver.add_argument("--url", metavar="URL", help="machine it stands for (default $NPUHAL_URL if that is a fake)")
    runtime = actions.add_parser("runtime", help="libascendcl.so and libacl_rt.so, made of this runtime")
    runtime.add_argument("--out", metavar="DIR", required=True, type=Path, help="folder for the files")
    runtime.add_argument("--headers", action="store_true", help="write acl/acl.h and its parts too, into DIR/include")
    torch = actions.add_parser("torch", help="what the installed torch_npu asks of CANN, made of this runtime")
    torch.add_argument("--out", metavar="DIR", type=Path, help="folder for the files")
    torch.add_argument("--url", metavar="URL", help="machine that env.sh names (default $NPUHAL_URL if that is a fake)")
    torch.add_argument("--operators", action="store_true", help="list operators: which are computed, and which are not")


def run(args: argparse.Namespace, out: Output) -> int:
    """Write what was asked for; 0."""
    if args.action == "torch" and args.operators:
        return _operators(out)
    files, following = {"runtime": _runtime, "driver": _driver, "torch": _torch}[args.action](args)
    for file in files:
        out.line(f"wrote {file}")
    out.line()
    out.line(f"next: {following}. docs/shim.md says what else can be set.")
    return 0


def _driver(args: argparse.Namespace) -> tuple[list[Path], str]:
    from fakes.shim.build import write

    files = write(args.out, _url(args))
    return files, f"source {files[-1]}, then start the program"


def _runtime(args: argparse.Namespace) -> tuple[list[Path], str]:
    from runtime.capi.shim import build, headers

    files = build.write(args.out)
    include = args.out / "include"
    if args.headers:
        files += headers.write(include)
    headers_flag = f"-I{include} " if args.headers else ""
    return files, f"cc program.c {headers_flag}-L{args.out} -lascendcl -Wl,-rpath,{args.out.resolve()}"


def _url(args: argparse.Namespace) -> str:
    url = args.url or os.environ.get("NPUHAL_URL", "")
    return url if args.url or url.startswith("fake") else _DEFAULT


def _torch(args: argparse.Namespace) -> tuple[list[Path], str]:
    from runtime.capi.shim.torch.libraries import write

    if args.out is None:
        raise UsageError("npuhal shim torch: no folder was given", "give --out DIR, or --operators for a list")
    files = write(args.out, _url(args))
    return files, f"source {files[-1]}, then start the program"


def _operators(out: Output) -> int:
    """List operators by whether they are computed; of the installed wheel, where there is one."""
    from npuhal.compiler import BuildError
    from runtime.capi.shim.torch import operators
    from runtime.capi.shim.torch.wheel import installed, operators_of

    rows = [*operators.aclnn(), *operators.aclop()]
    computed = [each.name for each in rows]
    limits = [f"{each.name}: {limit.what}" for each in rows for limit in each.limits]
    try:
        missing = sorted(operators_of(installed("torch_npu")) - set(computed))
    except BuildError as problem:
        missing = []
        out.line(f"{problem}: what it names beside these is not known")
    for title, names in (
        ("computed on the host", computed), ("of these fail at the call with", limits),
        ("fail at the call, with their names", missing),
    ):  # fmt: skip
        out.line(f"{title} ({len(names)}):")
        for name in names:
            out.line(f"  {name}")
    return 0
