"""Command line: runs the rows of a table whose condition is simple, and prints `matched M/N`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runtime.capi.aclrt.entry import Entry, find
from tests.tools.aclrt_checks.rows import CHIPS, TABLE, Row, read
from tests.tools.aclrt_checks.world import DEAD, FOREIGN, Lost, World

_LOST = "not made: "
_OWN = ("machine", "environment", "soc")
"""Keys of tests whose process is their own."""
_SPOILING = ("before", "fresh", "driver", *_OWN)
"""Keys of tests behind which a process is not as before."""
_BESIDES = ("before", "elsewhere", "fresh", "driver", "gives", *_OWN)
"""Keys of tests that say in which state the call is made, not with what."""
_SHORT = {"event": "evt", "model": "mdl", "stream": "stm"}
"""What entries of the runtime layer call their parameters."""


class Bench:
    """The worlds of a run; one that a call may have changed is made anew."""

    def __init__(self) -> None:
        self._worlds: dict[str, World] = {}

    def world(self, chip: str) -> World:
        """Return the process of a chip."""
        if chip not in self._worlds:
            self._worlds[chip] = World(chip)
        return self._worlds[chip]

    def discard(self, chip: str) -> None:
        """End the process of a chip: the next call gets another."""
        self._worlds.pop(chip).close()

    def close(self) -> None:
        """End all processes."""
        for chip in list(self._worlds):
            self.discard(chip)

    def run(self, row: Row, entry: Entry, chip: str) -> str:
        """Run one row on one chip; return "" or what is different."""
        test = row.test or {}
        if not test.keys().isdisjoint(_OWN):
            if chip in self._worlds:
                self.discard(chip)
            self._worlds[chip] = World(chip, test.get("machine", ""), test.get("environment"), test.get("soc", ""))
        world = self.world(chip)
        try:
            given = world.arguments(entry, test.get("value", ()))
            elsewhere, stream = prepare(world, entry, test, given)
            answer, message = world.call(entry, given, elsewhere=elsewhere)
            world.obey()
        except Lost as lost:
            self.discard(chip)
            return _LOST + str(lost)
        except Exception as error:  # whatever a call does that is no code is a difference
            self.discard(chip)
            return f"{type(error).__name__}: {error}"
        expected = test.get("gives", row.code)
        if isinstance(expected, str):
            expected = 0 if expected == "null" else int(expected, 0)
        different = "" if (answer or 0) == expected and message == row.message else (
            f"table {expected} {row.message or '-'}, ours {answer} {message or '-'}"
        )
        if stream or (answer == 0 and expected != 0):
            self.discard(chip)
        return different


def prepare(world: World, entry: Entry, test: dict[str, Any], given: dict[str, Any]) -> tuple[bool | str, bool]:
    """Change the arguments to what a test says; return whether another thread calls, and the world is spoilt."""
    spoilt = not test.keys().isdisjoint(_SPOILING)
    for function, arguments in test.get("before", ()):
        world.step(function, arguments)
    what, value = next((each for each in test.items() if each[0] not in _BESIDES), ("", None))
    if isinstance(value, str) and value not in given:
        value = _SHORT.get(value, value)
    if what == "null":
        parameter = next((each for each in entry.arguments if each.name == value), None)
        if parameter is None:
            raise Lost(f"no parameter {value}")
        given[value] = None if parameter.output or parameter.kind in ("Text", "Callback", "Info") else 0
    elif what == "zero":
        if value not in given:
            raise Lost(f"no parameter {value}")
        given[value] = 0
    elif what == "dead":
        given[value] = DEAD
    elif what == "foreign":
        usual = "model" if value in ("modelRI", "mdl") else "stream"
        given[value] = world.foreign(FOREIGN.get((entry.name, value), usual))
    elif what == "context":
        if value == "default":
            given["stream"] = 0
        return True, spoilt
    elif what == "captured":
        given[value] = world.captured()
        return False, True
    elif what == "held":
        stream = world.held()
        if value in given:
            given[value] = stream
        return False, True
    elif what == "bound":
        given[value] = world.bound()
    elif what == "value":
        for name, each in value.items():
            if name not in given:
                raise Lost(f"no parameter {name}")
            given[name] = world.built(each)
    elif what not in ("plain", ""):
        raise Lost(f"no such test: {what}")
    for name, code in test.get("driver", {}).items():
        world.acl.runtime.hal.fake.faults.on_call(name, code, times=0)
    return test.get("elsewhere", False), spoilt or test.get("elsewhere") == "context"


def check(
    rows: Iterable[Row], *, only: str = "", quiet: bool = False, chips: Iterable[str] = CHIPS, sparing: bool = False
) -> tuple[int, int, int]:
    """Run rows; return how many matched, how many ran, and how many have no test.

    Args:
        sparing: a row that spoils the process of a chip, so that another is made, runs on one of the chips in turn.
    """
    bench, matched, ran, skipped = Bench(), 0, 0, 0
    wanted = tuple(chips)
    for row in rows:
        if only not in row.function:
            continue
        if row.test is None:
            skipped += 1
            continue
        entry = find(row.function)
        if entry is None:
            problems = ["no entry"]
        else:
            on = [chip for chip in row.chips if chip in wanted]
            if sparing and not row.test.keys().isdisjoint(_SPOILING):
                on = on[ran % max(len(on), 1) :][:1]
            answers = {chip: bench.run(row, entry, chip) for chip in on}
            lost = [chip for chip, found in answers.items() if found.startswith(_LOST)]
            if answers and len(lost) == len(answers) and row.derived:  # no chip has what the words speak of
                skipped += 1
                continue
            if len(lost) < len(answers) or not answers:  # a chip that lacks what the call is about does not get there
                answers = {chip: found for chip, found in answers.items() if chip not in lost}
            problems = [f"{chip}: {found}" for chip, found in answers.items() if found]
        ran += 1
        matched += not problems
        if problems and not quiet:
            print(f"{row.function}[{row.number}] {row.when}: {'; '.join(problems)}")
    bench.close()
    return matched, ran, skipped


def main(arguments: list[str] | None = None) -> int:
    """Run a table; 1 when a row is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.aclrt_checks", description=__doc__)
    parser.add_argument("table", nargs="?", type=Path, default=TABLE, help="table (default: ours)")
    parser.add_argument("--only", default="", help="only functions whose name contains this")
    parser.add_argument("--chip", action="append", choices=sorted(CHIPS), help="only these chips (default: all)")
    parser.add_argument("--quiet", action="store_true", help="totals only")
    parsed = parser.parse_args(arguments)
    matched, ran, skipped = check(
        read(parsed.table), only=parsed.only, quiet=parsed.quiet, chips=parsed.chip or tuple(CHIPS)
    )
    print(f"not reached {skipped}")
    print(f"matched {matched}/{ran}")
    return 0 if matched == ran else 1


if __name__ == "__main__":
    sys.exit(main())
