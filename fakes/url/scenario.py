"""Machines in YAML: `fake://scenario=NAME`, with a shipped name or the path of a file.

    spec: "1.0"                    # version of this format
    about: what the machine stands for, in a line
    soc: Ascend910B3
    devices: 8
    memory: 64g                    # of each card
    topology: hccs                 # how cards are joined: mixed, hccs, switch, pcie
    limits: {streams: 64}          # ids of a kind per card, where other than the chip's
    options: {args: ub}            # any other option of a fake's URL
    faults: [{card: 4, device: 1}] # rules, see `fakes.url.rules`
    holders:                       # others who use the cards
      - {device: 0, who: a trainer, memory: 60g, ids: {streams: 1900}, alone: false}

All keys but `spec` may be left out; options of the URL go before those of the file. A file that is a list holds only
rules. What is wrong is reported as file:path:key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.schema import SchemaError, read_yaml
from fakes.errors import FakeError
from fakes.machine.ids import ID_KINDS
from fakes.url import rules
from fakes.url.options import parse, size
from npuhal.errors import BadUrl
from npuhal.loader import HalUrl
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

SPEC_VERSION = "1.0"
FOLDER = Path(__file__).parent / "scenarios"
"""Where the shipped ones are."""
_OPTIONS = {"devices": "devices", "memory": "hbm", "topology": "topology"}
"""Key of a file -> option of a URL."""
_KEYS = frozenset(("spec", "about", "soc", *_OPTIONS, "limits", "options", "faults", "holders"))
_HOLDER_KEYS = frozenset(("device", "who", "memory", "ids", "alone"))
_FILES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody else who uses a card."""

    device: int = 0
    who: str = "another process"
    memory: int = 0
    """Bytes."""
    ids: Mapping[str, int] = field(default_factory=dict)
    """Kind -> how many."""
    alone: bool = False
    """Whether nobody else can open the card."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A machine file, read and checked."""

    path: Path
    about: str = ""
    soc: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of a URL, as text."""
    faults: tuple[Any, ...] = ()
    holders: tuple[Holder, ...] = ()
    only_rules: bool = False

    def apply(self, machine: Machine) -> None:
        """Put rules and holders in force; SchemaError says which one is wrong."""
        for number, rule in enumerate(self.faults):
            try:
                rules.apply(machine, rule)
            except FakeError as wrong:
                where = f"[{number}]" if self.only_rules else f"faults[{number}]"
                raise SchemaError(self.path, where, str(wrong)) from None
        for number, holder in enumerate(self.holders):
            if not 0 <= holder.device < len(machine.devices):
                raise SchemaError(self.path, f"holders[{number}].device", f"there is no device {holder.device}")
            self._hold(machine, holder, f"holders[{number}]")

    def _hold(self, machine: Machine, holder: Holder, where: str) -> None:
        card = machine.devices[holder.device]
        budgets = machine.memory.budgets[holder.device].values()
        total = sum(budget.total for budget in budgets)
        if holder.memory > total:
            raise SchemaError(self.path, f"{where}.memory", f"the card has only {total} bytes")
        for budget in budgets:
            budget.others += budget.total * holder.memory // total
        if machine.shared is None or machine.shared.table.fresh:
            for kind, count in holder.ids.items():
                card.ids[kind].occupy(count)
        if holder.alone:
            card.busy_with = holder.who


def shipped() -> Iterator[Scenario]:
    """Yield the scenarios of the package by name."""
    return (read(path) for path in sorted(FOLDER.glob("*.yaml")))


def find(name: str) -> Scenario:
    """Return a scenario by a shipped name, or by the path of its file, which ends in .yaml.

    Raises:
        BadUrl: there is no such name.
        SchemaError: the file is wrong, or not there.
    """
    if name.endswith(_FILES):
        return read(Path(name))
    path = FOLDER / f"{name}.yaml"
    names = sorted(each.stem for each in FOLDER.glob("*.yaml"))
    if name not in names:
        raise BadUrl(f"scenario={name!r} is neither a file that ends in .yaml nor one of {', '.join(names)}")
    return read(path)


def read(path: Path) -> Scenario:
    """Read and check a file; SchemaError says what is wrong as file:path:key."""
    try:
        raw = read_yaml(path)
    except OSError as wrong:
        raise SchemaError(path, "", wrong.strerror or str(wrong)) from None
    if isinstance(raw, list):
        return Scenario(path, faults=tuple(raw), only_rules=True)
    _known(path, "", raw, _KEYS)
    if str(raw.get("spec")).partition(".")[0] != SPEC_VERSION.partition(".")[0]:
        raise SchemaError(path, "spec", f"{raw.get('spec')!r} is not a version that begins like {SPEC_VERSION}")
    options = {option: (key, raw[key]) for key, option in _OPTIONS.items() if key in raw}
    limits = _known(path, "limits", raw.get("limits", {}), {f"{kind}s" for kind in ID_KINDS})
    options |= {kind: (f"limits.{kind}", count) for kind, count in limits.items()}
    more = _known(path, "options", raw.get("options", {}), None)
    options |= {name: (f"options.{name}", value) for name, value in more.items()}
    texts = {option: _checked(path, key, option, value) for option, (key, value) in options.items()}
    faults, holders = (_list(path, key, raw.get(key, [])) for key in ("faults", "holders"))
    return Scenario(
        path, str(raw.get("about", "")), str(raw.get("soc", "")), texts, tuple(faults),
        tuple(_holder(path, f"holders[{number}]", each) for number, each in enumerate(holders)),
    )


def _known(path: Path, key: str, value: Any, known: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(path, key, f"a mapping is expected, not {value!r}")
    for name in value:
        if known is not None and name not in known:
            where = f"{key}.{name}" if key else str(name)
            raise SchemaError(path, where, f"unknown; known are {', '.join(sorted(known))}")
    return value


def _list(path: Path, key: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(path, key, f"a list is expected, not {value!r}")
    return value


def _checked(path: Path, key: str, option: str, value: Any) -> str:
    """Return an option as text, after it was looked at as it would be in a URL."""
    text = str(int(value) if isinstance(value, bool) else value)
    try:
        parse(HalUrl(key, "fake", "", {option: text}))
    except BadUrl as wrong:
        raise SchemaError(path, key, str(wrong).partition(": ")[2]) from None
    return text


def _holder(path: Path, where: str, raw: Any) -> Holder:
    given = dict(_known(path, where, raw, _HOLDER_KEYS))
    if "memory" in given:
        try:
            given["memory"] = size(str(given["memory"]))
        except ValueError as wrong:
            raise SchemaError(path, f"{where}.memory", str(wrong)) from None
    ids = _known(path, f"{where}.ids", given.get("ids", {}), {f"{kind}s" for kind in ID_KINDS})
    for key, number in (("device", given.get("device", 0)), *((f"ids.{kind}", count) for kind, count in ids.items())):
        if type(number) is not int or number < 0:
            raise SchemaError(path, f"{where}.{key}", f"{number!r} is not a number from 0 on")
    return Holder(**given | {"ids": {kind[:-1]: count for kind, count in ids.items()}})
