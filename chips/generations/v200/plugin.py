"""The plug-ins of STARS v2: what the topics offer, for Ascend 950 and Ascend 350, and with the overlay arch9201."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200 import (
    aicpu,
    arch9201,
    control,
    descriptors,
    doorbell,
    event,
    fusion,
    kernel,
    media,
    memory,
    model,
    value,
)
from chips.generations.v200.generation import Generation, Rule, bare_ops, make_ops
from chips.generations.v200.generation import make_plugin as _make_plugin
from chips.layout import load_layouts
from chips.yaml_file import beside

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.registry import Plugin

LAYOUTS = beside(__file__, "sqe.yaml")
"""Layouts of this generation, the base of those of v201."""

SHARED: tuple[Rule, ...] = (
    *kernel.RULES,
    *aicpu.RULES,
    *fusion.RULES,
    *value.RULES,
    *doorbell.RULES,
    *event.RULES,
    *model.RULES,
    *control.RULES,
    *media.RULES,
)
"""Builders that all STARS v2 generations have."""

V200 = Generation("v200", load_layouts(LAYOUTS), kernel.complete)
"""Ascend 950 and Ascend 350."""

ARCH9201 = Generation("v200", load_layouts(beside(__file__, "arch9201.yaml"), LAYOUTS), arch9201.complete, logs=True)
"""CHIP_CLOUD_V5: other kernel and cache entries, and a log switch in every header."""


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in for a chip of this generation, with the overlay the chip asks for."""
    generation = ARCH9201 if chip.overlay == "arch9201" else V200
    rules = (*SHARED, *memory.RULES, *value.EXTERNAL)
    ops = make_ops(generation, rules) + bare_ops(generation, control.BARE)
    return _make_plugin(generation, ops, event.ALIASES, descriptors.forms(generation.layouts))
