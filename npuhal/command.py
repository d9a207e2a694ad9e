"""The start of the ``npuhal`` command. It stands here because no other package has this name."""

from __future__ import annotations

import sys

from npuhal import packages
from npuhal.errors import ForeignPackage

_EXIT_USAGE = 2


def main() -> int:
    """Run the command line, or say which foreign package stands where it should be; returns the exit status."""
    try:
        packages.check()
    except ForeignPackage as problem:
        print(f"npuhal: {problem}", file=sys.stderr)
        return _EXIT_USAGE
    from runtime.cli import main as run

    return run()
