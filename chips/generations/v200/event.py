"""Notifies and events: on STARS v2 an event is a notify under another sub type (RtDavidStarsNotifySqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule, direct
from chips.tasks import (
    CountNotifyRecord,
    CountNotifyWait,
    EventRecord,
    EventReset,
    EventWait,
    NotifyRecord,
    NotifyRecordIpc,
    NotifyReset,
    NotifyWait,
    TaskType,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_COUNT_RECORD, _SINGLE_WAIT, _COUNT_WAIT = 2, 1, 3  # notify_sub_type; a single record is 0
_EVENT_COUNT_RECORD = 6
_BIT_WAIT = 4  # wait mode that compares bit by bit, which has a field of its own
_IPC_MAPPED = 4  # write value sub type: to the register of a notify where the driver has mapped it
_SIZE_32_BIT = 2


def notify_reset(at: Generation, task: NotifyReset, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the reset of a notify: a record that clears."""
    return at.encode("notify_record", env, ids, notify_id=task.notify_id, clr_flag=1)


def notify_record_ipc(at: Generation, task: NotifyRecordIpc, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the record of a notify of another process or device: a value write to its mapped register."""
    return at.encode(
        "write_value",
        env,
        ids,
        va=1,
        awsize=_SIZE_32_BIT,
        addr=task.addr,
        notify_id=task.notify_id,
        sub_type=_IPC_MAPPED,
        **{"value[0]": 1},
    )


def count_notify_record(at: Generation, task: CountNotifyRecord, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a change of a count notify."""
    return at.encode(
        "notify_record",
        env,
        ids,
        notify_id=task.notify_id,
        cnt_flag=1,
        sub_type=_COUNT_RECORD,
        cnt_value=task.value,
        record_mode=task.mode,
    )


def notify_wait(at: Generation, task: NotifyWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for a notify, which clears it."""
    return at.encode(
        "notify_wait", env, ids, notify_id=task.notify_id, clr_flag=1, sub_type=_SINGLE_WAIT, timeout=task.timeout_s
    )


def count_notify_wait(at: Generation, task: CountNotifyWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for a count notify."""
    bits = task.mode == _BIT_WAIT
    return at.encode(
        "notify_wait",
        env,
        ids,
        notify_id=task.notify_id,
        cnt_flag=1,
        clr_flag=task.clear,
        sub_type=_COUNT_WAIT,
        cnt_value=task.value,
        wait_mode=0 if bits else task.mode,
        bitmap=bits,
        timeout=task.timeout_s,
    )


def event_record(at: Generation, task: EventRecord, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the record of an event; without anybody waiting for it, behind the placeholder type.

    It asks for a completion entry only if the runtime wants one, and for a head update whenever the device is connected
    over UB and the queue moves on its own.
    """
    fields = {
        "notify_id": task.event_id,
        "wr_cqe": task.report,
        "head_update": env.ub_connected and not env.persistent,
    }
    if task.counted:
        fields["cnt_value"] = task.count
    if task.waited:
        return at.encode("event_record_counted" if task.counted else "event_record", env, ids, **fields)
    if task.counted:
        fields |= {"sub_type": _EVENT_COUNT_RECORD, "cnt_flag": 1}
    return at.encode("event_record_unwaited", env, ids, **fields)


def event_wait(at: Generation, task: EventWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for an event, which leaves it recorded."""
    layout = "event_wait_counted" if task.counted else "event_wait"
    fields = {"cnt_value": task.count} if task.counted else {}
    return at.encode(layout, env, ids, notify_id=task.event_id, timeout=task.timeout_s, **fields)


def event_reset(at: Generation, task: EventReset, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the reset of an event."""
    return at.encode("event_reset_counted" if task.counted else "event_reset", env, ids, notify_id=task.event_id)


RULES = (
    direct(NotifyRecord, "notify_record", notify_id="notify_id"),
    Rule(NotifyReset, notify_reset, ("notify_record",)),
    Rule(NotifyRecordIpc, notify_record_ipc, ("write_value",)),
    Rule(CountNotifyRecord, count_notify_record, ("notify_record",)),
    Rule(NotifyWait, notify_wait, ("notify_wait",)),
    Rule(CountNotifyWait, count_notify_wait, ("notify_wait",)),
    Rule(
        EventRecord,
        event_record,
        ("event_record", "event_record_counted", "event_record_unwaited"),
        samples=(
            EventRecord(event_id=1),
            EventRecord(event_id=1, counted=True),
            EventRecord(event_id=1, waited=False),
        ),
        type=TaskType.DAVID_EVENT_RECORD,
    ),
    Rule(
        EventWait,
        event_wait,
        ("event_wait", "event_wait_counted"),
        samples=(EventWait(event_id=1), EventWait(event_id=1, counted=True)),
        type=TaskType.DAVID_EVENT_WAIT,
    ),
    Rule(
        EventReset,
        event_reset,
        ("event_reset", "event_reset_counted"),
        samples=(EventReset(event_id=1), EventReset(event_id=1, counted=True)),
        type=TaskType.DAVID_EVENT_RESET,
    ),
)
"""Builders of this module."""

ALIASES = {
    TaskType.EVENT_RECORD: TaskType.DAVID_EVENT_RECORD,
    TaskType.STREAM_WAIT_EVENT: TaskType.DAVID_EVENT_WAIT,
    TaskType.EVENT_RESET: TaskType.DAVID_EVENT_RESET,
}
"""Types under which task descriptions know events, and the ones STARS v2 registers."""
