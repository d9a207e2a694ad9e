"""Running a user's script inside this process, the way `python SCRIPT` would."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path

from runtime.cli import EXIT_INTERRUPTED, UsageError


def run_script(script: str, arguments: list[str], url: str | None = None) -> int:
    """Run a script as `__main__`, for which `import acl` gives this runtime's pyACL; returns its exit status.

    A script that raises shows its own traceback and gives 1, one that Ctrl-C ends 130.

    Args:
        url: machine that it runs on unless it says so itself.

    Raises:
        UsageError: there is no such file.
    """
    from runtime.capi import pyacl as acl
    from runtime.capi.shim import build

    path = check_script(script)
    if url:
        os.environ["NPUHAL_URL"] = url
    acl.install()
    build.install()
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # whoever read the output went away: no mistake of the script's
    except (Exception, KeyboardInterrupt) as failure:
        _show(failure, script)
        return EXIT_INTERRUPTED if isinstance(failure, KeyboardInterrupt) else 1
    return 0


def check_script(script: str) -> Path:
    """Return a script's path; raises UsageError where there is no such file."""
    path = Path(script)
    if not path.is_file():
        what = f"{script!r} is no file" if path.exists() else f"there is no script {script!r}"
        raise UsageError(what, "give the path of a Python file")
    return path


def _show(failure: BaseException, script: str) -> None:
    """Print a traceback as `python SCRIPT` does: from the script's first line on, without what started it."""
    frames = failure.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    traceback.print_exception(type(failure), failure, frames)
