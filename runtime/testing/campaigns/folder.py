"""Where a campaign keeps what it has found: a file per cause as it comes, and what is done, for a later `--resume`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from npuhal.files import write_whole
from runtime.testing.campaigns.jobs import Failure, Job, Result

_DONE = "done.jsonl"


class Folder:
    """A folder of one campaign. Files are written under another name and then renamed: what is there is whole."""

    def __init__(self, path: str | Path) -> None:
        """Make the folder, if it is not there."""
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._counts: dict[str, int] = {}

    def done(self) -> dict[str, Result]:
        """Return the results of earlier runs by the key of the job; a last line that is cut off counts as not done."""
        found: dict[str, Result] = {}
        path = self.path / _DONE
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    row = json.loads(line)
                    found[row["job"]] = Result.from_data(row["result"])
                except (ValueError, KeyError, TypeError):
                    continue
        return found

    def start_over(self) -> None:
        """Forget what an earlier campaign has done; what it has found stays."""
        (self.path / _DONE).unlink(missing_ok=True)

    def keep(self, job: Job, result: Result) -> None:
        """Note a job as done, and keep its failures."""
        for failure in result.failures:
            self._keep(failure)
        line = json.dumps({"job": job.key, "result": result.to_data()})
        with (self.path / _DONE).open("a+b") as file:
            end = os.fstat(file.fileno()).st_size
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                file.write(b"\n")  # a line that was cut off stays one of its own
            file.write(line.encode() + b"\n")

    def _keep(self, failure: Failure) -> None:
        """Keep the first of each cause as a program, and how often it was found beside it."""
        self._counts[failure.cause] = self._counts.get(failure.cause, 0) + failure.count
        path = self.path / f"{failure.name}.py"
        if not path.exists():
            write_whole(path, failure.replay)
        said = f"found {self._counts[failure.cause]} times\ncause: {failure.cause}\n\n{failure.text}\n"
        write_whole(path.with_suffix(".txt"), said)
