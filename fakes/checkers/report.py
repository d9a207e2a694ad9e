"""What the checkers say, and how a program gets to hear it."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import overload

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


def _print(found: list[Report]) -> None:
    """Print the reports of a machine that nobody has closed, and let the process fail for them."""
    if found:
        failed = CheckFailed(tuple(found))
        with suppress(Exception):  # standard error may be gone
            print(f"CheckFailed on a machine that was dropped without a close: {failed}", file=sys.stderr)
        end_with(failed.exit_status)


class Expected(Sequence[Report]):
    """A block that is meant to make a mistake, and afterwards the reports of it. Made by `Reports.expected`."""

    def __init__(self, kept: Reports, checks: tuple[str, ...], match: str) -> None:
        self._kept, self._checks, self._match = kept, checks, match
        self._before: tuple[Report, ...] = ()
        self.reports: tuple[Report, ...] = ()

    def __enter__(self) -> Expected:
        self._before = self._kept.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        __tracebackhide__ = True
        found = self._kept.take()
        self.reports = tuple(report for report in found if report.check in self._checks)
        self._kept.put_back((*self._before, *(report for report in found if report.check not in self._checks)))
        if kind is not None:
            return
        silent = sorted(set(self._checks) - {report.check for report in self.reports})
        got = "\n".join(map(str, found)) or "none"
        if silent:
            raise AssertionError(f"expected a report of {', '.join(silent)}, got: {got}")
        if self._match and not any(re.search(self._match, str(report)) for report in self.reports):
            raise AssertionError(f"expected a report that matches {self._match!r}, got: {got}")

    @overload
    def __getitem__(self, index: int) -> Report: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Report, ...]: ...

    def __getitem__(self, index: int | slice) -> Report | tuple[Report, ...]:
        return self.reports[index]

    def __len__(self) -> int:
        return len(self.reports)

    def __str__(self) -> str:
        return "\n".join(map(str, self.reports))


_open_reports: weakref.WeakSet[Reports] = weakref.WeakSet()
"""The reports of all machines; what is left of them is printed at the exit."""


@call_at_last
def _print_all() -> None:
    for reports in list(_open_reports):
        _print(list(reports.take()))


class Reports:
    """The reports of one machine, in the order in which they were found; the same mistake is reported once."""

    def __init__(self) -> None:
        self._found: list[Report] = []
        _open_reports.add(self)
        weakref.finalize(self, _print, self._found).atexit = False
        self._told: set[object] = set()

    def wants(self, report: Report, same: object) -> bool:
        """Whether a report would be kept: none with the same key was there, and there are not too many."""
        return (report.check, same) not in self._told and len(self._found) < _MOST

    def add(self, report: Report, same: object) -> bool:
        """Keep a report; False when one with the same key was there, or there are too many."""
        if not self.wants(report, same):
            return False
        self._told.add((report.check, same))
        self._found.append(report)
        return True

    def __iter__(self) -> Iterator[Report]:
        return iter(self._found)

    def take(self) -> tuple[Report, ...]:
        """Return all reports and forget them."""
        taken = tuple(self._found)
        self._found.clear()
        return taken

    def exchange(self, old: Report, new: Report) -> None:
        """Let a report say more; one that was taken meanwhile is left alone."""
        self._found[:] = [new if each is old else each for each in self._found]

    def put_back(self, reports: Iterable[Report]) -> None:
        """Keep reports again that were taken."""
        self._found[:0] = reports

    def expected(self, *checks: str, match: str = "") -> Expected:
        """Expect reports of a block: `with reports.expected("race") as found:`; `found` has them when the block ends.

        What other checkers find in the block stays where it is.

        Args:
            checks: names of checkers (`CHECKS`); each must find something. Without a name nothing is taken.
            match: a regular expression that one report of them must contain.

        Raises:
            AssertionError: at the end of the block, where a named checker has found nothing, or nothing that matches.
            TypeError: a name that is none of a checker, or no name but a pattern.
        """
        __tracebackhide__ = True
        if wrong := [check for check in checks if check not in CHECKS]:
            raise TypeError(f"expected({wrong[0]!r}): no such checker; there are {', '.join(CHECKS)}")
        if match and not checks:
            raise TypeError("expected(match=...): name the checker that is to report it")
        return Expected(self, checks, match)
