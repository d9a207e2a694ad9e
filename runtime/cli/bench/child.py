"""The process that measures one tree for `npuhal bench --against`: it makes samples when it is asked for them.

It runs on the packages of the checkout that it is started for, but the rows are those of this folder, so that both
trees are measured by one text. That text uses public names only; what an older tree lacks is reported, row by row.

Requests and answers are lines of JSON. The first line that it writes says where its packages come from. `{"next": 1}`
goes on to the next row of the plan; the answer has its name, or the reason why this tree cannot do it. `{"calls": N}`
takes one sample.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import IO, Any

from runtime.cli.bench import images
from runtime.cli.bench.groups import find
from runtime.cli.bench.measure import Loop, Spec

PACKAGES = ("npuhal", "chips", "runtime", "fakes")


def main(url: str, wanted: Mapping[str, list[str]], folder: str) -> None:
    """Serve requests until the input ends.

    Args:
        url: the backend to open.
        wanted: per group the rows to measure.
        folder: where the kernel files are.
    """
    # What the tree under test prints must not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _answer(answers, {name: str(importlib.import_module(name).__file__) for name in PACKAGES})
    images.read(Path(folder))
    rows = _rows(url, wanted)
    loop: Loop | None = None
    with contextlib.closing(rows):
        for line in sys.stdin:
            request = json.loads(line)
            if "next" in request:
                gc.enable()
                spec, loop, reason = next(rows)
                gc.collect()
                gc.disable()
                _answer(answers, {"name": spec.name, "missing": reason})
                continue
            assert loop is not None, "a sample of a row that this tree cannot do"
            _answer(answers, _sample(loop, request["calls"]))


def _sample(loop: Loop, calls: int) -> dict[str, float]:
    began = time.process_time_ns()
    told = loop(calls)
    spent = time.process_time_ns() - began
    return {"cpu_ns": spent, "value": spent / calls if told is None else told}


def _rows(url: str, wanted: Mapping[str, list[str]]) -> Generator[tuple[Spec, Loop | None, str], None, None]:
    """Yield each wanted row with its loop, or None and the reason; a group that fails has no further loops."""
    for name, names in wanted.items():
        group = find(name)
        left = [spec for spec in group.specs if spec.name in names]
        reason = ""
        try:
            for spec, loop in group.entries(url, frozenset(names)):
                left.remove(spec)
                yield spec, loop, "" if loop else "not supported by the backend"
        except Exception as problem:  # of the tree under test: any
            reason = f"{type(problem).__name__}: {problem}"
        for spec in left:
            yield spec, None, reason


def _answer(answers: IO[str], what: Mapping[str, Any]) -> None:
    print(json.dumps(what), file=answers, flush=True)
