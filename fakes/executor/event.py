"""Events and notifies: what one queue tells another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from chips.env import EncodeEnv
from fakes.errors import TaskFault
from fakes.executor.task import accepted, once
from fakes.faults import Effect
from fakes.schedule.scheduler import CONTROL_NS
from npuhal.records import dataclass, replace

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue
    from fakes.machine.signal import Signal

_WAIT_LESS, _WAIT_EQUAL, _WAIT_BIGGER, _WAIT_AT_LEAST = 0, 1, 2, 3
_STORE, _ADD, _OR, _CLEAR = 0, 1, 2, 4
_MASK = 0xFFFFFFFF
_RECORD = 6
"""SQE type of records of STARS v2."""
_TIMED = 1
_SEEN = (None,)
"""Noted by a wait that consumes a signal: broken off, it need not find it again."""
_NOTIFIED, _SET = 1, 0xFF
_REGISTER = {"event_record": ("event", _SET), "event_reset": ("event", 0), "notify_record": ("notify", _NOTIFIED)}
"""What is written to a register of the small STARS: the low byte of the value."""
_NOTIFY_TABLE_STRIDE, _NOTIFY_STRIDE = 0x10000, 4
"""Bytes between tables and entries of notify registers of STARS v1."""


def give(
    task: Task, signal: Signal, value: int, key: tuple[str, int, int], *, adds: bool = False, counts: bool = False
) -> None:
    """Set a signal, and let the queues look again that wait.

    Args:
        key: kind, card and number of the signal.
        adds: the value was changed rather than stored.
        counts: waits look for a certain value.
    """
    task.occupy(CONTROL_NS)
    if task.machine.checks is not None:
        task.machine.checks.gives(task, key, signal, value, adds=adds, counts=counts)
    signal.value = value
    signal.time = task.end
    task.device.wake()


def may_wait(device: Device, sq: SubmissionQueue, limit: int) -> bool:
    """Let a queue wait for a signal that is not there yet; False when it has waited for `limit` seconds (0: no end)."""
    if sq.wait_since < 0:
        sq.wait_since = device.passed
    if limit and device.passed - sq.wait_since >= limit * 1_000_000_000:
        return False
    device.waits_for_signal(sq)
    return True


def time_limit(fields: Mapping[str, int]) -> int:
    """Return how many seconds an entry may wait for a signal; 0: for ever."""
    return fields.get("timeout", 0)


def _wait(task: Task) -> int:
    """The signal is not there yet: wait, but not longer than the time limit of the entry."""
    limit = time_limit(task.fields)
    if not may_wait(task.device, task.sq, limit):
        task.sq.wait_since = -1
        raise TaskFault(f"waited {limit} s for a signal that did not come", Effect.TIMEOUT.value)
    return 0


def _has_come(task: Task, there: bool) -> bool:
    """Whether a signal that a wait consumes is there, or was when the wait was broken off (see `task.once`)."""
    if not task.sq.memo:
        if not there:
            return False
        task.sq.memo += _SEEN
    task.steps = len(_SEEN)
    return True


def _proceed(task: Task, signal: Signal, reached: Callable[[int], bool] | None = None) -> None:
    """The wait is over: go on, not before the signal was given."""
    if task.machine.checks is not None:
        task.machine.checks.takes(task, signal, reached)
    if signal.time > task.sq.clock:
        task.sq.clock = signal.time
    task.occupy(CONTROL_NS)


def event_record(task: Task) -> int:
    """Event record of STARS v1: the event is set and stays set until it is reset."""
    number = task.fields["event_id"]
    give(task, task.device.signal(task.device.events, number), 1, ("event", task.device.index, number))
    task.detail = f"event {number}"
    return 1


def event_wait(task: Task) -> int:
    """Event wait of STARS v1: waits until the event is set; does not clear it."""
    number = task.fields["event_id"]
    signal = task.device.signal(task.device.events, number)
    if not signal.value:
        return _wait(task)
    _proceed(task, signal)
    task.detail = f"event {number}"
    return 1


def notify_record_v1(task: Task) -> int:
    """Notify record of STARS v1."""
    number = task.fields["notify_id"]
    give(task, task.device.signal(task.device.notifies, number), 1, ("notify", task.device.index, number))
    task.detail = f"notify {number}"
    return 1


def notify_wait_v1(task: Task) -> int:
    """Notify wait of STARS v1: consumes the notify."""
    number = task.fields["notify_id"]
    signal = task.device.signal(task.device.notifies, number)
    if not _has_come(task, bool(signal.value)):
        return _wait(task)
    _proceed(task, signal)
    signal.value = 0
    task.detail = f"notify {number}"
    return 1


def _recorded(fields: Mapping[str, int], value: int, operand: int) -> int:
    mode = fields["record_mode"]
    if mode == _STORE:
        return operand
    if mode == _ADD:
        return value + operand & _MASK
    if mode == _OR:
        return value | operand
    if mode == _CLEAR:
        return value & ~operand
    raise TaskFault(f"count notify record mode {mode} does not exist", Effect.SQE_ERROR.value)


def _has_bits(wanted: int, value: int) -> bool:
    return value & wanted == wanted


_REACHED: Mapping[int, Callable[[int, int], bool]] = {
    _WAIT_LESS: operator.gt, _WAIT_EQUAL: operator.eq, _WAIT_BIGGER: operator.lt, _WAIT_AT_LEAST: operator.le,
}
"""By mode of a wait for a count notify: whether the second, its value, is what the first says."""


def _reaches(fields: Mapping[str, int]) -> Callable[[int, int], bool]:
    """Return what tells by the wanted value and the signal's whether a wait for a count notify is over."""
    return _has_bits if fields["bitmap"] else _REACHED[fields["wait_mode"]]


