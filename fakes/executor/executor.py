"""Executing a queue: its head is decoded, handed to what executes such a task, and reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chips import credit
from chips.completion import ModelStatus
from chips.env import CAPABILITIES, EncodeEnv
from fakes.errors import Hang, MemoryFault, NotModelled, StandInFailed, TaskFault
from fakes.executor import (
    aicpu,
    control,
    doorbell,
    error_ring,
    event,
    fusion,
    kernel,
    media,
    memory,
    model,
    scheduled,
    value,
)
from fakes.executor.condition import Registers
from fakes.executor.fast_path import PlainKernels
from fakes.executor.plain_signals import PlainSignals
from fakes.executor.reader import MOST_KEPT, TYPE, Reader
from fakes.executor.task import WAIT, Handler, Task, accepted
from fakes.faults import Effect
from fakes.machine.begun import NOT_PLAIN, WAITS
from fakes.machine.journal import Executed, new_entry
from fakes.machine.queues import SQE_BYTES, SubmissionQueue, completion
from fakes.schedule.scheduler import CONTROL_NS

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.completion import Cqe
    from chips.layout import Layout
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine


_INVALID = 63
_ORDERING = frozenset({
    "event_record", "event_wait", "event_reset", "notify_record", "notify_wait", "notify_reset", "write_value",
    "memory_wait", "mem_wait", "host_callback", "model_execute", "stream_active",
})  # fmt: skip
"""Kinds of tasks that order queues among each other."""
_IDS = ("event_id", "notify_id", "cnt_value")
"""Fields in which most entries of these kinds differ each time."""
_NO_LIMIT = 255
"""Kernel credit that means: no time-out."""
_STOPPED = 0x5B
"""What the completion of a task that was stopped on request says (TS_ERROR_AICORE_ERROR_SW)."""

Decoded = tuple[str, dict[str, int], str, Handler]
"""Layout, fields without the number of the task, kind in the log, and handler of an entry."""

_MODULES = (kernel, aicpu, scheduled, fusion, memory, value, doorbell, event, model, control, media)


def handlers(chip: Chip) -> Mapping[str, tuple[str, Handler]]:
    """Return layout name -> (kind in the log, handler) for the entries of a chip."""
    table: dict[str, tuple[str, Handler]] = {"invalid": ("invalid", control.invalid)}
    for module in _MODULES:
        table.update(getattr(module, chip.traits.entries.name))
    return table


class Executor:
    """Decodes and executes the head of a queue; the same for all cards of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.handlers = handlers(machine.chip)
        self.layouts = machine.plugin.layouts
        self.header = self.layouts["header"]
        self.wr_cqe = 1 << self.header.field("wr_cqe").offset if "wr_cqe" in self.header else 0
        counted = EncodeEnv(
            chip=machine.chip, ts_features=frozenset({"OP_EXEC_TIMEOUT_MS"}),
            credit_interval_us=machine.options.op_interval_ns / 1000,
        )
        self.credit_ns = int(credit.interval_us(counted) * 1000)
        """Virtual time of one unit of kernel credit; 0 when the chip states none."""
        self._reader = Reader(machine.plugin.layouts)
        self.identify = self._reader.identify
        self.stream_ids = "stream_id" in self.header
        """STARS v1 SQEs carry a stream and a task id, STARS v2 ones a 32-bit serial number."""
        self.number = self.header.field("task_id" if self.stream_ids else "task_sn")
        """Where an entry has the number of its task."""
        self._without_number = ~(((1 << self.number.width) - 1) << self.number.offset)
        self._numbered = {"invalid"}
        for layout in self.layouts.values():
            if self.number.name in layout and layout.field(self.number.name).offset == self.number.offset:
                self._numbered.add(layout.name)
        self._identified: dict[str, tuple[int, tuple[tuple[str, int, int], ...]]] = {}
        """By layout of entries that order queues: the bits without ids, and name, first bit and mask of each id."""
        for name, (kind, _) in self.handlers.items():
            if kind in _ORDERING and name in self.layouts:
                layout = self.layouts[name]
                ids = [layout.field(each) for each in _IDS if each in layout]
                if ids:
                    parts = tuple((each.name, each.offset, (1 << each.width) - 1) for each in ids)
                    kept = self._without_number
                    for _, at, mask in parts:
                        kept &= ~(mask << at)
                    self._identified[name] = kept, parts
        self._without_id: dict[int, dict[str, int]] = {}
        """Fields of such entries, whose ids are those of one of them."""
        self._decoded: dict[int, Decoded] = {}
        self._seen: set[int] = set()
        """Entries that were decoded once: what comes again is kept."""
        self.ended = NOT_PLAIN
        """What became of the last task that was to be executed, on the fast path."""
        self.plains = PlainKernels(self, self._without_number)
        self.signals = PlainSignals(self)
        self._fast: list[Callable[[Device, SubmissionQueue, bytes, int], int] | None] = [None] * (TYPE + 1)
        """By type of the entry: the fast path for some such tasks."""
        self.names_queues = machine.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE") and machine.options.scheduler_has(
            CAPABILITIES["SOFTWARE_SQ_ENABLE"]
        )
        """Whether reports about models name the queue of a task; otherwise its stream."""

    reports_ends = False
    """Whether `_report_end` has something to say."""

    def registers(self, device: Device) -> Registers:
        """Return what condition programs of a card reach besides its memory."""
        return Registers(device)

    def execute(self, device: Device, sq: SubmissionQueue, end: int = 0) -> bool:
        """Execute the task at the head of the queue; False when it has to wait.

        Of plain kernels all that follow each other may be executed, until the card has executed `end` tasks; what is
        returned is what became of the last one. Raises NotModelled, with the task's name, for what the fake cannot do;
        the queue then stands still.
        """
        if sq.arrivals and sq.arrivals[0][0] <= sq.done:
            sq.arrive()
        position = sq.head
        at = position * SQE_BYTES
        raw = sq.entries[at : at + SQE_BYTES]
        fast = self._fast[raw[0] & TYPE]
        ended = self.ended = NOT_PLAIN if fast is None else fast(device, sq, raw, end)
        if ended:
            return ended != WAITS
        task = self.read(device, sq, position, raw)
        machine = self.machine
        if machine.checks is not None:
            machine.checks.begin(task)
        if not self.carry_out(task, self._at_risk if machine.faults.tasks else task.handler):
            return False
        device.executed += 1
        if machine.checks is None and sq.enabled and not machine.faults.tasks:
            self._learn(task)
        return True

    def run_on(self, device: Device, sq: SubmissionQueue, end: int) -> int:
        """Execute plain kernels at the head of a queue until the card has executed `end` tasks, as `execute` does.

        Returns what became of the last one.
        """
        if sq.arrivals and sq.arrivals[0][0] <= sq.done:
            sq.arrive()
        return self.plains.run(device, sq, sq.entry(sq.head), end)

    def _learn(self, task: Task) -> None:
        """Take the fast path for entries like the one of a task that was done, if there is one for it."""
        identified = self._identified.get(task.layout)
        if task.kind == "kernel" and self.plains.learn(task):
            self._fast[task.raw[0] & TYPE] = self.plains.run
        elif identified is not None and self.signals.learn(task, identified[0]):
            self._fast[task.raw[0] & TYPE] = self.signals.run

    def _at_risk(self, task: Task) -> int:
        """Do the work of a task unless it is lost by a fault rule; the rule may also raise."""
        return 1 if self.machine.faults.strike(task) else task.handler(task)

    def carry_out(self, task: Task, work: Handler) -> bool:
        """Do the work of a task and what follows from how it ends; False when it has to wait."""
        sq, checks = task.sq, self.machine.checks
        try:
            taken = work(task)
        except Hang as hang:
            sq.hung = str(hang)
            sq.memo.clear()
            sq.hang_limit = self._credit_limit(task)
            self.machine.problem(f"{self.describe(task)} hangs: {hang}")
            return True
        except NotModelled as gap:
            if not self.machine.raises:
                self._fail(task, TaskFault(str(gap)))
                return True
            sq.hung = str(gap)
            raise NotModelled(f"{self.describe(task)} ({gap.name})", gap.detail) from None
        except (TaskFault, MemoryFault) as fault:
            fault.__traceback__ = None  # it stays with its task, and would keep what the program drops in these frames
            self._fail(task, fault)
            if isinstance(fault, StandInFailed) and fault.__cause__ is not None:
                self.machine.stand_in_failed(fault.__cause__)
            return True
        except Exception as error:
            from npuhal.interrupts import raised_by_handler  # late: where something has gone wrong

            if self.machine.raises or raised_by_handler(error):
                raise
            self._fail(task, TaskFault(f"{type(error).__name__}: {error}"))
            self.machine.defect(error)
            return True
        if taken == WAIT:
            if sq.memo:
                sq.memo.clear()
            if checks is not None:
                checks.waits(task)
            return False
        self._finish(task, taken)
        return True

    def decode(self, device: Device, sq: SubmissionQueue) -> Task:
        """Read and decode the SQE at the head of a queue."""
        return self.decode_at(device, sq, sq.head)

    def decode_at(self, device: Device, sq: SubmissionQueue, position: int) -> Task:
        """Read and decode the SQE at a position of a queue."""
        return self.read(device, sq, position, sq.entry(position))

    def read(self, device: Device, sq: SubmissionQueue, position: int, raw: bytes) -> Task:
        """Return the task that an SQE stands for; what was decoded is kept by the bits without the task's number."""
        word = int.from_bytes(raw, "little")
        found = self._decoded.get(word & self._without_number)
        if found is None:
            found = self._decode(raw, word)
            if found[0] not in self._identified:  # those have an id that is another one each time
                self._keep(word & self._without_number, found)
        return Task(self.machine, device, sq, position, raw, *found)

    def _keep(self, key: int, decoded: Decoded) -> None:
        """Keep an entry that was decoded, if it was there before."""
        seen = self._seen
        if key in seen:
            self._decoded[key] = decoded
            return
        seen.add(key)
        if len(seen) > MOST_KEPT:
            self._decoded.clear()
            seen.clear()

    def _decode(self, raw: bytes, word: int) -> Decoded:
        """Decode an SQE, which is also given as a number."""
        layout: Layout | None = self._reader.look_up(raw, word)
        name = "" if layout is None else layout.name
        known = self.handlers.get(name)
        if known is not None and layout is not None:
            if known[1] is accepted:
                return name, {"wr_cqe": int.from_bytes(raw[:2], "little") & self.wr_cqe}, *known
            if (identified := self._identified.get(name)) is not None:
                return name, self._fields_of(layout, raw, word, *identified), *known
            fields = layout.decode(raw)
        elif layout is None or layout.when.get("type") == _INVALID:
            name, fields, known = "invalid", self.header.decode(raw[: self.header.size]), ("invalid", control.invalid)
        else:
            fields, known = layout.decode(raw), (layout.task or layout.name, control.unmodelled)
        if name in self._numbered:
            del fields[self.number.name]
        return name, fields, *known

    def _fields_of(
        self, layout: Layout, raw: bytes, word: int, kept: int, ids: tuple[tuple[str, int, int], ...]
    ) -> dict[str, int]:
        """Return the fields of an entry with ids, without its number."""
        key = word & kept
        known = self._without_id.get(key)
        if known is not None:
            fields = known.copy()
            for name, at, mask in ids:
                fields[name] = word >> at & mask
            return fields
        fields = layout.decode(raw)
        if layout.name in self._numbered:
            del fields[self.number.name]
        if len(self._without_id) > MOST_KEPT:
            self._without_id.clear()
        self._without_id[key] = fields.copy()
        return fields

    def near(self, device: Device) -> bool:
        """Whether a queue that could run is about to record or wait: points where the order of queues matters."""
        for sq in device.active.values():
            if sq.runnable:
                layout = self.identify(sq.entry(sq.head))
                if layout is not None and self.handlers.get(layout.name, ("",))[0] in _ORDERING:
                    return True
        return False

    def peek(self, device: Device, sq: SubmissionQueue, position: int) -> Task | None:
        """Return the entry at a position if it is a copy, decoded; None for everything else."""
        layout = self.identify(sq.entry(position))
        return None if layout is None or layout.name not in memory.COPIES else self.decode_at(device, sq, position)

    def describe(self, task: Task) -> str:
        """Name a task for a message."""
        name = f" '{task.kernel_name}'" if task.kernel_name else ""
        return (
            f"task {task.kind}{name} at position {task.position} of stream {task.sq.stream_id} "
            f"on device {task.device.index}"
        )

    def _credit_limit(self, task: Task) -> int:
        """Idle time at which a hanging kernel runs out of credit; -1 when it has no limit."""
        units = task.fields.get("kernel_credit", 0)
        limited = 0 < units < _NO_LIMIT and self.credit_ns
        return task.device.passed + units * self.credit_ns if limited else -1

    def expire(self, device: Device, sq: SubmissionQueue) -> None:
        """Stop the hanging task at the head of a queue with a time-out."""
        sq.hung, sq.hang_limit = "", -1
        self._fail(self.decode(device, sq), TaskFault("ran out of its time credit", Effect.TIMEOUT.value))
        self.machine.changed.notify_all()

    def stop(self, device: Device, sq: SubmissionQueue) -> None:
        """End the task at the head of a queue on request; what is behind it stays."""
        if sq.pending and sq.enabled:
            sq.hung, sq.hang_limit = "", -1
            self._fail(self.decode(device, sq), TaskFault("stopped on request", Effect.SOFTWARE.value, _STOPPED))
            self.machine.changed.notify_all()

    def fail_head(self, device: Device, sq: SubmissionQueue, error_type: int, code: int) -> None:
        """End the task at the head of a queue with an error that the scheduler has decided on."""
        self._fail(self.decode(device, sq), TaskFault("stopped by the scheduler", error_type, code))
        self.machine.changed.notify_all()

    def _finish(self, task: Task, taken: int) -> None:
        sq = task.sq
        if (caller := self.machine.memory.caller) is not None:
            caller.settle()
        if task.start < 0:
            task.occupy(CONTROL_NS)
        sq.wait_since = -1
        if self.machine.checks is not None:
            self.machine.checks.done(task)
        if self.reports_ends:
            self._report_end(task, taken)
        if task.fields.get("wr_cqe") or task.warning:
            self._end(task, taken, self._cqe(task, Effect.WARNING.value if task.warning else 0, task.error_code))
            return
        log, memo = self.machine.log, sq.memo  # as in `_end`, of a task without a completion
        entry = new_entry(Executed, (
            task.start, task.end, task.device.index, sq.stream_id, task.position, task.kind, task.detail
        ))  # fmt: skip
        sq.head = (sq.head + taken) % sq.depth
        sq.done += taken
        log += (entry,)
        if memo:
            memo.clear()

    def _report_end(self, task: Task, taken: int) -> None:
        """Say in another way than by a completion that a task is over."""

    def _end(self, task: Task, taken: int, cqe: Cqe | None, *, stops: bool = False) -> None:
        """Move the head, log the task and deliver its completion, in one step: the task is over, or begins again."""
        sq, log = task.sq, self.machine.log
        entry = new_entry(Executed, (
            task.start, task.end, task.device.index, sq.stream_id, task.position, task.kind, task.detail
        ))  # fmt: skip
        target = None if cqe is None else sq.receiver()
        head = (sq.head + taken) % sq.depth
        # nothing from here on can be interrupted
        sq.head = head
        sq.done += taken
        if stops:
            sq.enabled = False
        log += (entry,)
        if cqe is not None:
            sq.cqe_status = 1
            if target is not None:
                target += (cqe,)
        sq.memo.clear()
        if cqe is not None:
            if target is None:
                sq.lose()
            self.machine.changed.notify_all()

    def _fail(self, task: Task, fault: TaskFault | MemoryFault) -> None:
        """Report a failed task and stop its queue, as the hardware does; the host moves on and enables it again."""
        sq = task.sq
        error_type, code = self._failing(task, fault)
        task.detail = f"error {error_type:#x}"
        inner = self._cqe(task, error_type, code)
        # where descriptors name no stream, the host finds the task by its position in the queue
        stream_id, number = (inner.stream_id, inner.task_id) if self.stream_ids else (sq.stream_id, task.position)
        error_ring.report(task, error_type, code, stream_id, number)
        model = task.device.models.of_queue(sq)
        if model is None or model.executing is None:
            self._end(task, 0, inner, stops=True)
            return
        # what waits for the end of the model is what fails; its code names queue and task inside
        runner = model.executing
        task.device.models.halt(model.model_id, but=sq)
        if self.machine.checks is not None:
            self.machine.checks.passes_on(sq, runner)
        entry = self.decode(task.device, runner)
        entry.end = task.end
        status = ModelStatus(number, sq.sq_id if self.names_queues else sq.stream_id)
        cqe, target, left = self._cqe(entry, Effect.SOFTWARE.value, status.pack()), runner.receiver(), sq.pending
        # nothing from here on can be interrupted
        model.executing = None
        runner.enabled, runner.failure, runner.cqe_status = False, fault, 1
        if target is not None:
            target += (cqe,)
        self._end(task, left, None, stops=True)
        task.device.activate(sq)
        if target is None:
            runner.lose()
        self.machine.changed.notify_all()

    def task_id(self, task: Task) -> int:
        """Return the number of a task, as far as 16 bits say it."""
        return int.from_bytes(task.raw[:8], "little") >> self.number.offset & 0xFFFF

    def _failing(self, task: Task, fault: TaskFault | MemoryFault) -> tuple[int, int]:
        """Note that a task has failed, and why; returns error type and code, 0 where the fault has none."""
        if task.start < 0:
            task.occupy(CONTROL_NS)
        self.machine.problem(f"{self.describe(task)} failed: {fault}")
        if self.machine.checks is not None:
            self.machine.checks.failed(task, fault)
        task.sq.failure = fault
        return (fault.error_type, fault.code) if isinstance(fault, TaskFault) else (Effect.EXCEPTION.value, 0)

    def _cqe(self, task: Task, error_type: int, error_code: int) -> Cqe:
        fields, sq = self.header.decode(task.raw[:8]), task.sq
        if self.stream_ids:
            stream_id, task_id = fields["stream_id"], fields["task_id"]
            match, stream_id = bool(stream_id & 0x8000), stream_id & 0x7FFF
        else:
            stream_id, task_id, match = fields["task_sn"] & 0xFFFF, fields["task_sn"] >> 16, False
        return completion(
            stream_id, task_id, sq.sq_id, task.position, fields["type"], error_type, error_code, match,
            task.device.ticks(task.end),
        )  # fmt: skip
