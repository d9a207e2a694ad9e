"""What `npuhal doctor` says: findings, each with what it saw, the evidence for it and the cure."""

from __future__ import annotations

from enum import Enum

from npuhal.records import dataclass

__all__ = ["Finding", "Level"]


class Level(Enum):
    """How much a finding matters."""

    PROBLEM = "problem"
    """It will not run, or not as meant."""
    WARNING = "warning"
    """A trap that may be meant."""
    NOTE = "note"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the doctor.

    Attributes:
        level: how much it matters.
        situation: what is the case, in one sentence.
        evidence: the paths, values and codes it was concluded from.
        cure: what to do; never empty for a problem or a warning.
    """

    level: Level
    situation: str
    evidence: str = ""
    cure: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the finding as a flat mapping."""
        return {
            "level": self.level.value,
            "situation": self.situation,
            "evidence": self.evidence,
            "cure": self.cure,
        }
