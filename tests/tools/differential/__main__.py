"""The command: see the package."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.tools.differential.calls import anything, drawable
from tests.tools.differential.named import is_named
from tests.tools.differential.programs import BEGINNING, END, Step, generate

Seen = list[Any]
_LONGEST_S = 20
"""How long a program may take."""


class Side:
    """A process that runs programs; it is started again after a crash."""

    def __init__(self, url: str, library: str | None) -> None:
        self._command = [sys.executable, "-m", "tests.tools.differential.worker", *([library] if library else [])]
        self._environment = {**os.environ, "NPUHAL_URL": url, "PYTHONPATH": os.getcwd()}
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # for what programs write to files
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = Lines(None)

    def run(self, program: Sequence[Step]) -> Seen:
        """Return what is seen of a program's steps; the last is text where the process did not survive it."""
        process = self._started()
        steps = [[step.function, step.arguments, step.thread] for step in (*BEGINNING, *program, *END)]
        with contextlib.suppress(BrokenPipeError):
            _send(process, steps)
        seen: Seen = []
        for _ in range(len(steps) + 1):
            if (answer := self._lines.next(_LONGEST_S)) is None:
                process.kill()
                self._ended()
                return [*seen[len(BEGINNING):], f"no answer in {_LONGEST_S} s"]
            if not answer:
                return [*seen[len(BEGINNING):], f"the process ended with {self._ended()}"]
            seen.append(json.loads(answer))
        return [*seen[len(BEGINNING) : len(BEGINNING) + len(program)], seen[-1]]

    def has(self, functions: Iterable[str]) -> list[str]:
        """Return which of these functions there are."""
        _send(self._started(), {"has": list(functions)})
        found: list[str] = json.loads(self._lines.next(_LONGEST_S) or b"[]")
        return found

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the process, which is started where there is none."""
        if self._process is None:
            self._folder = tempfile.TemporaryDirectory()
            self._process = subprocess.Popen(
                self._command, env=self._environment, cwd=self._folder.name, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self._lines = Lines(self._process.stdout)
        return self._process

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
        try:
            return process.wait(_LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            if self._folder is not None:
                self._folder.cleanup()


def _send(process: subprocess.Popen[bytes], asked: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()


class Lines:
    """Lines of a pipe, each waited for as long as is said."""

    def __init__(self, pipe: Any) -> None:
        self._pipe, self._read = pipe, b""

    def next(self, limit_s: float) -> bytes | None:
        """Return the next line; b"" at the end, None when there is none in time."""
        while b"\n" not in self._read:
            if not select.select([self._pipe], [], [], limit_s)[0]:
                return None
            if not (more := os.read(self._pipe.fileno(), 1 << 16)):
                return b""
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line


def difference(
    one: Seen, two: Seen, *, survives: bool = True, program: Sequence[Step] = ()
) -> tuple[int, Any, Any] | None:
    """Return the first step in which two runs differ, with what each has seen; None where they are equal.

    A function that one of them does not have (None) differs in nothing. Unless `survives`, neither does the rest of a
    program that the second one has not survived. What follows a difference that is named is not compared.

    Args:
        program: its steps, to tell differences that docs/differences.md names.
    """
    for at, (a, b) in enumerate(zip(one, two, strict=False)):
        if a == b or a is None or b is None or (isinstance(b, str) and not survives):
            continue
        if not isinstance(a, str) and not isinstance(b, str) and a[:2] == b[:2] and None in (a[2], b[2]):
            continue  # one of them does not tell its messages
        if at < len(program) and not isinstance(a, str) and is_named(program[at], a, b):
            return None
        return at, a, b
    return None


def both(program: Sequence[Step], one: Side, two: Side) -> tuple[Seen, Seen]:
    """Run a program on two sides, which begin anew where one of them has not survived it: so they stay alike."""
    seen = one.run(program), two.run(program)
    if any(isinstance(each[-1], str) for each in seen):
        one.close()
        two.close()
    return seen


def minimised(program: list[Step], one: Side, two: Side, *, survives: bool = True) -> list[Step]:
    """Return a part of a program that still makes a difference, from which no step can be left out."""
    at = len(program)
    while at:
        at -= 1
        shorter = program[:at] + program[at + 1 :]
        if difference(*both(shorter, one, two), survives=survives, program=shorter) is not None:
            program = shorter
    return program


def compare(
    url: str, library: str, programs: int, seed: int, length: int, functions: Sequence[str] | None = None
) -> tuple[int, list[str]]:
    """Run programs on both; returns how many were equal, and each difference in words.

    Args:
        url: the machine.
        library: what is compared with the entries in Python.
        programs: how many.
        seed: which ones.
        length: steps of a program.
        functions: let the programs call these functions with arguments of any kind, all functions where none is named;
            what the library does not survive is then no difference.
    """
    ours, theirs = Side(url, None), Side(url, library)
    matched, texts, survives = 0, [], functions is None
    try:
        if functions is not None:  # what only one of them has leads to different states
            functions = theirs.has(functions or drawable())
        for number in range(programs):
            named = f"{seed}/{number}"
            program = generate(named, length) if functions is None else anything(named, length, functions)
            if difference(*both(program, ours, theirs), survives=survives, program=program) is None:
                matched += 1
                continue
            program = minimised(program, ours, theirs, survives=survives)
            found = difference(*both(program, ours, theirs), survives=survives, program=program)
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
    if at >= len(program) and not isinstance(ours, str) and not isinstance(theirs, str):
        names = [name for name in ours[1] if ours[1][name] != theirs[1].get(name)]
        return f"host buffers differ: {', '.join(names)}"
    return f"step {at + 1}: here {ours}, the library {theirs}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print `matched M/N`, with each difference before it; 1 where there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.differential", description=__doc__)
    parser.add_argument("--library", help="a libascendcl.so; without it ours, through C")
    parser.add_argument("--chip", default="ascend910b3", help="SoC of the machine (default ascend910b3)")
    parser.add_argument("--url", help="machine, instead of fake://CHIP?devices=2&kernels=noop")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--length", type=int, default=40, help="steps of a program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", nargs="*", metavar="FUNCTION", help="calls of these functions, or of all of them")
    given = parser.parse_args(arguments)
    from runtime.capi.shim import build

    library = str(Path(given.library).resolve()) if given.library else str(build.provide())
    url = given.url or f"fake://{given.chip}?devices=2&kernels=noop"
    matched, texts = compare(url, library, given.programs, given.seed, given.length, given.every)
    for text in texts:
        print(text)
    print(f"matched {matched}/{given.programs}")
    return matched != given.programs


if __name__ == "__main__":
    sys.exit(main())
