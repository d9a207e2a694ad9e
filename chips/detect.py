"""From what the hardware says about itself to a chip: the version word and, where it is not enough, core counts.

halGetDeviceInfo(device, MODULE_TYPE_SYSTEM, INFO_TYPE_VERSION) answers one word: version in bits 7..0, chip type in
bits 15..8, architecture in bits 31..16 (not used for the choice). A SoC name from halGetSocVersion always wins: the
names of the 910_93, 950 and 350 exist only there. The rules are data: soc/detect.yaml.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from chips.catalog import SOC_FOLDER, find_chip, vocabulary
from chips.chip import Chip, UnknownChip
from chips.schema import read_yaml
from npuhal.tuples import NamedTuple


class VersionWord(NamedTuple):
    """The three fields of the hardware's version word."""

    version: int
    chip: int
    arch: int

    @classmethod
    def of(cls, word: int) -> VersionWord:
        """Split a version word; bits above 31 are ignored, as the driver's 64-bit answer leaves them unset."""
        return cls(word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFFFF)


def chip_from_version(
    word: int,
    *,
    soc_name: str = "",
    aicore_count: int | None = None,
    aicore_level: int | None = None,
    frequency_level: int | None = None,
    vector_count: int | None = None,
    chip_name: str = "",
) -> Chip:
    """Return the chip of a version word, helped by what else the driver answered.

    `soc_name` is the answer of halGetSocVersion ("" if it has none) and decides alone when given. The counts and
    levels are those of soc/detect.yaml; a type that needs one that is None is refused. UnknownChip says why a word
    resolves to nothing: number out of range, no device, no rule for the type, version without a bin, missing fact.
    """
    if soc_name:
        return find_chip(soc_name)
    fields = VersionWord.of(word)
    names = {value: name for name, value in vocabulary().chip_types.items()}
    name = names.get(fields.chip, "")
    table = _rules()
    where = f"version word {word:#x}: chip type {fields.chip}"
    if fields.chip >= table["end"] or not name:
        raise UnknownChip(f"{where} is not one of 0..{table['end'] - 1}")
    if name == table["no_device"]:
        raise UnknownChip(f"{where} ({name}) means that there is no device")
    entry = table["types"].get(name)
    if entry is None:
        raise UnknownChip(f"{where} ({name}) has no SoC name of its own; only halGetSocVersion can name it")
    facts: dict[str, Any] = {
        "version": fields.version,
        "aicore_count": aicore_count,
        "aicore_level": aicore_level,
        "frequency_level": frequency_level,
        "vector_count": vector_count,
        "chip_name": chip_name,
    }
    missing = [fact for fact in entry.get("needs", "").split() if facts[fact] is None]
    if missing:
        raise UnknownChip(f"{where} ({name}) needs {' and '.join(missing)} to tell its SoCs apart")
    for rule in entry["rules"]:
        if all(_holds(fact, wanted, facts) for fact, wanted in rule.items() if fact != "soc"):
            return find_chip(rule["soc"])
    asked = sorted({fact for rule in entry["rules"] for fact in rule if fact != "soc"})
    given = ", ".join(f"{fact} {facts[fact]}" for fact in asked)
    raise UnknownChip(f"{where} ({name}) with {given} is no known SoC; driver and chip files may not fit together")


def _holds(fact: str, wanted: Any, facts: dict[str, Any]) -> bool:
    value = facts[fact]
    return value.startswith(wanted) if fact == "chip_name" else bool(value == wanted)


@cache
def _rules() -> dict[str, Any]:
    rules: dict[str, Any] = read_yaml(os.path.join(SOC_FOLDER, "detect.yaml"))
    return rules
