"""Comparing two trees in one run: samples of both alternate, so that the machine's moods reach both alike.

Each tree is measured by processes of its own (`runtime.cli.bench.child`), of which only one works at a time. After a
few pairs both are started anew: where a process happens to lie in memory makes a per cent or two, and is not the
tree's.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from npuhal.records import dataclass
from runtime.cli.bench import images
from runtime.cli.bench.child import PACKAGES
from runtime.cli.bench.groups import Plan, find
from runtime.cli.bench.measure import Spec
from runtime.cli.parser import UsageError

PAIRS = 15
"""Fewer than these do not count as a paired measurement."""
LEAST_PAIRS = 6
"""With fewer no two of the ratios enclose the median with 95 %."""
SLOWER = 1.03
"""The most that a median ratio may be, unless its interval contains 1."""
_PAIRS_PER_PROCESS = 3
_ANSWER_WITHIN_S = 300
_BOOT = """
import sys, runtime.cli
runtime.cli.__path__.insert(0, sys.argv[1])
import json
from runtime.cli.bench.child import main
main(sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
"""


class ChildFailed(RuntimeError):
    """A measuring process ended, hung, or measured another tree than it was started for."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One row measured on both trees.

    Attributes:
        ours, theirs: the medians of this tree and of the other one, per call, in `unit`; 0 where one is missing.
        ratio: the median of ours / theirs over the pairs; below 1 this tree costs less.
        low, high: its 95 % interval, by order statistics.
        calls: per sample.
        missing: why a tree could not be measured, empty if both were.
        here: whether this tree could be measured.
    """

    name: str
    chip: str
    backend: str
    unit: str
    ours: float = 0.0
    theirs: float = 0.0
    ratio: float = 0.0
    low: float = 0.0
    high: float = 0.0
    pairs: int = 0
    calls: int = 0
    missing: str = ""
    here: bool = True

    @property
    def passed(self) -> bool | None:
        """Whether this tree is no slower; None where only it can do the row at all."""
        if self.missing:
            return None if self.here else False
        return self.ratio <= SLOWER or self.low <= 1.0 <= self.high


def checkout(text: str) -> Path:
    """Return the folder of another tree; UsageError unless its four packages are there."""
    root = Path(text).resolve()
    for name in PACKAGES:
        if not (root / name / "__init__.py").is_file():
            raise UsageError(
                f"--against {text}: no package '{name}' in it",
                f"name the top folder of a checkout: it holds {', '.join(PACKAGES)}",
            )
    return root


def here() -> Path:
    """Return the folder that the packages of this tree lie in."""
    return Path(__file__).resolve().parents[3]


def compare(
    plans: Iterable[Plan], ours: Path, theirs: Path, *, pairs: int = PAIRS, sample_ns: float = 20e6
) -> Iterator[Pairing]:
    """Measure all planned rows on both trees and yield each, suite by suite.

    Args:
        pairs: per row, at least `LEAST_PAIRS`.
        sample_ns: about how much CPU time a sample takes.
    """
    with tempfile.TemporaryDirectory(prefix="npuhal-bench-") as folder:
        images.write(Path(folder))
        for plan in plans:
            yield from _Suite(plan, (ours, theirs), pairs, sample_ns, folder).measured()


class _Suite:
    """The rows of one plan, measured by several pairs of processes."""

    def __init__(
        self, plan: Plan, trees: tuple[Path, Path], pairs: int, sample_ns: float, folder: str
    ) -> None:
        self.suite, self.trees, self.pairs, self.sample_ns, self.folder = plan.suite, trees, pairs, sample_ns, folder
        self.wanted = {name: sorted(names) for name, names in plan.wanted.items()}
        self.specs = [spec for name in self.wanted for spec in find(name).specs if spec.name in plan.wanted[name]]
        self.calls: dict[str, int] = {}
        self.samples: dict[str, list[tuple[float, float]]] = {spec.name: [] for spec in self.specs}
        self.missing: dict[str, tuple[str, str]] = {}

    def measured(self) -> Iterator[Pairing]:
        done = 0
        while done < self.pairs:
            count = min(_PAIRS_PER_PROCESS, self.pairs - done)
            with ExitStack() as stack:
                children = [
                    stack.enter_context(_Child(tree, self.suite.url, self.wanted, self.folder)) for tree in self.trees
                ]
                for spec in self.specs:
                    self._row(children[0], children[1], spec, range(done, done + count))
            done += count
        return map(self._pairing, self.specs)

    def _row(self, ours: _Child, theirs: _Child, spec: Spec, numbers: range) -> None:
        reasons = (ours.next(spec), theirs.next(spec))
        if any(reasons):
            self.missing[spec.name] = reasons
            return
        if spec.name not in self.calls:
            self.calls[spec.name] = 1 if spec.single else self._enough(ours, theirs)
        calls = self.calls[spec.name]
        for child in (ours, theirs):  # a warm-up
            child.sample(max(calls // 10, 1))
        for number in numbers:
            first, second = (ours, theirs) if number % 2 else (theirs, ours)
            found = {first: first.sample(calls)["value"], second: second.sample(calls)["value"]}
            self.samples[spec.name].append((found[ours] / spec.share, found[theirs] / spec.share))

    def _enough(self, ours: _Child, theirs: _Child) -> int:
        """Return how many calls a sample needs: the clock and one interrupt must not show in it."""
        calls = 1
        while True:
            spent = min(child.sample(calls)["cpu_ns"] for child in (ours, theirs))
            if spent * 4 >= self.sample_ns or calls >= 1 << 24:
                return max(round(calls * self.sample_ns / max(spent, 1)), 1)
            calls *= 2 if spent * 20 >= self.sample_ns else 8

    def _pairing(self, spec: Spec) -> Pairing:
        head = (spec.name, self.suite.chip, self.suite.backend, spec.unit)
        if spec.name in self.missing:
            ours, theirs = self.missing[spec.name]
            texts = [f"{who}: {why}" for who, why in (("here", ours), ("there", theirs)) if why]
            return Pairing(*head, missing="; ".join(texts), here=not ours)
        found = self.samples[spec.name]
        ratios = [_ratio(*pair) for pair in found]
        ours_middle, theirs_middle = (statistics.median(side) for side in zip(*found, strict=True))
        return Pairing(
            *head, ours_middle, theirs_middle, statistics.median(ratios), *interval(ratios), len(found),
            self.calls[spec.name],
        )  # fmt: skip


def _ratio(ours: float, theirs: float) -> float:
    """Return ours / theirs, also where a difference or a share of a core came out as nothing."""
    if theirs > 0:
        return max(ours, 0.0) / theirs
    return math.inf if ours > 0 else 1.0


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the narrowest two order statistics, as far from both ends, that enclose the median with 95 % or more.

    This needs no assumption on how the ratios are distributed, and no random numbers.
    """
    ordered, count = sorted(ratios), len(ratios)
    outside, rank = 0.0, 0
    while rank < count // 2:
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 0.05:
            break
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[count - max(rank, 1)]


class _Child:
    """A process that measures one tree."""

    def __init__(self, root: Path, url: str, wanted: dict[str, list[str]], folder: str) -> None:
        self.root, self.told = root, b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        environment = {**os.environ, "PYTHONPATH": str(root)}
        for name in ("NPUHAL_URL", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(Path(__file__).resolve().parents[1]), url, json.dumps(wanted), folder],
            cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def __enter__(self) -> _Child:
        try:
            found = self._answer()
            for name, file in found.items():
                if not Path(file).is_relative_to(self.root):
                    raise ChildFailed(f"the process for {self.root} has '{name}' from {file}: nothing was measured")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()

    def next(self, spec: Spec) -> str:
        """Go on to a row; returns why this tree cannot do it, or nothing."""
        answer = self._ask({"next": 1})
        assert answer["name"] == spec.name, f"both sides go through the same rows: {answer['name']}, not {spec.name}"
        return str(answer["missing"])

    def sample(self, calls: int) -> dict[str, float]:
        """Return the CPU time of so many calls, and the cost of one."""
        return self._ask({"calls": calls})

    def _ask(self, request: dict[str, int]) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self._fail("ended")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.told:
                if not selector.select(_ANSWER_WITHIN_S):
                    self._fail(f"did not answer within {_ANSWER_WITHIN_S} s")
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    self._fail("ended")
                self.told += part
        line, _, self.told = self.told.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _fail(self, what: str) -> None:
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip()
        raise ChildFailed(f"the process that measures {self.root} {what}" + (f":\n{said[-2000:]}" if said else ""))
