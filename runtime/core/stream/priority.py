"""The priority that the task scheduler has for a stream's queue, asked for and changed by message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.driver.queues.scheduler import SchedulerMessages

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort


def _messages(stream: StreamPort) -> SchedulerMessages:
    stream.check_open()
    return SchedulerMessages(stream.device.driver)


def set_scheduler_priority(stream: StreamPort, priority: int) -> None:
    """Give the queue of a stream another priority.

    Raises:
        NotSupported 207000: the driver takes no such message.
    """
    _messages(stream).set_priority(stream.queues.sq_id, priority)


def scheduler_priority(stream: StreamPort) -> int:
    """Return the priority that the scheduler has for the queue of a stream.

    Raises:
        NotSupported 207000: the driver takes no such message.
    """
    return _messages(stream).priority(stream.queues.sq_id)
