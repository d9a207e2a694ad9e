"""Rows of the table: what a row's `test:` says, and the test that follows from a condition in words.

`test:` is a mapping with one of these keys:
    null: NAME          the parameter is NULL (zero: NAME, it is 0), the others are as they should be
    dead: NAME          the handle is one of another kind
    foreign: NAME       the stream or model belongs to another context
    context: none       the thread has no context; `context: default` passes NULL for the stream besides
    value: {NAME: N}    the parameters have these values; "set" is an address
    captured: NAME      the stream is being captured
    held: NAME          the stream has work that the device does not do
    bound: NAME         the stream is bound to a model
    plain: true         everything is as it should be: the chip is what it is refused for
and besides it:
    before: [[F, {NAME: N}], ...]   these calls are made first and succeed; what they give is $NAME from then on
    elsewhere: true                 the call is made on a thread without a context; `elsewhere: context` on one with one
    driver: {HAL: CODE}             the driver's calls of that name answer the code
    machine: OPTIONS                the fake has these options of its URL
    environment: {NAME: VALUE}      the process is started with these variables
    soc: NAME                       the fake is of this SoC, which lacks what the row is about; one chip stands for all
    gives: N                        what `mapped` or `code` in the row is for this test
    fresh: true                     nothing else uses the process afterwards
A value is a number, a text, "$NAME", or {thing: X} one of each kind, {fresh: X} a new one, {foreign: X} one of another
context, {words: [...]} and {halves: [...]} memory of 64-bit and 32-bit numbers, {plus: [V, N]} a number N behind
another, {file: TEXT} the path of a file, {numbers: [...]} a dim3; {chars: TEXT} the address of a text,
{condition: [handle, type, size]} parameters of a conditional node, {world: X} an attribute of the world.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("table.yaml")
"""Our copy."""
CHIPS = {"910B1": "910", "910_9391": "910", "950": "950"}
"""Chips that rows run on, and what rows call them."""
_NUMBER = r"-?(?:0x[0-9a-f]+|\d+)"


@dataclass(frozen=True, slots=True)
class Row:
    """One check of a function."""

    function: str
    number: int
    """Its place, from 1."""
    when: str
    code: Any
    message: str
    """The id of the message, "" for none."""
    chip: str
    test: dict[str, Any] | None
    derived: bool = False
    """Whether the test is what its words allow, not one that the table gives."""
    chips: tuple[str, ...] = ()
    """The chips that get to the row."""

    def __post_init__(self) -> None:
        if not self.chips:
            named = [name for name, family in CHIPS.items() if self.chip in ("", family, name)]
            object.__setattr__(self, "chips", tuple(named))


def read(path: Path) -> Iterator[Row]:
    """Read the rows of a table.

    A row without `test:` or `reason:` gets the test that our table has for the same condition of the function, else the
    one that its words allow. What is `functions:` in ours may also be the whole file.
    """
    ours = [] if path == TABLE else list(read(TABLE))
    known = {(row.function, _plain(row.when)): row.test for row in ours if row.test}
    known.update({(row.function, row.when): row.test for row in ours})
    table = _loaded(path)
    for function, entry in table.get("functions", table).items():
        refused: set[str] = set()  # chips that lack what the function is about do not get to the rows behind that one
        for number, row in enumerate((entry or {}).get("checks") or [], 1):
            when, test = str(row.get("when", "")), row.get("test")
            if test is None and "reason" not in row:
                test = known.get((function, when)) or known.get((function, _plain(when))) or derive(when)
            message = str(row.get("err") or "none")
            chip, derived = str(row.get("chip") or ""), "test" not in row
            found = Row(
                function, number, when, row.get("ret", 0), "" if message == "none" else message, chip, test, derived
            )
            chips = [chip for chip in found.chips if chip not in refused]
            if test is not None and "soc" in test:
                chips = chips[:1]
            yield found if len(chips) == len(found.chips) else replace(
                found, chips=tuple(chips), test=test if chips else None
            )
            if test is not None and "plain" in test and test.keys().isdisjoint(("soc", "machine")):
                refused.update(chips)


def _loaded(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def _plain(when: str) -> str:
    """Return a condition without its remarks, so that a table which words them otherwise has the same one."""
    return re.sub(r"\s*\(.*\)", "", when).strip().lower()


def derive(when: str) -> dict[str, Any] | None:
    """Return the test of a condition in words, or None where it is not simple."""
    for pattern, make in _PATTERNS:
        match = re.fullmatch(pattern, when)
        if match is not None:
            return make(match)
    return None


def _value(name: str, value: Any) -> dict[str, Any]:
    return {"value": {name: value}}


def _integer(text: str) -> int:
    return int(text, 0)


_REMARK = r"(?: \(.*\))?"
_PATTERNS: list[tuple[str, Any]] = [
    (rf"(\w+) is null{_REMARK}", lambda m: {"null": m[1]}),
    (rf"no current context \(only for a null stream\){_REMARK}", lambda m: {"context": "default"}),
    (r"stream is null and there is no current context", lambda m: {"context": "default"}),
    (rf"no current (?:context|device){_REMARK}", lambda m: {"context": "none"}),
    (rf"(?:the )?(\w+) is not null and is dead, foreign or of another kind{_REMARK}", lambda m: {"dead": m[1]}),
    (rf"(?:the )?(\w+) belongs to another context than the current one{_REMARK}", lambda m: {"foreign": m[1]}),
    (rf"(\w+) == ({_NUMBER}){_REMARK}", lambda m: _value(m[1], _integer(m[2]))),
    (rf"(\w+) (?:!=|is not) ({_NUMBER})(?: \([^()]*\))?", lambda m: _value(m[1], _integer(m[2]) + 1)),
    (rf"(\w+) > ({_NUMBER}){_REMARK}", lambda m: _value(m[1], _integer(m[2]) + 1)),
    (rf"(\w+) < ({_NUMBER})(?: or \w+ .*)?{_REMARK}", lambda m: _value(m[1], _integer(m[2]) - 1)),
    (rf"(\w+) is not null{_REMARK}", lambda m: _value(m[1], "set")),
    (rf"(\w+) (?:is )?(?:neither|not|outside|no) {_NUMBER}.*", lambda m: _value(m[1], 77)),
    (r"(?:the )?(stream) is (?:already )?being captured", lambda m: {"captured": m[1]}),
    (r"(?:the )?(stream) is (?:already )?bound to a model", lambda m: {"bound": m[1]}),
    (r"(deviceId) (?:is )?not in the visible list.*", lambda m: _value(m[1], 999)),
    (r"(deviceId) >= number of devices", lambda m: _value(m[1], 999)),
    (r"(\w+) (?:is not|is no|not one of|not a) (?:known|one of).*", lambda m: _value(m[1], 77)),
    (r"chip without (?:counting notifies|cmo descriptor|SIMT|device groups|the inter-core sync address).*",
     lambda m: {"plain": True}),
]
"""Conditions that need nothing but arguments, a thread, a context, a capture or a binding."""
