"""Events and notifies."""

from __future__ import annotations

from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "CountNotifyRecord",
    "CountNotifyWait",
    "EventRecord",
    "EventReset",
    "EventWait",
    "NotifyRecord",
    "NotifyRecordIpc",
    "NotifyReset",
    "NotifyWait",
]


@described
class EventRecord(Task):
    """Record an event: hardware event id on v100, notify id on v2 (``counted``: a count notify).

    ``waited``: some stream waits for it.  ``timeline``: the event keeps time stamps.  ``report``: the runtime wants the
    completion entry.  ``synchronous``: the caller waits for this very task.
    """

    type: ClassVar[TaskType] = TaskType.EVENT_RECORD
    event_id: int
    waited: bool = True
    timeline: bool = False
    report: bool = False
    synchronous: bool = False
    counted: bool = False
    count: int = 0


@described
class EventWait(Task):
    """Make the stream wait for an event; ``timeout_s`` 0 means for ever."""

    type: ClassVar[TaskType] = TaskType.STREAM_WAIT_EVENT
    event_id: int
    timeout_s: int = 0
    counted: bool = False
    count: int = 0


@described
class EventReset(Task):
    """Return an event to "not recorded"."""

    type: ClassVar[TaskType] = TaskType.EVENT_RESET
    event_id: int
    counted: bool = False


@described
class NotifyRecord(Task):
    """Record a notify (v100: 13-bit id)."""

    type: ClassVar[TaskType] = TaskType.NOTIFY_RECORD
    notify_id: int


@described
class NotifyRecordIpc(Task):
    """Record a notify of another device by writing its register: ``phy_id`` is that device, ``pcie`` the way there.

    ``chip_id`` and ``die_id`` are its physical device; None means the stream's own device. ``addr`` is where the driver
    has mapped the register, on chips whose entries do not compute that.
    """

    type: ClassVar[TaskType] = TaskType.NOTIFY_RECORD
    notify_id: int
    phy_id: int = 0
    chip_id: int | None = None
    die_id: int | None = None
    pcie: bool = False
    pod: bool = False
    addr: int = 0


@described
class NotifyWait(Task):
    """Wait for a notify; ``timeout_s`` 0 means for ever."""

    type: ClassVar[TaskType] = TaskType.NOTIFY_WAIT
    notify_id: int
    timeout_s: int = 0


@described
class NotifyReset(Task):
    """Return a notify to "not recorded" (v2)."""

    type: ClassVar[TaskType] = TaskType.NOTIFY_RECORD
    notify_id: int


@described
class CountNotifyRecord(Task):
    """Change a count notify: ``mode`` 0 store, 1 add, 2 or-bit, 4 clear-bit (v2)."""

    type: ClassVar[TaskType] = TaskType.NOTIFY_RECORD
    notify_id: int
    mode: int
    value: int


@described
class CountNotifyWait(Task):
    """Wait for a count notify: ``mode`` 1 equal, 2 greater, 3 at least, 4 bits; ``clear`` resets it afterwards (v2)."""

    type: ClassVar[TaskType] = TaskType.NOTIFY_WAIT
    notify_id: int
    mode: int
    value: int
    timeout_s: int = 0
    clear: bool = False
