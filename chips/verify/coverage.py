"""Which task types must have a builder on a chip: the matrix of the vendor's registry, as data (coverage.yaml)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from chips.chip import Chip
from chips.schema import SchemaError, read_yaml
from chips.tasks import TaskType
from npuhal.records import dataclass

_PATH: Final = Path(__file__).with_name("coverage.yaml")
_KINDS: Final = ("real", "placeholder", "none")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the vendor's registry says of one generation."""

    real: frozenset[TaskType]
    """Types with an SQE builder of their own."""
    placeholder: frozenset[TaskType]
    """Types that get a bare placeholder SQE."""
    none: frozenset[TaskType]
    """Registered types for which nothing fills an SQE."""

    @property
    def unsupported(self) -> frozenset[TaskType]:
        """Types that need no builder: those without a filler, and those that are not registered at all."""
        return frozenset(TaskType) - self.real - self.placeholder


def expected(chip: Chip) -> Coverage | None:
    """Return what must exist on a chip; None for a generation the vendor's registry does not have."""
    return _generations().get(chip.generation)


@cache
def _generations() -> dict[str, Coverage]:
    raw = read_yaml(_PATH)["generations"]
    found: dict[str, Coverage] = {}
    for name, entry in raw.items():
        found[name] = _resolve(name, entry, found)
    return found


def _resolve(name: str, entry: dict[str, Any], known: dict[str, Coverage]) -> Coverage:
    kinds: dict[TaskType, str] = {}
    if "base" in entry:
        if entry["base"] not in known:
            raise SchemaError(_PATH, f"generations:{name}:base", f"{entry['base']!r} must stand before it")
        base = known[entry["base"]]
        kinds.update((task, kind) for kind in _KINDS for task in getattr(base, kind))
    for kind in (*_KINDS, "unregistered"):
        for word in entry.get(kind, "").split():
            if word not in TaskType.__members__:
                raise SchemaError(_PATH, f"generations:{name}:{kind}:{word}", "no such task type")
            kinds[TaskType[word]] = kind
    return Coverage(*(frozenset(task for task, its in kinds.items() if its == kind) for kind in _KINDS))
