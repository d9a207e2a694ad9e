"""One job in a process of its own: what it does to that process, a crash or a hang, is a failure like another.

`perform` is what executors are given: a function of plain data. The process is this module, run as a program: it reads
the job from standard input and writes the result to the file that it is told.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npuhal.files import write_whole
from runtime.testing.campaigns.jobs import Failure, Job, Result

PATIENCE_S = 600.0
"""How long one job may take."""
_LAST_WORDS_S = 5.0
"""So much earlier a process that hangs writes down where each of its threads is."""
_SHOWN = 4000


_running: set[subprocess.Popen[str]] = set()
"""Processes of jobs that are under way here."""


def _started(command: list[str], **options: Any) -> subprocess.Popen[str]:
    process = subprocess.Popen(command, **options)
    _running.add(process)
    return process


def stop() -> None:
    """End the jobs that are under way in this process: nobody waits for them any more."""
    for process in list(_running):
        process.kill()


def perform(kind: str, facts: Mapping[str, Any], patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """Do one job in a process of its own and return the result as data; never raises for what the job does."""
    job = Job(kind, facts)
    with tempfile.TemporaryDirectory(prefix="npuhal-job-") as folder:
        answer = Path(folder, "result.json")
        command = [sys.executable, "-m", __name__, str(answer), str(patience_s)]
        paths = os.pathsep.join(filter(None, [*map(str, sys.path), os.environ.get("PYTHONPATH", "")]))
        process = _started(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is for whoever started the campaign
        )
        try:
            _, said = process.communicate(json.dumps([kind, facts]), timeout=patience_s)
            how = f"ended with status {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            how = f"did not end within {patience_s:.0f} s"
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            _running.discard(process)
        try:
            result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            if process.returncode < 0 and "did not end" not in how:
                how = f"was ended by {signal.Signals(-process.returncode).name}"
            said = said[-_SHOWN:]
            return Result(1, [Failure(f"{kind}: {how} {_last_line(said)}", f"{how}\n{said}", _again(job))]).to_data()
    return result


def _last_line(said: str) -> str:
    """Return the innermost line of the last traceback in what a process has said."""
    lines = [line.strip() for line in said.splitlines() if line.strip().startswith("File ")]
    return lines[0] if lines else ""


def _again(job: Job) -> str:
    """Return a program that does a whole job again, in its own process."""
    return (
        f'"""Repeats a job of a campaign in this process."""\n\nimport json\n\n'
        f"from runtime.testing.campaigns.kinds import do\n\n"
        f"print(json.dumps(do({job.kind!r}, {dict(job.facts)!r}).to_data(), indent=1))\n"
    )


def main(arguments: list[str]) -> int:
    """Do the job on standard input; the result goes to the file that the first argument names."""
    answer, patience_s = Path(arguments[0]), float(arguments[1])
    faulthandler.enable()
    kind, facts = json.load(sys.stdin)
    from runtime.testing.campaigns.kinds import do

    faulthandler.dump_traceback_later(max(patience_s - _LAST_WORDS_S, patience_s / 2), exit=True)
    data = json.dumps(do(kind, facts).to_data())
    faulthandler.cancel_dump_traceback_later()
    write_whole(answer, data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
