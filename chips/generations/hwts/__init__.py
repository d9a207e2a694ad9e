"""Chips without STARS (Ascend 910A, 310P, 310, 610): tasks are 64-byte commands, one each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.hwts import aicpu, control, doorbell, event, fusion, kernel, memory, model
from chips.generations.hwts.command import MAX_SQE, HwtsEnv, HwtsFacts, layouts, make_ops, with_facts
from chips.generations.hwts.completion import classify, failure, parse_cqe, version
from chips.registry import CommandTasks, Plugin

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["HwtsEnv", "HwtsFacts", "make_plugin"]

RULES = (
    *kernel.RULES, *aicpu.RULES, *fusion.RULES, *memory.RULES, *doorbell.RULES, *event.RULES, *model.RULES,
    *control.RULES,
)  # fmt: skip
"""Every builder of these chips."""


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in; all these chips take the same commands."""
    return Plugin(
        "hwts",
        layouts(),
        make_ops(RULES),
        max_sqe=MAX_SQE,
        parse_cqe=parse_cqe,
        classify=classify,
        commands=CommandTasks(
            with_facts, control.create_stream, control.stream_mode, event.timed, memory.transfer, version, failure
        ),
    )
