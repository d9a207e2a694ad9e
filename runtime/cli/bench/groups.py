"""What there is to measure: groups of rows that share their setup, and the suites of groups per chip and backend."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple
from runtime.cli.bench.measure import Loop, Spec

if TYPE_CHECKING:
    from runtime.api import Device

CHIPS = ("ascend910b1", "ascend950pr_9599")
"""One of each generation."""
Loops = Generator[Loop | None, None, None]
_FAKE_SHARE = 20
"""A launch on the fake takes about so many times what one takes on null://."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share their setup.

    Attributes:
        specs: the rows.
        loops: from the URL of a backend, their loops in the same order, each made when it is asked for; None for what
            the chip cannot do.
    """

    specs: tuple[Spec, ...]
    loops: Callable[[str], Loops]

    def entries(self, url: str, wanted: frozenset[str]) -> Generator[tuple[Spec, Loop | None], None, None]:
        """Yield the wanted rows with their loops; what they need is open until the iteration ends."""
        last = max((i for i, spec in enumerate(self.specs) if spec.name in wanted), default=-1)
        made = self.loops(url)
        try:
            for spec in self.specs[: last + 1]:
                loop = next(made)
                if spec.name in wanted:
                    yield spec, loop
        finally:
            made.close()


def group(*specs: Spec) -> Callable[[Callable[[Device], Iterable[Loop | None]]], Group]:
    """Make a group of a function that gives the loops for a device; the device is closed behind them."""

    def decorate(make: Callable[[Device], Iterable[Loop | None]]) -> Group:
        def loops(url: str) -> Loops:
            from runtime import Runtime

            machine = Runtime(url)
            try:
                yield from make(machine.device(0))
            finally:
                machine.close(force=True)

        return Group(specs, loops)

    return decorate


def group_of_urls(*specs: Spec) -> Callable[[Callable[[str], Loops]], Group]:
    """Make a group of a generator that opens its devices itself, from a URL."""
    return lambda loops: Group(specs, loops)


class Suite(NamedTuple):
    """The groups that are measured on one backend of one chip.

    Attributes:
        chip, backend: as in the rows.
        url: what is opened.
        groups: by name, so that another process finds them: "module:group".
        share: so many times fewer calls are made than on null://.
    """

    chip: str
    backend: str
    url: str
    groups: tuple[str, ...]
    share: int = 1


_OPERATIONS = tuple(
    f"operations:{name}" for name in ("codec", "launches", "triton", "batches", "tasks", "memory", "graphs")
)
_EXECUTED = "operations:executed"
_GROWTH = tuple(f"growth:{name}" for name in ("streams", "nodes", "threads"))
_ONCE = ("operations:watching", "resources:once", "resources:sizes")


def suites(*, compiled: bool) -> Iterator[Suite]:
    """Yield what there is; `compiled`: also with the calls of a launch in C."""
    for chip in CHIPS:
        if compiled:
            yield Suite(chip, "null, compiled", f"null://{chip}?compiled=1", _OPERATIONS)
        yield Suite(chip, "null", f"null://{chip}", (*_OPERATIONS, *_GROWTH, *_ONCE, "resources:starts"))
        yield Suite(chip, "fake", f"fake://{chip}", (*_OPERATIONS, _EXECUTED, "resources:starts"), _FAKE_SHARE)
        yield Suite(chip, "fake", f"fake://{chip}?free_run=1", ("growth:waiting",))
    yield Suite("-", "-", "", ("resources:imports",))


def find(name: str) -> Group:
    """Return a group by its name."""
    import importlib

    module, _, attribute = name.partition(":")
    found: Group = getattr(importlib.import_module(f"runtime.cli.bench.{module}"), attribute)
    return found


class Plan(NamedTuple):
    """A suite, and the names of the rows to measure in each of its groups."""

    suite: Suite
    wanted: dict[str, frozenset[str]]


def plans(found: Iterable[Suite], pattern: str = "", *, quick: bool = False) -> Iterator[Plan]:
    """Yield what is to be measured; nothing is set up for groups without a wanted row.

    Args:
        pattern: rows to measure, see `matches`; all if empty.
        quick: leave the largest sizes out.
    """
    for suite in found:
        wanted = {
            name: frozenset(
                spec.name
                for spec in find(name).specs
                if matches(pattern, spec.name, suite) and not (quick and spec.large)
            )
            for name in suite.groups
        }
        if any(wanted.values()):
            yield Plan(suite, {name: names for name, names in wanted.items() if names})


def matches(pattern: str, name: str, suite: Suite) -> bool:
    """Whether a row is meant: "NAME, CHIP, BACKEND" contains the pattern, or matches it as a whole if it has a `*`."""
    text, pattern = f"{name}, {suite.chip}, {suite.backend}".lower(), pattern.lower()
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]")) if "*" in pattern else pattern in text
