"""Events and notifies of chips without STARS.

Source: ToCommandBodyForEventRecordTask and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.tasks import EventRecord, EventReset, EventWait, NotifyRecord, NotifyRecordIpc, NotifyWait, Task, TaskType
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_EVENT_FLAGS = 0x0E  # synchronise, time line, stream mark
_EVENT_TIMED = 0x01


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedEventRecord(EventRecord):
    """An event record that stores its time (address = base + offset), or reports to a queue of its own."""

    type: ClassVar[TaskType] = TaskType.EVENT_RECORD
    timeline_base: int = 0
    timeline_offset: int = 0
    wait_cq_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEventWait(Task):
    """Wait for an event of another device, told through mailbox and doorbells (physical addresses)."""

    type: ClassVar[TaskType] = TaskType.REMOTE_EVENT_WAIT
    event_id: int
    src_device_id: int
    dst_device_id: int
    src_mailbox: int
    src_doorbell: int
    dst_doorbell: int
    channel: int = 0


def timed(record: EventRecord, base: int, index: int) -> TimedEventRecord:
    """Return a record that stores its time in word `index` of a table (address as the scheduler sees it)."""
    return TimedEventRecord(event_id=record.event_id, timeline=True, timeline_base=base, timeline_offset=index)


def _event_record(task: EventRecord, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {"event_id": task.event_id, "flag": _EVENT_FLAGS, "thread_id": facts.thread_id}


def _timed_event_record(task: TimedEventRecord, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    fields = _event_record(task, env, facts)
    if task.timeline:
        fields |= {
            "flag": _EVENT_FLAGS | _EVENT_TIMED,
            "timeline_base": task.timeline_base,
            "timeline_offset": task.timeline_offset,
        }
    if task.wait_cq_id is not None:
        fields |= {"wait_cq": 1, "wait_cq_id": task.wait_cq_id}
    return fields


def _notify_record(task: NotifyRecord, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    own = env.device_id if facts.physical_id is None else facts.physical_id
    return {"notify_id": task.notify_id, "device_id": own}


def _remote_event_wait(task: RemoteEventWait, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src_mailbox": task.src_mailbox,
        "src_doorbell": task.src_doorbell,
        "dst_doorbell": task.dst_doorbell,
        "src_event_id": task.event_id,
        "src_device_id": task.src_device_id,
        "dst_device_id": task.dst_device_id,
        "channel": task.channel,
    }


RULES = (
    Rule(EventRecord, _event_record),
    Rule(TimedEventRecord, _timed_event_record),
    Rule(EventWait, named("event_id", timeout="timeout_s")),
    Rule(EventReset, named("event_id")),
    Rule(RemoteEventWait, _remote_event_wait),
    Rule(NotifyWait, named("notify_id", timeout="timeout_s"), quiet=True),
    Rule(NotifyRecord, _notify_record, quiet=True),
    Rule(NotifyRecordIpc, named("notify_id", device_id="phy_id"), quiet=True),
)
"""Builders of this module."""
