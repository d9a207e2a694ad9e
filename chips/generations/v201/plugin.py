"""STARS v2 of MC62CM12A and MC32DM11A: v200 with other copy entries, data queues and serially scheduled models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200 import control, descriptors, memory
from chips.generations.v200 import event as v200_event
from chips.generations.v200.generation import Generation, bare_ops, make_ops
from chips.generations.v200.generation import make_plugin as _make_plugin
from chips.generations.v200.plugin import LAYOUTS, SHARED
from chips.generations.v201 import dqs, event, kernel, model
from chips.layout import load_layouts
from chips.tasks import NotifyRecordIpc
from chips.yaml_file import beside

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.registry import Plugin

_TOPIC_SRC_PID = 10  # TOPIC_TYPE_DEVICE_AICPU_SRC_PID

V201 = Generation(
    "v201",
    load_layouts(beside(__file__, "sqe.yaml"), LAYOUTS),
    kernel.complete,
    topic_type=_TOPIC_SRC_PID,
)
"""MC62CM12A and MC32DM11A."""


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in for a chip of this generation."""
    shared = (rule for rule in SHARED if rule.kind is not NotifyRecordIpc)
    rules = (*shared, *memory.SDMA_ONLY, *event.RULES, *model.RULES, *dqs.RULES)
    ops = make_ops(V201, rules) + bare_ops(V201, control.BARE)
    return _make_plugin(V201, ops, v200_event.ALIASES, descriptors.forms(V201.layouts))
