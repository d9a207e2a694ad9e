"""Reads one chip file and checks it: YAML in, plain dataclasses out; every complaint says file:path:key.

A chip file describes a family of SoCs. Its keys, all but `spec` optional:

    spec: "1.0"            version of this format
    base: ascend910b       the file it starts from; everything below adds to or replaces what the base says
    chip_type: CHIP_DAVID  or {name: ..., value: ...} for a type the vocabulary does not have
    generation, overlay, library, binaries
    default: SoC taken when only the family's name is given
    limits: {...}          counts the manuals state, and the most SQEs of one task
    properties: {...}      values of DevProperties
    traits: {...}          how the generation's task scheduler and driver behave (chips.traits)
    dynamic_bind: {...}    properties that change when the driver can bind queues dynamically
    features: {add, drop}  feature names, relative to the base; or {only}
    ini: {section: "key=value key=value ..."}     the SoC description; `key=-` removes what the base states
    columns: {column: "section.key ..."}          what the columns of `socs` set, in order
    socs: {SoC: "value value ..."}                one row per SoC; `-` unset (quote a row that begins so), `_` empty
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chips import yaml_file
from chips.traits import trait_kinds
from npuhal.records import dataclass, field
from npuhal.words import close_names, natural, shown

if TYPE_CHECKING:
    from pathlib import Path

SPEC_VERSION = "1.0"
"""The format version this reader understands; the first number must match."""

_TEXTS = ("generation", "overlay", "library", "binaries", "default")
_SECTIONS = ("limits", "properties", "traits", "dynamic_bind", "features", "ini", "columns", "socs")
_KEYS = frozenset(("spec", "base", "chip_type", *_TEXTS, *_SECTIONS))
_LONGEST_RUN = 1 << 16
_UNSET = "-"
_EMPTY = "_"


class SchemaError(ValueError):
    """A chip file is malformed; the text is `file:path:key: what is wrong`."""

    def __init__(self, path: str | Path, key: str, problem: str) -> None:
        from pathlib import Path

        self.path = Path(path)
        super().__init__(f"{self.path.name}:{f'{key}:' if key else ''} {problem}")
        self.key = key
        self.problem = problem

    def __reduce__(self) -> tuple[type[SchemaError], tuple[Path, str, str]]:
        return SchemaError, (self.path, self.key, self.problem)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that chip files may use (rtChipType_t, RtOptionalFeatureType, the enumerations of DevProperties)."""

    chip_types: Mapping[str, int]
    features: tuple[str, ...]
    """Feature names; the position is the number in the vendor's enumeration."""
    enums: Mapping[str, tuple[str, ...]]
    """Property name -> its enumerators, numbered from 0."""


Column = tuple[str, tuple[tuple[str, str], ...]]
"""Name of a column of SoC rows, and the (section, key) pairs that its value is written to."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyFile:
    """One chip file, parsed and checked on its own; relations to its base are resolved by the catalog."""

    path: str
    base: str
    chip_type: tuple[str, int] | None
    texts: Mapping[str, str]
    limits: Mapping[str, int]
    properties: Mapping[str, Any]
    traits: Mapping[str, Any] = field(default_factory=dict)
    dynamic_bind: Mapping[str, Any] = field(default_factory=dict)
    features_add: frozenset[str] = frozenset()
    features_drop: frozenset[str] = frozenset()
    features_only: frozenset[str] | None = None
    ini: Mapping[str, Mapping[str, int | str | None]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    socs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The file's name without its suffix, which is that of the family."""
        return os.path.basename(self.path).rpartition(".")[0]

    def row(self, soc: str) -> list[tuple[str, str, int | str | None]]:
        """Return what the row of a SoC sets, as (section, key, value) for each target of each column."""
        cells = zip(self.columns, self.socs[soc], strict=True)
        return [(*target, scalar(cell)) for (_, targets), cell in cells for target in targets]


def scalar(text: str) -> int | str | None:
    """Return the value of one cell or `key=value` text: an integer, a string, '' for `_`, None for `-`."""
    if text == _UNSET:
        return None
    if text == _EMPTY:
        return ""
    number = natural(text)
    return text if number is None else number


