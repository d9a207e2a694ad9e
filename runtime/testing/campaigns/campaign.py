"""A campaign: jobs given to an executor, what comes back counted and kept, with progress, until done or interrupted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice

from runtime.testing.campaigns.folder import Folder
from runtime.testing.campaigns.jobs import Coverage, Failure, Job, Result
from runtime.testing.campaigns.work import PATIENCE_S, perform

Progress = Callable[["Summary"], None]
_AHEAD = 2
"""Jobs that wait in the executor, per job that it does at a time: all others can still be left out."""


class Summary:
    """How far a campaign is and what it has found."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.done, self.runs = jobs, 0, 0
        self.interrupted = False
        self.coverage = Coverage()
        self.totals: Counter[str] = Counter()
        self.failures: dict[str, Failure] = {}
        """One per cause; `count` is how often it was found."""
        self._began, self._counted = time.monotonic(), 0

    def add(self, result: Result, *, now: bool = True) -> None:
        """Count the result of a job; `now`: it was done in this run of the campaign."""
        self.done += 1
        self.runs += result.runs
        self._counted += result.runs if now else 0
        self.coverage.add(result.coverage)
        self.totals.update(result.totals)
        for failure in result.failures:
            known = self.failures.setdefault(failure.cause, failure)
            if known is not failure:
                known.count += failure.count

    @property
    def rate(self) -> float:
        """Runs per second of this run of the campaign."""
        return self._counted / max(time.monotonic() - self._began, 1e-9)

    @property
    def left_s(self) -> float:
        """How many seconds the rest will take, as far as can be told; 0 before the first job is done."""
        passed, of_now = time.monotonic() - self._began, self.done
        return passed / of_now * (self.jobs - self.done) if of_now else 0.0

    def __str__(self) -> str:
        left = f", {self.left_s:.0f} s left" if self.done < self.jobs else ""
        causes = f"{sum(each.count for each in self.failures.values())} failures of {len(self.failures)} causes"
        return f"{self.done} of {self.jobs} jobs, {self.runs} runs, {self.rate:.1f} a second{left}; {causes}"


def run(
    jobs: Iterable[Job], executor: Executor, width: int = 1, *, folder: Folder | None = None, resume: bool = False,
    progress: Progress = lambda _: None, patience_s: float = PATIENCE_S,
) -> Summary:
    """Do jobs by an executor and return what came of them; Ctrl-C ends it early, with what there is by then.

    Args:
        width: how many jobs the executor does at a time.
        folder: where failures are kept as they come, and what is done.
        resume: leave out what the folder says is done; its results count.
        progress: called after each job.
        patience_s: how long a job may take.
    """
    todo = list(jobs)
    summary = Summary(len(todo))
    if folder is not None and resume:
        done = folder.done()
        for job in todo:
            if job.key in done:
                summary.add(done[job.key], now=False)
        todo = [job for job in todo if job.key not in done]
    elif folder is not None:
        folder.start_over()
    waiting = iter(todo)
    under_way: dict[Future[object], Job] = {}
    try:
        while True:
            for job in islice(waiting, width * _AHEAD - len(under_way)):
                under_way[executor.submit(perform, job.kind, dict(job.facts), patience_s)] = job
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                job, result = under_way.pop(future), _result(future)
                summary.add(result)
                if folder is not None:
                    folder.keep(job, result)
                progress(summary)
    except KeyboardInterrupt:
        summary.interrupted = True
        for future in under_way:
            future.cancel()
    return summary


def _result(future: Future[object]) -> Result:
    """Return what a job gave; an executor that has lost it is a failure of its own."""
    try:
        data = future.result()
    except Exception as lost:
        return Result(0, [Failure(f"executor: {type(lost).__name__}", f"{lost!r}", f'"""{lost!r}"""\n')])
    assert isinstance(data, dict)
    return Result.from_data(data)
