"""RDMA sends and doorbells of chips without STARS."""

from __future__ import annotations

from typing import ClassVar

from chips.generations.hwts.command import Rule, named
from chips.tasks import RdmaDoorbell, Task, TaskType
from npuhal.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaSend(Task):
    """Post entry ``wqe_index`` of RDMA queue ``sq_index``."""

    type: ClassVar[TaskType] = TaskType.RDMA_SEND
    sq_index: int
    wqe_index: int


RULES = (
    Rule(RdmaSend, named("sq_index", "wqe_index")),
    Rule(RdmaDoorbell, named("info", "index")),
)
"""Builders of this module."""
