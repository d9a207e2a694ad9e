"""The fast path of records that set a signal, and of waits, where nothing checks or can fail.

Their entries are known by their bits without the number of the task and the ids. A wait that has waited too long, and
whatever else is unusual, is left to the slow path, `fakes.executor.event`: both give the same log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.executor import event
from fakes.executor.reader import MOST_KEPT, TYPE
from fakes.machine.begun import DONE, NOT_PLAIN, WAITS
from fakes.machine.journal import Executed, new_entry
from fakes.machine.signal import Signal
from fakes.schedule.scheduler import CONTROL_NS
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from chips.layout import Field as Bits
    from fakes.executor.executor import Executor
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

_NO_VALUE = 0, 0


@dataclass(frozen=True, slots=True)
class Plain:
    """What an entry does, and where its ids are.

    Attributes:
        kind: what the log calls the task.
        number_at, number_mask: where the entry has the number of the signal.
        value_at, value_mask: where it has the value that is set or waited for; no mask: it has none.
        limit: how many seconds it waits at most; 0: there is no limit.
        said: what the log says of each signal, where that is not the value as well.
    """

    kind: str
    does: event.Does
    number_at: int
    number_mask: int
    value_at: int
    value_mask: int
    limit: int
    said: dict[int, str] = field(default_factory=dict)


class PlainSignals:
    """The plain records and waits of a machine."""

    def __init__(self, executor: Executor) -> None:
        self._executor, self._machine = executor, executor.machine
        self._masks: list[int] = [0] * (TYPE + 1)
        """By type of the entry: its bits without the number of the task and ids; 0 until there was one."""
        self._plains: dict[int, Plain] = {}

    def learn(self, task: Task, kept: int) -> bool:
        """Remember a task that was done on the slow path, of which these bits are kept; False if this is not for it."""
        fields, kind = task.fields, task.raw[0] & TYPE
        does = event.does(task.handler, fields)
        if does is None or fields.get("wr_cqe") or self._masks[kind] not in (0, kept):
            return False
        layout = self._machine.plugin.layouts[task.layout]
        number_at, number_mask = _bits(layout.field("event_id" if "event_id" in layout else "notify_id"))
        value_at, value_mask = _bits(layout.field("cnt_value")) if does.counted else _NO_VALUE
        if len(self._plains) >= MOST_KEPT:
            self._plains.clear()
        self._plains[int.from_bytes(task.raw, "little") & kept] = Plain(
            task.kind, does, number_at, number_mask, value_at, value_mask, event.time_limit(fields)
        )
        self._masks[kind] = kept
        return True

    def run(self, device: Device, sq: SubmissionQueue, raw: bytes, _end: int) -> int:
        """Execute the task at the head of a queue, an SQE, if it is plain; returns what became of it."""
        word = int.from_bytes(raw, "little")
        plain = self._plains.get(word & self._masks[raw[0] & TYPE])
        machine = self._machine
        if sq.memo:
            return NOT_PLAIN  # it was broken off
        if plain is None or machine.checks is not None or machine.faults.tasks or machine.memory.caller is not None:
            return NOT_PLAIN
        does = plain.does
        number = word >> plain.number_at & plain.number_mask
        value = word >> plain.value_at & plain.value_mask if plain.value_mask else does.value
        signals = device.signals[does.table]
        signal, start, waits = signals.get(number), sq.clock, does.waits
        if waits:
            reached = does.reached
            if signal is None or not (signal.value if reached is None else reached(value, signal.value)):
                return WAITS if event.may_wait(device, sq, plain.limit) else NOT_PLAIN
            if signal.time > start:
                start = signal.time
        else:
            if signal is None:
                signal = signals[number] = Signal()
            device.wake()
        end, position, append = start + CONTROL_NS, sq.head, machine.log.append
        detail = f"{does.name} {number} = {value}" if does.says else plain.said.get(number) or _said(plain, number)
        entry = new_entry(Executed, (start, end, device.index, sq.stream_id, position, plain.kind, detail))
        # nothing from here on can be interrupted, but behind the one call
        if does.takes:
            signal.value = 0
        elif not waits:
            signal.value, signal.time = value, end
        sq.clock, sq.wait_since = end, -1
        sq.head = (position + 1) % sq.depth
        sq.done += 1
        device.executed += 1
        append(entry)
        return DONE


def _said(plain: Plain, number: int) -> str:
    """Return what the log says of a signal without its value, and remember it: there are no more of them than ids."""
    said = plain.said[number] = f"{plain.does.name} {number}"
    return said


def _bits(found: Bits) -> tuple[int, int]:
    """Return first bit and mask of a field."""
    return found.offset, (1 << found.width) - 1
