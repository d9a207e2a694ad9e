"""The command: see the package."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.tools.differential.programs import BEGINNING, END, Step, generate

Seen = list[list[Any]]
_LONGEST_S = 20
"""How long a program may take."""


class Side:
    """A process that runs programs; it is started again after a crash."""

    def __init__(self, url: str, library: str | None) -> None:
        self._command = [sys.executable, "-m", "tests.tools.differential.worker", *([library] if library else [])]
        self._environment = {**os.environ, "NPUHAL_URL": url}
        self._process: subprocess.Popen[str] | None = None

    def run(self, program: Sequence[Step]) -> Seen | str:
        """Return what is seen of a program's steps, or in words that the process did not survive it."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        steps = [[step.function, step.arguments] for step in (*BEGINNING, *program, *END)]
        try:
            self._process.stdin.write(json.dumps(steps) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        ready, _, _ = select.select([self._process.stdout], [], [], _LONGEST_S)
        if not ready:
            self._process.kill()
        if answer := self._process.stdout.readline():
            seen: Seen = json.loads(answer)
            return [*seen[len(BEGINNING) : len(BEGINNING) + len(program)], seen[-1]]
        status = self._ended()
        return f"the process ended with {status}" if ready else f"no answer in {_LONGEST_S} s"

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._ended()

    def _ended(self) -> int:
        """Close the pipes, upon which the process ends if it has not; returns its status."""
        process, self._process = self._process, None
        assert process is not None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return process.wait()


def difference(one: Seen | str, two: Seen | str) -> tuple[int, Any, Any] | None:
    """Return the first step in which two runs differ, with what each has seen; None where they are equal."""
    if isinstance(one, str) or isinstance(two, str):
        return None if one == two else (0, one if isinstance(one, str) else "", two if isinstance(two, str) else "")
    return next(((at, a, b) for at, (a, b) in enumerate(zip(one, two, strict=True)) if a != b), None)


def minimised(program: list[Step], one: Side, two: Side) -> list[Step]:
    """Return a part of a program that still makes a difference, from which no step can be left out."""
    at = len(program)
    while at:
        at -= 1
        shorter = program[:at] + program[at + 1 :]
        if difference(one.run(shorter), two.run(shorter)) is not None:
            program = shorter
    return program


def compare(url: str, library: str, programs: int, seed: int, length: int) -> tuple[int, list[str]]:
    """Run programs on both; returns how many were equal, and each difference in words."""
    ours, theirs = Side(url, None), Side(url, library)
    matched, texts = 0, []
    try:
        for number in range(programs):
            program = generate(f"{seed}/{number}", length)
            if difference(ours.run(program), theirs.run(program)) is None:
                matched += 1
                continue
            program = minimised(program, ours, theirs)
            found = difference(ours.run(program), theirs.run(program))
            steps = "".join(f"  {step}\n" for step in program)
            texts.append(f"program {number}:\n{steps}  {_told(program, found)}")
    finally:
        ours.close()
        theirs.close()
    return matched, texts


def _told(program: list[Step], found: tuple[int, Any, Any] | None) -> str:
    if found is None:
        return "differs now and then only"
    at, ours, theirs = found
    if at >= len(program):
        names = [name for name in ours[1] if ours[1][name] != theirs[1].get(name)]
        return f"host buffers differ: {', '.join(names)}"
    return f"step {at + 1}: here {ours}, the library {theirs}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print `matched M/N`, with each difference before it; 1 where there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.differential", description=__doc__)
    parser.add_argument("--library", help="a libascendcl.so; without it ours, through C")
    parser.add_argument("--chip", default="ascend910b3", help="SoC of the machine (default ascend910b3)")
    parser.add_argument("--url", help="machine, instead of fake://CHIP?devices=2")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--length", type=int, default=40, help="steps of a program")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    from runtime.capi.shim import build

    library = given.library or str(build.provide())
    url = given.url or f"fake://{given.chip}?devices=2"
    matched, texts = compare(url, library, given.programs, given.seed, given.length)
    for text in texts:
        print(text)
    print(f"matched {matched}/{given.programs}")
    return matched != given.programs


if __name__ == "__main__":
    sys.exit(main())
