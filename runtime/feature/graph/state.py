"""States of captured graphs, and what a graph is made of on which device (core_spec 14.1, 14.6)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from chips.traits import EventKind
from runtime.core.stream import creation
from runtime.driver import resources as id_kinds

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_MANY_EVENTS = 8192
"""With more free event ids than that, captured events are hardware events."""


class CaptureStatus(enum.IntEnum):
    """Where the capture of a stream stands (acl_rt.h, aclmdlRICaptureStatus)."""

    NONE = 0
    ACTIVE = 1
    INVALIDATED = 2


class GraphState(enum.IntEnum):
    """Where a graph stands (core_spec 14.1)."""

    NEW = 0
    CAPTURING = 1
    INVALIDATED = 2
    """A captured task has failed: the end of the capture will, too."""
    UPDATING = 3
    """Changes of nodes wait for `update`."""
    FAULT = 4
    """A change has failed half way; the graph cannot be used any more."""
    READY = 5


class Block:
    """A `with` block at whose end something ends; `gone` when nobody can leave it any more, whether that has ended or
    not."""

    __slots__ = ("gone",)

    def __init__(self) -> None:
        self.gone = False


OF_STREAM = {GraphState.CAPTURING: CaptureStatus.ACTIVE, GraphState.INVALIDATED: CaptureStatus.INVALIDATED}
"""The status of streams of a capture; NONE for the other states."""
NOT_READY = {
    GraphState.NEW: "nothing was captured into it", GraphState.UPDATING: "changes of its nodes wait for update()",
    GraphState.FAULT: "a change of one of its nodes failed",
}
"""Why a graph in one of these states cannot be executed."""


def has_software_queues(device: Device) -> bool:
    """Whether graphs keep their tasks on the host and are lent queues (core_spec 14.1)."""
    return device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE") and creation.binds_dynamically(device)


def counts_hardware_events(device: Device) -> bool:
    """Whether captured events are hardware events: the chip counts them, and has plenty (core_spec 14.6)."""
    if device.chip.traits.events is not EventKind.IDS:
        return False
    capacity, used = device.ids.usage(id_kinds.EVENT)
    return capacity - used > _MANY_EVENTS
