"""The kinds of jobs, each a function of plain data that is called in a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.testing.campaigns.jobs import Failure, Result
from runtime.testing.campaigns.watching import watching
from runtime.testing.sweeps.cases import Case, Finding, SweepReport
from runtime.testing.sweeps.sweep import aside, cases_of
from runtime.testing.sweeps.trial import Program, try_case

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


def do(kind: str, facts: Mapping[str, Any]) -> Result:
    """Do a job in this process."""
    with watching() as coverage:
        result = KINDS[kind](**facts)
    result.coverage.add(coverage)
    if kind == "tests":  # each under several schedules, of which pytest reports one
        result.runs = max(result.runs, coverage.counts["schedules"].total())
    return result


# -- sweeps ------------------------------------------------------------------------------------------------------------


def plan(
    program: str, url: str, arguments: Sequence[str] = (), calls: Sequence[str] = (), codes: Sequence[str] = ()
) -> Result:
    """Find out which failures a sweep of a program consists of; `rows` has them."""
    called, own = _program(program, arguments)
    with _quiet():
        cases = cases_of(called, url, calls, codes, own=own)
    return Result(rows=[[each.nth, each.call, each.occurrence, each.code] for each in cases])


def sweep(program: str, url: str, cases: Sequence[Sequence[Any]], arguments: Sequence[str] = ()) -> Result:
    """Make some failures of a sweep.

    Args:
        program: `package.module:function`, or the path of a script.
    """
    called, own = _program(program, arguments)
    report = SweepReport()
    with aside(), _quiet():
        for row in cases:
            report.outcomes.append(try_case(called, url, Case(*row), own=own))
    result = Result(len(cases))
    for outcome in report.outcomes:
        result.coverage.counts["faults"][f"{outcome.case.call} {outcome.case.code}"] += 1
    for finding, count in report.causes():
        again = _repeat_case(program, url, finding, arguments)
        result.failures.append(Failure(finding.cause, str(finding), again, count))
    counts = report.counts
    counts.pop("cases")
    result.totals.update({name: number for name, number in counts.items() if number})
    return result


def _program(program: str, arguments: Sequence[str]) -> tuple[Program, bool]:
    """Return what to sweep, and whether it is a script, which expects the process's own runtime."""
    if program.endswith(".py") or ":" not in program:
        return lambda _: _run(program, arguments), True
    module, _, path = program.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = found[name] if isinstance(found, Mapping) else getattr(found, name)
    return found, False


def _run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as `npuhal run` does; what it raises is raised, and so is a status that is none of success."""
    import runpy
    import sys

    from runtime.capi import pyacl
    from runtime.capi.shim import by_name

    pyacl.offer()
    by_name.install()
    before, sys.argv = sys.argv, [script, *arguments]
    folder = str(Path(script).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        sys.argv = before


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep what scripts print to themselves."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _repeat_case(program: str, url: str, finding: Finding, arguments: Sequence[str]) -> str:
    case = finding.case
    row = [case.nth, case.call, case.occurrence, case.code]
    return (
        f'"""{case}."""\n\nimport os\n\nos.chdir({os.getcwd()!r})\n\n'
        f"from runtime.testing.campaigns.kinds import sweep\n\n"
        f"result = sweep({program!r}, {url!r}, [{row!r}], {list(arguments)!r})\n"
        f'print("\\n".join(each.text for each in result.failures) or "nothing went wrong")\n'
        f"raise SystemExit(bool(result.failures))\n"
    )


# -- tests -------------------------------------------------------------------------------------------------------------


def tests(targets: Sequence[str], seed: int, schedules: int, options: Sequence[str]) -> Result:
    """Run tests with a seed of its own for the fake's schedules and for Hypothesis, each under several schedules."""
    import pytest

    listener = _Listener(seed, schedules, options)
    wanted = [*targets, "-q", "-p", "no:cacheprovider", f"--npu-seed={seed}", f"--npu-schedules={schedules}", *options]
    with contextlib.suppress(ImportError):
        import hypothesis

        hypothesis.settings.register_profile(
            "campaign", hypothesis.settings(derandomize=False, database=None, deadline=None)
        )
        wanted += [f"--hypothesis-seed={seed}", "--hypothesis-profile=campaign"]
    with _quiet():
        status = pytest.main(wanted, plugins=[listener])
    result = listener.result
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        name = pytest.ExitCode(status).name.lower().replace("_", " ")
        again = listener.again(list(targets), "")
        result.failures.append(Failure(f"pytest: {name}", f"pytest ended with {name}", again))
    return result


class _Listener:
    """Hears what pytest reports."""

    def __init__(self, seed: int, schedules: int, options: Sequence[str]) -> None:
        self._options = [*options, f"--npu-seed={seed}", f"--npu-schedules={schedules}"]
        self._seed = seed
        self.result = Result()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test; keep what failed."""
        if report.when == "call":
            self.result.runs += 1
            self.result.totals[report.outcome] += 1
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message.splitlines()[0] if crash is not None else str(report.longrepr)[:200]
            where = f"{Path(crash.path).name}:{crash.lineno}" if crash is not None else ""
            test = report.nodeid.partition("[")[0]
            cause = f"{test} {where} {_NUMBER.sub('N', message)[:160]}"
            sections = dict(report.sections)
            script, line = sections.get("program", ""), sections.get("npu schedules", "").splitlines()[-1:]
            again = script or self.again([report.nodeid], line[0] if line and line[0].startswith("{") else "")
            self.result.failures.append(Failure(cause, f"{report.nodeid}: {message}\n{report.longreprtext}", again))

    def again(self, targets: list[str], schedule: str) -> str:
        """Return a program that runs tests again, under the schedule that a search has printed if it has."""
        head = '"""Repeats a failing test of a campaign."""\n\nimport os\nimport sys\n{more}\nimport pytest\n\n'
        head += f"os.chdir({os.getcwd()!r})\n"
        if not schedule:
            options = [*targets, *self._options, f"--hypothesis-seed={self._seed}"]
            return head.format(more="") + f"sys.exit(pytest.main({options!r}))\n"
        return head.format(more="import tempfile\n") + (
            f'with tempfile.NamedTemporaryFile("w", suffix=".replay") as schedule:\n'
            f"    schedule.write({schedule!r})\n    schedule.flush()\n"
            f'    sys.exit(pytest.main([*{targets!r}, f"--npu-replay={{schedule.name}}"]))\n'
        )


# -- chips -------------------------------------------------------------------------------------------------------------


def chips(names: Sequence[str], seeds: Sequence[int]) -> Result:
    """Validate chips, with random values drawn by each seed."""
    from chips import find_chip
    from chips.verify.validate import validate_chip

    result = Result()
    for name in names:
        for seed in seeds:
            report = validate_chip(find_chip(name), seed=seed)
            result.runs += 1
            result.totals["checks"] += sum(check.checked for check in report.checks)
            for hole in report.holes:
                again = (
                    f'"""{name}: {hole}."""\n\nfrom chips import find_chip\n'
                    f"from chips.verify.validate import validate_chip\n\n"
                    f"holes = validate_chip(find_chip({name!r}), seed={seed}).holes\n"
                    f'print("\\n".join(holes))\nraise SystemExit(bool(holes))\n'
                )
                result.failures.append(Failure(f"{report.generation} {_NUMBER.sub('N', hole)[:160]}", hole, again))
    return result


KINDS: Mapping[str, Callable[..., Result]] = {"plan": plan, "sweep": sweep, "tests": tests, "chips": chips}
