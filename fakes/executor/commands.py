"""Executing commands (chips without STARS): like entries, but the scheduler says otherwise what became of them.

Where a table is shared with the host (`halSqCqAllocate` of type SHM) it writes the row of the stream: the last task,
the first and the last failure. Elsewhere it reports each command that asks for it, in one completion queue for all
streams. A queue goes on behind a failed command, unless its stream was told to stop there (SET_STREAM_MODE).
Source: struct rtShmQuery_t and struct tagTsTaskReportMsg of the runtime's task.hpp and hwts.hpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chips.completion import Cqe, pack_logic_report
from chips.tasks import TaskType
from chips.traits import CompletionKind
from fakes.errors import MemoryFault, TaskFault
from fakes.executor import error_ring
from fakes.executor.executor import Executor
from fakes.executor.task import once

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue

_VERSION_SHIFT = 12
SUCCESS, TASK_ERROR, TSCH_VERSION, OVERFLOW = 0, 2, 4, 5
"""Kinds of logic reports."""
_OVERFLOWS = {"kernel_aicore": 0x2F, "kernel_aivec": 0x33}
"""Codes of the overflow of a kernel (TS_ERROR_AICORE_OVERFLOW, TS_ERROR_AIVEC_OVERFLOW)."""


class CommandExecutor(Executor):
    """Decodes and executes the commands of a machine."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        assert machine.plugin.commands is not None  # its entries are commands
        self._commands = machine.plugin.commands
        self._shares_table = machine.chip.traits.completion is CompletionKind.STATUS_TABLE
        no_report = self.header.field("no_report").offset
        self._quiet_byte, self._quiet_bit = no_report // 8, 1 << no_report % 8

    reports_ends = True

    def _report_end(self, task: Task, taken: int) -> None:
        """Report a task that is over, and an overflow besides."""
        if task.warning:
            once(task, partial(logic_report, task, OVERFLOW), _OVERFLOWS.get(task.layout, _OVERFLOWS["kernel_aicore"]))
        once(task, partial(self._say, task, taken), task.error_code)
        self.machine.changed.notify_all()

    def _learn(self, task: Task) -> None:
        """Leave commands to the slow path: the fast ones tell the host nothing of what is over."""

    def _fail(self, task: Task, fault: TaskFault | MemoryFault) -> None:
        """Say that a task has failed; its queue goes on unless its stream stops at failures."""
        sq, device = task.sq, task.device
        error_type, code = self._failing(task, fault)
        layout = self.layouts.get(task.layout)
        kind = TaskType.NOP if layout is None or not layout.task else TaskType[layout.task]
        code = code or self._commands.failure(error_type, kind)
        task.detail = f"error {code:#x}"
        error_ring.report(task, error_type, code, sq.stream_id, self.task_id(task))
        sq.wait_since = -1
        once(task, partial(self._say, task, 1, failed=True), code)
        self._end(task, 1, None, stops=sq.stream_id in device.commands.stops_at_failures)
        device.wake()
        self.machine.changed.notify_all()

    def _say(self, task: Task, taken: int, word: int, *, failed: bool = False) -> None:
        """Tell the host that a task is over; `word` is the code of a failure, or what the task answers."""
        if self._shares_table:
            task.device.commands.write_row(task.sq.stream_id, self.task_id(task), word if failed else 0)
        elif failed or not task.raw[self._quiet_byte] & self._quiet_bit:
            self._report(task, taken, word)

    def _report(self, task: Task, taken: int, word: int) -> None:
        words: tuple[int, ...] = (word,)
        sq = task.sq
        if task.kind == "event_record":  # its report is its time, in two parts
            ticks = task.device.ticks(task.end)
            words = ticks & 0xFFFFFFFF, ticks >> 32
        head = (sq.head + taken) % sq.depth
        task.device.commands.report(sq.stream_id, self.task_id(task), sq.sq_id, head, *words)

    def _cqe(self, task: Task, error_type: int, error_code: int) -> Cqe:
        raise AssertionError("commands have no completion entries")

    def expire(self, device: Device, sq: SubmissionQueue) -> None:
        """Stop the hanging command at the head of a queue with a time-out."""
        super().expire(device, sq)
        device.activate(sq)

    def stop(self, device: Device, sq: SubmissionQueue) -> None:
        """End the command at the head of a queue on request; the others go on."""
        super().stop(device, sq)
        device.activate(sq)

    def _credit_limit(self, task: Task) -> int:
        limit = task.device.commands.operator_limit_s
        return task.device.passed + limit * 1_000_000_000 if limit and task.kind in ("kernel", "aicpu") else -1


def logic_report(task: Task, kind: int, code: int = 0, payload: int = 0, cq_id: int | None = None) -> None:
    """Put a report into a logic CQ: that of the task's stream, or another one."""
    device, sq = task.device, task.sq
    logic = device.bound.get(sq.stream_id) if cq_id is None else device.logic.get(cq_id)
    if logic is not None and not logic.freed:
        task_id = task.machine.executor.task_id(task)
        logic.put(pack_logic_report(sq.stream_id, task_id, kind, code, payload, logic.cq_id))


def announce_version(task: Task) -> None:
    """Tell the host which version the scheduler has, as it does when it is told of a stream."""
    device = task.device
    version = device.identity.ts_version
    if device.chip.traits.completion is CompletionKind.STATUS_TABLE:
        logic_report(task, TSCH_VERSION, payload=version, cq_id=task.fields["logic_cq_id"])
    else:
        task.error_code = version << _VERSION_SHIFT
