"""The HAL chapter "queues": queue pairs and sending, callbacks, arguments, messages to the task scheduler."""

from __future__ import annotations

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
]
