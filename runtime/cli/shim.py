"""`npuhal shim`: libraries for programs that are not written for npuhal: the driver's, made of the fake."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Write shared libraries for programs in C, C++ or any Python. `driver` writes a libascend_hal.so made of the fake: "
    "under an installed CANN, or under a program of your own, it takes the place of the driver, and no card is needed. "
    "`runtime` writes a libascendcl.so made of this runtime: the C API where CANN is not installed. "
    "A C compiler is needed to write a library, not to use it."
)
EXAMPLES = (
    ("npuhal shim driver --out build/shim", "then: source build/shim/env.sh; ./program"),
    ("npuhal shim driver --out build/shim --url 'fake://ascend950?devices=2&check=all'", "another machine"),
    ("npuhal shim runtime --out build/acl --headers", "C programs without CANN"),
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


def run(args: argparse.Namespace, out: Output) -> int:
    """Write what was asked for; 0."""
    files, following = _runtime(args) if args.action == "runtime" else _driver(args)
    for file in files:
        out.line(f"wrote {file}")
    out.line()
    out.line(f"next: {following}. docs/shim.md says what else can be set.")
    return 0


def _driver(args: argparse.Namespace) -> tuple[list[Path], str]:
    from fakes.shim.build import write

    url = args.url or os.environ.get("NPUHAL_URL", "")
    files = write(args.out, url if args.url or url.startswith("fake") else _DEFAULT)
    return files, f"source {files[-1]}, then start the program"


def _runtime(args: argparse.Namespace) -> tuple[list[Path], str]:
    from runtime.capi.shim import build, headers

    files = build.write(args.out)
    include = args.out / "include"
    if args.headers:
        files += headers.write(include)
    headers_flag = f"-I{include} " if args.headers else ""
    return files, f"cc program.c {headers_flag}-L{args.out} -lascendcl -Wl,-rpath,{args.out.resolve()}"
