"""What differs between two chips, for people and tools that port from one to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chips.chip import Chip, Limits
from npuhal.records import dataclass, fields
from npuhal.tuples import NamedTuple


class Change(NamedTuple):
    """One value that differs; None where a chip does not state it."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class ChipDiff:
    """The differences of two chips; everything not listed is equal."""

    a: str
    b: str
    identity: tuple[Change, ...]
    """Chip type, generation, overlay, plug-in library, padding."""
    limits: tuple[Change, ...]
    properties: tuple[Change, ...]
    features_a: tuple[str, ...]
    """Features that only the first chip has."""
    features_b: tuple[str, ...]
    """Features that only the second chip has."""
    ini: tuple[Change, ...]
    """Values of the SoC descriptions, named section.key."""

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.identity or self.limits or self.properties or self.features_a or self.features_b or self.ini)


_IDENTITY = ("chip_type", "chip_value", "generation", "overlay", "library", "padding_size")


def diff(a: Chip, b: Chip) -> ChipDiff:
    """Compare two chips value by value, in the order of the chip files."""
    return ChipDiff(
        a=a.soc,
        b=b.soc,
        identity=_changes(_identity(a), _identity(b)),
        limits=_changes(_limits(a.limits), _limits(b.limits)),
        properties=_changes(a.properties, b.properties),
        features_a=tuple(sorted(a.features - b.features)),
        features_b=tuple(sorted(b.features - a.features)),
        ini=_changes(_flat(a), _flat(b)),
    )


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Change, ...]:
    names = dict.fromkeys([*a, *b])
    return tuple(Change(name, a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name))


def _identity(chip: Chip) -> dict[str, int | str]:
    return {name: getattr(chip, name) for name in _IDENTITY}


def _limits(limits: Limits) -> dict[str, int]:
    return {field.name: getattr(limits, field.name) for field in fields(limits)}


def _flat(chip: Chip) -> dict[str, int | str]:
    return {f"{section}.{key}": value for section, values in chip.ini.items() for key, value in values.items()}
