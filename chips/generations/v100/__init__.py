"""STARS v1: Ascend 910B, 910_93, 310B and relatives.

``sqe.yaml`` and ``context.yaml`` hold the layouts, one module per topic the fill rules, ``ops`` the task table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v100.completion import classify, parse_cqe
from chips.generations.v100.inspection import inspect
from chips.generations.v100.ops import MAX_SQE, OPS
from chips.generations.v100.tables import LAYOUTS
from chips.registry import Plugin

if TYPE_CHECKING:
    from chips.chip import Chip


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in; all STARS v1 chips share one table, differences come from their properties and features."""
    return Plugin("v100", LAYOUTS, OPS, max_sqe=MAX_SQE, parse_cqe=parse_cqe, classify=classify, inspect=inspect)
