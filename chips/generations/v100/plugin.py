"""The plug-in of STARS v1: all its builders, and how its completions are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v100 import (
    aicpu,
    control,
    descriptors,
    doorbell,
    event,
    ffts,
    fusion,
    kernel,
    media,
    memory,
    model,
    value,
)
from chips.generations.v100.completion import classify, parse_cqe
from chips.generations.v100.inspection import inspect
from chips.generations.v100.tables import LAYOUTS
from chips.registry import ContextFormat, Plugin

if TYPE_CHECKING:
    from chips.chip import Chip

MAX_SQE = 4
"""SQEs of one task at most (core_spec 9.3)."""

OPS = (
    *kernel.OPS, *aicpu.OPS, *fusion.OPS, *memory.OPS, *value.OPS, *doorbell.OPS, *event.OPS, *model.OPS,
    *control.OPS, *media.OPS,
)  # fmt: skip
"""Every task type STARS v1 has a builder for."""


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in; all STARS v1 chips share one table, differences come from their properties and features."""
    return Plugin(
        "v100",
        LAYOUTS,
        OPS,
        max_sqe=MAX_SQE,
        parse_cqe=parse_cqe,
        classify=classify,
        inspect=inspect,
        descriptors=descriptors.FORMS,
        contexts=ContextFormat(ffts.CONTEXT_BYTES, ffts.decode, ffts.mix_template),
    )
