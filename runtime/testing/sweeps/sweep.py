"""The sweep: for each driver call of a program, and each code that it can give, one trial."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from runtime.testing.sweeps.cases import Case, SweepReport, plan
from runtime.testing.sweeps.trial import Program, calls_of, try_case

DEFAULT_URL = "fake://ascend910b3"
CHECKS = "leak,deadlock,uaf"
"""Checkers that are on where the URL names none."""

_MANY = 100
"""A function that one program calls more often is polled with, also where it was called as often a second time."""


def sweep(
    program: Program, url: str = DEFAULT_URL, *, calls: Iterable[str] = (), codes: Iterable[str | int] = (),
    sample: int = 0,
) -> SweepReport:
    """Let the n-th driver call of a program fail, for each n, and look at what is left each time.

    Args:
        program: takes a `Runtime` without an open device and does something on it; a generator has everything before
            its first `yield` made ready without a failure. It must leave nothing open, and check its own results: an
            AssertionError after a failure of which it was not told is a wrong result.
        url: the fake machine; all checkers that look for leaks and freed memory are on.
        calls: names of the functions that fail; by default all that the program calls.
        codes: what they answer, by number or name (`DRV_ERROR_BUSY`, `BUSY`); by default each code of the function in
            fakes/hal/codes.yaml.
        sample: try about so many cases only, spread evenly; 0: all.

    Raises:
        FakeError: an unknown function or code.
        Whatever the program raises without any failure.
    """
    url = checked(url)
    cases = cases_of(program, url, calls, codes)
    with aside():
        return SweepReport(try_case(program, url, case) for case in sampled(cases, sample))


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Take all objects that there are out of the collector's sight: each trial collects what is left of it alone."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def cases_of(
    program: Program, url: str, calls: Iterable[str] = (), codes: Iterable[str | int] = (), *, own: bool = False
) -> list[Case]:
    """Return the cases of a program on a machine, in the order of its calls; `own` as of `calls_of`."""
    from fakes.hal.codes import code_of, codes_of

    names, others = (calls_of(program, url, own=own) for _ in range(2))
    often = Counter(names), Counter(others)
    polled = {
        name for name in often[0] | often[1] if often[0][name] != often[1][name] or often[0][name] > _MANY
    }
    wanted = frozenset(calls)
    for name in wanted:
        codes_of(name)
    given = tuple(code_of(str(code)) for code in codes)
    table = {name: given or codes_of(name) for name in dict.fromkeys(names) if not wanted or name in wanted}
    return plan(names, table, polled)


def sampled(cases: Sequence[Case], count: int) -> Iterator[Case]:
    """Give about `count` of the cases, spread evenly; all where it is 0."""
    if not count or len(cases) <= count:
        yield from cases
        return
    for number in range(count):
        yield cases[number * len(cases) // count]


def checked(url: str) -> str:
    """Return a fake's URL with the checkers on that a sweep needs, unless it chooses some itself."""
    if "check=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}check={CHECKS}"