def read_yaml(path: str | Path) -> Any:
    """Return the content of a YAML file; a syntax error becomes a SchemaError with its line."""
    try:
        return yaml_file.load(path)
    except yaml_file.BadYaml as error:
        raise SchemaError(path, f"line {error.line}" if error.line else "", error.problem) from error


@lru_cache(maxsize=1)
def read_vocabulary(path: str) -> Vocabulary:
    """Read the vocabulary file."""
    raw = read_yaml(path)
    enums = {name: tuple(text.split()) for name, text in raw["enums"].items()}
    return Vocabulary(chip_types=raw["chip_types"], features=tuple(raw["features"].split()), enums=enums)


def read_family(path: str | Path, vocabulary: Vocabulary) -> FamilyFile:
    """Read and check one chip file; SchemaError names the first thing that is wrong."""
    raw = read_yaml(path)
    if not isinstance(raw, dict):
        raise SchemaError(path, "", "a chip file is a mapping")
    return _Reader(os.fspath(path), raw, vocabulary).read()


class _Reader:
    """Checks one raw mapping section by section."""

    def __init__(self, path: str, raw: dict[str, Any], vocabulary: Vocabulary) -> None:
        self.path = path
        self.raw = raw
        self.vocabulary = vocabulary

    def fail(self, key: str, problem: str) -> SchemaError:
        return SchemaError(self.path, key, problem)

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.raw.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.fail(key, f"expected a mapping, got {value!r}")
        return value

    def known(self, key: str, names: Iterable[str], allowed: Iterable[str], what: str) -> None:
        allowed = set(allowed)
        for name in names:
            if name not in allowed:
                near = close_names(str(name), allowed)
                hint = f"; close: {', '.join(near)}" if near else ""
                raise self.fail(f"{key}:{name}" if key else str(name), f"unknown {what}{hint}")

    def read(self) -> FamilyFile:
        self.known("", self.raw, _KEYS, "key")
        spec = self.raw.get("spec")
        if not isinstance(spec, str) or spec.split(".")[0] != SPEC_VERSION.split(".")[0]:
            raise self.fail("spec", f'expected "{SPEC_VERSION}" (in quotes), got {spec!r}')
        texts = {key: self.text(key) for key in _TEXTS if key in self.raw}
        add, drop, only = self.features()
        columns = self.columns()
        return FamilyFile(
            path=self.path,
            base=self.text("base") if "base" in self.raw else "",
            chip_type=self.chip_type(),
            texts=texts,
            limits=self.limits(),
            properties=self.properties("properties"),
            traits=self.traits(),
            dynamic_bind=self.properties("dynamic_bind"),
            features_add=add,
            features_drop=drop,
            features_only=only,
            ini={str(section): self.pairs(section, text) for section, text in self.mapping("ini").items()},
            columns=columns,
            socs=self.rows(columns),
        )

    def text(self, key: str) -> str:
        value = self.raw[key]
        if not isinstance(value, str):
            raise self.fail(key, f"expected a text, got {value!r}")
        return value

    def chip_type(self) -> tuple[str, int] | None:
        raw = self.raw.get("chip_type")
        if raw is None:
            return None
        if isinstance(raw, str):
            self.known("chip_type", [raw], self.vocabulary.chip_types, "chip type")
            return raw, self.vocabulary.chip_types[raw]
        if isinstance(raw, dict) and raw.keys() == {"name", "value"} and type(raw["value"]) is int:
            return str(raw["name"]), raw["value"]
        raise self.fail("chip_type", f"expected a name, or {{name, value}} of a new type, got {raw!r}")

    def limits(self) -> dict[str, int]:
        limits = self.mapping("limits")
        for name, value in limits.items():
            if type(value) is not int or value < 0:
                raise self.fail(f"limits:{name}", f"expected an integer of 0 or more, got {value!r}")
        return limits

    def traits(self) -> dict[str, Any]:
        """Check the traits: known names, values of their kinds; enumerators become members, lists become tuples."""
        self.known("traits", self.mapping("traits"), trait_kinds(), "trait")
        return {name: self.trait(name, value) for name, value in self.mapping("traits").items()}

    def trait(self, name: str, value: Any) -> Any:
        """Check the value of one trait."""
        key, kind = f"traits:{name}", trait_kinds()[name]
        if issubclass(kind, Enum):
            if value not in kind._value2member_map_:
                raise self.fail(key, f"{value!r} is not one of {', '.join(str(each.value) for each in kind)}")
            return kind(value)
        if kind is tuple:
            if not isinstance(value, list) or not all(type(each) is int for each in value):
                raise self.fail(key, f"expected a list of integers, got {value!r}")
            return tuple(value)
        if type(value) is not kind:
            raise self.fail(key, f"expected {kind.__name__}, got {value!r}")
        return value

    def properties(self, section: str) -> dict[str, Any]:
        return {name: self.property(f"{section}:{name}", name, value) for name, value in self.mapping(section).items()}

    def property(self, key: str, name: str, value: Any) -> Any:
        """Check a property value; tables are written as `value*count` runs and become tuples."""
        enumerators = self.vocabulary.enums.get(name)
        if enumerators is not None:
            if value not in enumerators:
                raise self.fail(key, f"{value!r} is not one of {', '.join(enumerators)}")
            return value
        if isinstance(value, str) and "*" in value:
            return self.runs(key, value)
        if isinstance(value, dict):
            for part, number in value.items():
                if type(number) is not int:
                    raise self.fail(f"{key}:{part}", f"expected an integer, got {number!r}")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise self.fail(key, f"expected a number or a text, got {value!r}")
        return value

    def runs(self, key: str, text: str) -> tuple[int, ...]:
        out: list[int] = []
        for run in text.split():
            value, _, count = run.partition("*")
            number, times = natural(value), natural(count or "1")
            if number is None or times is None or times > _LONGEST_RUN:
                raise self.fail(key, f"{shown(run)} is not `value` or `value*count`, {_LONGEST_RUN} times at most")
            out += [number] * times
        return tuple(out)

    def features(self) -> tuple[frozenset[str], frozenset[str], frozenset[str] | None]:
        raw = self.mapping("features")
        self.known("features", raw, ("add", "drop", "only"), "key")
        if "only" in raw and len(raw) > 1:
            raise self.fail("features:only", "stands alone; it replaces what the base has")
        sets: dict[str, frozenset[str]] = {}
        for key, text in raw.items():
            if not isinstance(text, str):
                raise self.fail(f"features:{key}", f"expected names separated by spaces, got {text!r}")
            sets[key] = frozenset(text.split())
            self.known(f"features:{key}", sorted(sets[key]), self.vocabulary.features, "feature")
        return sets.get("add", frozenset()), sets.get("drop", frozenset()), sets.get("only")

    def pairs(self, section: str, text: Any) -> dict[str, int | str | None]:
        if not isinstance(text, str):
            raise self.fail(f"ini:{section}", f"expected `key=value key=value ...`, got {text!r}")
        out: dict[str, int | str | None] = {}
        for pair in text.split():
            key, equals, value = pair.partition("=")
            if not equals or key in out:
                raise self.fail(f"ini:{section}:{key}", "appears twice" if equals else "has no `=value`")
            out[key] = scalar(value)
        return out

    def columns(self) -> tuple[Column, ...]:
        columns: list[Column] = []
        for name, text in self.mapping("columns").items():
            targets = []
            for target in str(text).split():
                section, dot, key = target.partition(".")
                if not dot or (section == "chip_type" and key != "name"):
                    raise self.fail(f"columns:{name}", f"{target!r} is not `section.key` or `chip_type.name`")
                targets.append((section, key))
            columns.append((str(name), tuple(targets)))
        return tuple(columns)

    def rows(self, columns: tuple[Column, ...]) -> dict[str, tuple[str, ...]]:
        typed = [index for index, (_, targets) in enumerate(columns) if ("chip_type", "name") in targets]
        rows: dict[str, tuple[str, ...]] = {}
        for soc, text in self.mapping("socs").items():
            cells = tuple(str(text).split()) if text is not None else ()
            if len(cells) != len(columns):
                raise self.fail(f"socs:{soc}", f"{len(cells)} values for {len(columns)} columns")
            for index in typed:
                self.known(f"socs:{soc}", [cells[index]], self.vocabulary.chip_types, "chip type")
            rows[str(soc)] = cells
        return rows
