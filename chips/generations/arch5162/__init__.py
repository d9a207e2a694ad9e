"""CHIP_5162A: a small STARS of its own, with 19 task types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.generations.arch5162 import builders
from chips.generations.arch5162.builders import LAYOUTS
from chips.generations.v100.completion import classify, parse_cqe
from chips.registry import Plugin, TaskOps, sample
from chips.tasks import (
    AicKernel,
    AivKernel,
    EventRecord,
    EventReset,
    EventWait,
    HostCallback,
    LabelSet,
    LabelSwitchByIndex,
    Maintenance,
    MemcpyAsync,
    ModelExecute,
    ModelMaintenance,
    NotifyRecord,
    NotifyWait,
    ProfilingDisable,
    ProfilingEnable,
    StreamActive,
    StreamSwitch,
    Task,
)

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv, TaskIds

MAX_SQE = 1
"""Every task takes one entry."""

_BY_BYTES: dict[type[Task], tuple[Callable[[Any, EncodeEnv, TaskIds], bytes], tuple[str, ...]]] = {
    AicKernel: (builders.kernel, ("kernel",)),
    AivKernel: (builders.kernel, ("kernel",)),
    EventRecord: (builders.event_record, ("event_record", "event_record_unwaited")),
    EventReset: (builders.event_reset, ("event_reset",)),
    EventWait: (builders.event_wait, ("notify_wait",)),
    NotifyRecord: (builders.notify_record, ("notify_record",)),
    NotifyWait: (builders.notify_wait, ("notify_wait",)),
    MemcpyAsync: (builders.memcpy, ("memcpy",)),
    Maintenance: (builders.maintenance, ("maintenance",)),
    ModelMaintenance: (builders.model_maintenance, ("model_maintain",)),
    ModelExecute: (builders.model_execute, ("model_execute",)),
    StreamSwitch: (builders.stream_switch, ("stream_switch_ex",)),
    StreamActive: (builders.stream_active, ("stream_active",)),
    LabelSet: (builders.label_set, ("label_set",)),
    ProfilingEnable: (builders.profiling_enable, ("profiling_enable",)),
    HostCallback: (builders.host_callback, ("host_callback",)),
}
_BY_RULE: dict[type[Task], tuple[Callable[[Any, EncodeEnv, TaskIds], bytes], tuple[str, ...]]] = {
    LabelSwitchByIndex: (builders.label_switch, ("label_switch_by_index",)),
    ProfilingDisable: (builders.profiling_disable, ("profiling_disable",)),
}

OPS = tuple(
    TaskOps(
        type=kind.type,
        encode=build,
        table=LAYOUTS,
        layouts=layouts,
        samples=(sample(kind),),
        verified="bytes" if kind in _BY_BYTES else "rule",
    )
    for kind, (build, layouts) in (_BY_BYTES | _BY_RULE).items()
)
"""The table of the generation.

KERNEL_AICPU is missing: the vendor registers a builder for it that writes nothing.
"""


def make_plugin(chip: Chip) -> Plugin:
    """Return the plug-in; completion entries are those of STARS v1."""
    return Plugin("arch5162", LAYOUTS, OPS, max_sqe=MAX_SQE, parse_cqe=parse_cqe, classify=classify)
