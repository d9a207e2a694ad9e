"""The HAL chapter "queues": queue pairs and sending, callbacks, arguments, messages to the task scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.traits import CompletionKind
from runtime.driver.queues.pairs import (
    LOGIC_CQ_DEPTH,
    LOGIC_CQE_BYTES,
    NO_ID,
    READ_FAILED,
    QueueDriver,
    QueueOptions,
    QueuePair,
    SimtStack,
)
from runtime.driver.queues.send import SQE_BYTES, MappedRing, Sender

if TYPE_CHECKING:
    from runtime.driver.calls import HalCalls
    from runtime.driver.queues.commands import Progress
    from runtime.driver.resource_table import ResourceTable

__all__ = [
    "LOGIC_CQE_BYTES",
    "LOGIC_CQ_DEPTH",
    "NO_ID",
    "READ_FAILED",
    "SQE_BYTES",
    "MappedRing",
    "QueueDriver",
    "QueueOptions",
    "QueuePair",
    "Sender",
    "SimtStack",
    "driver_of",
]


def driver_of(calls: HalCalls, kind: CompletionKind, table: ResourceTable) -> QueueDriver:
    """Return the driver calls about queues of a device, by what says how far its queues are; the device is open."""
    if kind is CompletionKind.HEADS:
        return QueueDriver(calls, resource_table=table)
    from runtime.driver.queues.commands import CommandQueues
    from runtime.driver.queues.status_table import StatusTable
    from runtime.driver.queues.task_reports import TaskReports

    shared = kind is CompletionKind.STATUS_TABLE
    progress: Progress = StatusTable(calls, table) if shared else TaskReports(calls)
    return CommandQueues(calls, resource_table=table, progress=progress, receives=shared)
