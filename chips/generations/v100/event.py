"""Events and notifies on STARS v1.

Sources: stars_kernel.hpp (RtStarsEventSqe, RtStarsNotifySqe), stars_sqe.hpp (RtStarsWriteValueSqe); sqe_fill_rules 5.
"""

from __future__ import annotations

from chips.addresses import by_device_info, chip_offset
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, ops, sync_stream_id
from chips.registry import Later
from chips.tasks import EventRecord, EventReset, EventWait, NotifyRecord, NotifyRecordIpc, NotifyWait

_EVENTS_PER_TABLE = 4096
_TABLE_STRIDE = 0x10000
_ENTRY = 4
_FLAT_AWCACHE = 0xF
_RECORD = LAYOUTS["event_record"]
_UNWAITED = LAYOUTS["bare"]
_WAIT = LAYOUTS["event_wait"]
_RESET = LAYOUTS["event_reset"]
_NOTIFY_RECORD = LAYOUTS["notify_record"]
_NOTIFY_WAIT = LAYOUTS["notify_wait"]
_REMOTE = LAYOUTS["notify_remote"]
_REMOTE_PCIE = LAYOUTS["notify_remote_pcie"]


def event_record(task: EventRecord, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of an event record; a placeholder when nobody waits for it."""
    return (_RECORD if task.waited else _UNWAITED).encode(
        stream_id=sync_stream_id(env) if task.synchronous else env.stream_id,
        task_id=ids.task_id,
        wr_cqe=task.timeline or task.report,
        event_id=task.event_id,
    )


def event_wait(task: EventWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that waits for an event."""
    return _WAIT.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        event_id=task.event_id,
        timeout=task.timeout_s,
    )


def event_reset(task: EventReset, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that writes 0 to an event's register."""
    base: int = env.chip.prop("eventBase") + (chip_offset(env) if by_device_info(env) else 0)
    table, entry = divmod(task.event_id, _EVENTS_PER_TABLE)
    return _RESET.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        addr=base + table * _TABLE_STRIDE + entry * _ENTRY,
        event_id=task.event_id,
    )


def notify_record(task: NotifyRecord | NotifyRecordIpc, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that records a notify, on this device or through the register of another."""
    if isinstance(task, NotifyRecordIpc):
        return _record_remote(task, env, ids)
    return _NOTIFY_RECORD.encode(
        stream_id=env.stream_id, task_id=ids.task_id, wr_cqe=env.dvpp_group, notify_id=task.notify_id
    )


def notify_wait(task: NotifyWait, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that waits for a notify."""
    return _NOTIFY_WAIT.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        notify_id=task.notify_id,
        timeout=task.timeout_s,
    )


def _record_remote(task: NotifyRecordIpc, env: EncodeEnv, ids: TaskIds) -> bytes:
    chip = env.chip
    own_form = by_device_info(env)
    base: int = chip.prop("notifyBase") + (chip_offset(env, task.chip_id, task.die_id) if own_form else 0)
    table = task.notify_id // chip.prop("starsNotifyTableSize")
    entry = task.notify_id & chip.prop("ipcNotifyNumMask")
    return (_REMOTE_PCIE if task.pcie and not own_form else _REMOTE).encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        phy_id=task.phy_id,
        pod=task.pod,
        addr=base + table * _TABLE_STRIDE + entry * _ENTRY,
        awcache=_FLAT_AWCACHE if env.flat_addresses else 0,
    )


OPS = (
    ops(event_record, "event_record bare", EventRecord, Later(EventRecord, waited=False)),
    ops(event_wait, "event_wait", EventWait),
    ops(event_reset, "event_reset", EventReset),
    ops(
        notify_record,
        "notify_record notify_remote notify_remote_pcie",
        NotifyRecord,
        NotifyRecordIpc,
        Later(NotifyRecordIpc, pcie=True),
    ),
    ops(notify_wait, "notify_wait", NotifyWait),
)
"""Builders of this module."""
