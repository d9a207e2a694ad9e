"""Groups of kernels that chips without STARS run as one."""

from __future__ import annotations

from typing import ClassVar

from chips.generations.hwts.command import Rule, named
from chips.tasks import Task, TaskType
from npuhal.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionIssue(Task):
    """Begin (flag 0) or end (flag 1) a group of kernels that run as one."""

    type: ClassVar[TaskType] = TaskType.FUSION_ISSUE
    flag: int


RULES = (Rule(FusionIssue, named("flag")),)
"""Builders of this module."""
