"""Running a user's script inside this process, the way `python SCRIPT` would."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from runtime.cli import UsageError


def run_script(script: str, arguments: list[str], url: str | None = None) -> int:
    """Run a script as `__main__`, for which `import acl` gives this runtime's pyACL; returns its exit status.

    Args:
        url: machine that it runs on unless it says so itself.

    Raises:
        UsageError: there is no such file.
    """
    from runtime.api import acl

    path = Path(script)
    if not path.is_file():
        raise UsageError(f"there is no script {script!r}", "give the path of a Python file")
    if url:
        os.environ["NPUHAL_URL"] = url
    acl.install()
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return int(ended.code or 0)
    return 0
