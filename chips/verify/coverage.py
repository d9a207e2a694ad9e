"""Which task types must have a builder on a chip: the matrix of the vendor's registry, as data (coverage.yaml)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

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
    found: dict[str, dict[str, set[TaskType]]] = {}
    for name, row in read_yaml(_PATH)["types"].items():
        if name not in TaskType.__members__:
            raise SchemaError(_PATH, f"types:{name}", "no such task type")
        for kind, generations in row.items():
            if kind not in _KINDS:
                raise SchemaError(_PATH, f"types:{name}:{kind}", f"not one of {', '.join(_KINDS)}")
            for generation in generations.split():
                kinds = found.setdefault(generation, {each: set() for each in _KINDS})
                if any(TaskType[name] in types for types in kinds.values()):
                    raise SchemaError(_PATH, f"types:{name}", f"{generation} stands in it twice")
                kinds[kind].add(TaskType[name])
    return {name: Coverage(*(frozenset(kinds[kind]) for kind in _KINDS)) for name, kinds in found.items()}
