"""`npuhal serve`: the process in which the fake of a libascend_hal.so lives; the library starts it by itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Serve the fake to one program that has loaded a libascend_hal.so of `npuhal shim driver`. The library starts this "
    "process with its first call and ends it with the program; nobody else needs to. The machine is that of NPUHAL_URL."
)
EXAMPLES = (("npuhal serve --wire 3 --library build/shim/libascend_hal.so", "what the library starts"),)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--wire", type=int, required=True, metavar="FD", help="socket that leads to the program")
    parser.add_argument("--library", required=True, metavar="FILE", help="the libascend_hal.so that the program loaded")


def run(args: argparse.Namespace, out: Output) -> int:
    """Serve until the program ends."""
    from fakes.shim.server import serve

    return serve(args.wire, args.library)