def _reached(fields: Mapping[str, int], value: int) -> bool:
    return _reaches(fields)(fields["cnt_value"], value)


def notify_v2(task: Task) -> int:
    """Notify and count notify of STARS v2, records and waits; events are notifies there."""
    fields, device = task.fields, task.device
    number = fields["notify_id"]
    counted = bool(fields["cnt_flag"])
    signal = device.signal(device.counters if counted else device.notifies, number)
    name = "count notify" if counted else "notify"
    if fields["type"] == _RECORD:
        key = (name, device.index, number)
        if fields["clr_flag"]:
            give(task, signal, 0, key)
            task.detail = f"{name} {number}"
        else:
            value = once(task, partial(_recorded, fields, signal.value), fields["cnt_value"]) if counted else 1
            give(task, signal, value, key, adds=counted and fields["record_mode"] != _STORE, counts=counted)
            task.detail = f"{name} {number} = {signal.value}"
        return 1
    if not _has_come(task, _reached(fields, signal.value) if counted else bool(signal.value)):
        return _wait(task)
    _proceed(task, signal, partial(_reached, fields) if counted else None)
    if fields["clr_flag"]:
        signal.value = 0
    task.detail = f"{name} {number}"
    return 1


def notify_remote(task: Task) -> int:
    """Notify record of STARS v1 through the register of any card: a write whose address names the notify."""
    from chips.addresses import by_device_info, chip_offset

    fields, chip = task.fields, task.device.chip
    card = next((other for other in task.machine.devices if other.identity.physical == fields["phy_id"]), None)
    if card is None:
        raise TaskFault(f"no card has the physical id {fields['phy_id']}", Effect.SQE_ERROR.value)
    env = EncodeEnv(chip=chip, phy_chip_id=card.identity.chip_id, phy_die_id=card.identity.die_id)
    base = int(chip.prop("notifyBase")) + (chip_offset(env) if by_device_info(env) else 0)
    table, offset = divmod(fields["addr"] - base, _NOTIFY_TABLE_STRIDE)
    number = table * int(chip.prop("starsNotifyTableSize")) + offset // _NOTIFY_STRIDE
    return record_elsewhere(task, card, number)


def record_elsewhere(task: Task, card: Device, number: int) -> int:
    """Record a notify of a card, which may be another one; returns what a handler does."""
    if not card.ids["notify"].taken(number):
        raise TaskFault(f"notify {number} of card {card.index} does not exist", Effect.SQE_ERROR.value)
    give(task, card.signal(card.notifies, number), 1, ("notify", card.index, number))
    card.wake()
    task.detail = f"notify {number} of card {card.index}"
    return 1


def event_reset_v1(task: Task) -> int:
    """Event reset of STARS v1: a write to the event's register; the event is named beside it."""
    number = task.fields["event_id"]
    give(task, task.device.signal(task.device.events, number), 0, ("event", task.device.index, number))
    task.detail = f"event {number}"
    return 1


def record_command(task: Task) -> int:
    """Event record command: the event is set; its time goes to a word of a table, a report to a queue, if asked for."""
    fields, device = task.fields, task.device
    done = event_record(task)
    if fields["flag"] & _TIMED:
        address = task.machine.virtual(fields["timeline_base"], device.index) + fields["timeline_offset"] * 8
        task.machine.memory.write(address, device.ticks(task.end).to_bytes(8, "little"), "time of an event")
    if fields["wait_cq"]:
        from fakes.executor.commands import SUCCESS, logic_report

        logic_report(task, SUCCESS, cq_id=fields["wait_cq_id"])
    return done


