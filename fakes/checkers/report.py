"""What the checkers say, and how a program gets to hear it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fakes.errors import FakeError
from npuhal.exit_status import call_at_last, end_with
from npuhal.records import dataclass, field

RACE, UAF, BOUNDS, SOURCE, DEADLOCK, STALE, UPDATE, LEAK = (
    "race", "uaf", "bounds", "source", "deadlock", "stale", "update", "leak",
)  # fmt: skip
CHECKS = (RACE, UAF, BOUNDS, SOURCE, DEADLOCK, STALE, UPDATE, LEAK)
"""Names of the checkers, as the URL option `check=` takes them."""
_MOST = 100
"""Reports kept; a program with that many has one cause."""


@dataclass(frozen=True, slots=True)
class Report:
    """One mistake of the program: which checker found it, what happened, and what would make it right."""

    check: str
    message: str
    cure: str = ""
    parties: tuple[str, ...] = field(default=(), compare=False)
    """The tasks, buffers or waiters that take part, each as it is named in the message."""

    def __str__(self) -> str:
        return f"{self.check}: {self.message}" + (f". {self.cure}" if self.cure else "")


class CheckFailed(FakeError):
    """The program made mistakes that checkers have found; `reports` has them."""

    exit_status = 86
    """What a process exits with whose reports nobody has taken: neither Python nor the shell uses this number."""

    def __init__(self, reports: tuple[Report, ...]) -> None:
        self.reports = reports
        super().__init__(reports)

    def __str__(self) -> str:
        return "\n".join(map(str, self.reports))


def _tell(found: list[Report]) -> None:
    """Print the reports of a machine that nobody has closed, and let the process fail for them."""
    if found:
        failed = CheckFailed(tuple(found))
        with suppress(Exception):  # standard error may be gone
            print(f"CheckFailed on a machine that was dropped without a close: {failed}", file=sys.stderr)
        end_with(failed.exit_status)


class Expected:
    """The reports of a block that is meant to make a mistake; filled when the block ends."""

    def __init__(self) -> None:
        self.reports: tuple[Report, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.reports))


_untold: weakref.WeakSet[Reports] = weakref.WeakSet()
"""The reports of all machines; what is left of them at the exit is told then."""


@call_at_last
def _tell_all() -> None:
    for reports in list(_untold):
        _tell(list(reports.take()))


class Reports:
    """The reports of one machine, in the order in which they were found; the same mistake is told once."""

    def __init__(self) -> None:
        self._found: list[Report] = []
        _untold.add(self)
        weakref.finalize(self, _tell, self._found).atexit = False
        self._told: set[object] = set()

    def add(self, report: Report, same: object) -> bool:
        """Keep a report; False when one with the same key was there, or there are too many."""
        key = (report.check, same)
        if key in self._told or len(self._found) >= _MOST:
            return False
        self._told.add(key)
        self._found.append(report)
        return True

    def __iter__(self) -> Iterator[Report]:
        return iter(self._found)

    def take(self) -> tuple[Report, ...]:
        """Return all reports and forget them."""
        taken = tuple(self._found)
        self._found.clear()
        return taken

    @contextmanager
    def expected(self, *checks: str) -> Iterator[Expected]:
        """Take the reports of a block, and fail where one of the named checkers has not found anything in it.

        Raises:
            AssertionError: a named checker found nothing, or another one did.
        """
        before = self.take()
        expected = Expected()
        yield expected
        expected.reports = self.take()
        self._found.extend(before)
        found = {report.check for report in expected.reports}
        if found != set(checks):
            raise AssertionError(f"expected reports of {sorted(checks)}, got: {str(expected) or 'none'}")