def notify_command(task: Task) -> int:
    """Notify record command: it names the card, by its physical id where that is another one."""
    fields, device = task.fields, task.device
    number, card = fields["notify_id"], fields["device_id"]
    if card == device.identity.physical:
        return notify_record_v1(task)
    other = next((other for other in task.machine.devices if other.identity.physical == card), None)
    if other is None:
        raise TaskFault(f"no card has the physical id {card}", Effect.SQE_ERROR.value)
    return record_elsewhere(task, other, number)


def register_write(task: Task) -> int:
    """Write to the register of an event or notify (small STARS), which have one table of ids."""
    number = task.fields["notify_id"]
    kind, value = _REGISTER[task.layout]
    give(task, task.device.signal(task.device.notifies, number), value, (kind, task.device.index, number))
    task.detail = f"{kind} {number}"
    return 1


def register_wait(task: Task) -> int:
    """Wait for a register: what was recorded as a notify is consumed, an event stays until it is reset."""
    number = task.fields["notify_id"]
    signal = task.device.signal(task.device.notifies, number)
    if not _has_come(task, bool(signal.value)):
        return _wait(task)
    _proceed(task, signal)
    if signal.value == _NOTIFIED:
        signal.value = 0
    task.detail = f"register {number}"
    return 1


@dataclass(frozen=True, slots=True)
class Does:
    """What a record or wait does that the fast path knows (`fakes.executor.plain_signals`), without its ids.

    Attributes:
        name, table: what the log calls its signal, and which signals of a card it is one of (`Device.signals`).
        value: what a record sets.
        waits, takes: it is a wait; one that takes the setting back.
        counted: the entry has the value that is set or waited for.
        reached: tells by that value and the signal's whether a wait is over; None: it is while the signal is set.
        says: the log has the value that was set.
    """

    name: str
    table: str
    value: int = 1
    waits: bool = False
    takes: bool = False
    counted: bool = False
    reached: Callable[[int, int], bool] | None = None
    says: bool = False


def does(handler: Handler, fields: Mapping[str, int]) -> Does | None:
    """Return what an entry with these fields does; None for what the fast path leaves alone."""
    if handler is not notify_v2:
        return _DOES.get(handler)
    counted = bool(fields["cnt_flag"])
    found = Does(*(("count notify", "cnt_notify") if counted else ("notify", "notify")), counted=counted)
    if fields["type"] != _RECORD:
        reached = _reaches(fields) if counted else None
        return replace(found, waits=True, takes=bool(fields["clr_flag"]), reached=reached)
    if fields["clr_flag"]:
        return replace(found, value=0, counted=False)
    return None if counted and fields["record_mode"] != _STORE else replace(found, says=True)


Handler = Callable[["Task"], int]

_DOES: Mapping[Handler, Does] = {
    event_record: Does("event", "event"),
    event_wait: Does("event", "event", waits=True),
    notify_record_v1: Does("notify", "notify"),
    notify_wait_v1: Does("notify", "notify", waits=True, takes=True),
}

STARS: Mapping[str, tuple[str, Handler]] = {
    "bare": ("event_record", accepted),
    "event_record": ("event_record", event_record),
    "event_wait": ("event_wait", event_wait),
    "event_reset": ("event_reset", event_reset_v1),
    "notify_record": ("notify_record", notify_record_v1),
    "notify_wait": ("notify_wait", notify_wait_v1),
    "notify_remote": ("notify_record", notify_remote),
    "notify_remote_pcie": ("notify_record", notify_remote),
}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "event_record_unwaited": ("event_record", accepted),
    **dict.fromkeys(("notify_record", "event_record", "event_record_counted"), ("notify_record", notify_v2)),
    **dict.fromkeys(("notify_wait", "event_wait", "event_wait_counted"), ("notify_wait", notify_v2)),
    **dict.fromkeys(("event_reset", "event_reset_counted"), ("notify_reset", notify_v2)),
}
COMMANDS: Mapping[str, tuple[str, Handler]] = {
    "event_record": ("event_record", record_command),
    "stream_wait_event": ("event_wait", event_wait),
    "event_reset": ("event_reset", event_reset_v1),
    "notify_record": ("notify_record", notify_command),
    "notify_wait": ("notify_wait", notify_wait_v1),
}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {
    "event_record": ("event_record", register_write),
    "event_record_unwaited": ("event_record", accepted),
    "event_reset": ("event_reset", register_write),
    "notify_record": ("notify_record", register_write),
    "notify_wait": ("notify_wait", register_wait),
}
