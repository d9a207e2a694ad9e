"""The one thing that the fake tells what happens; it asks the checkers that are on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import get_ident
from typing import TYPE_CHECKING

from fakes.checkers import leaks
from fakes.checkers.access import ARGUMENTS, LOAD, READ, RELEASE, WRITE
from fakes.checkers.graphs import Graphs
from fakes.checkers.lifetime import Lifetimes
from fakes.checkers.names import Names, at
from fakes.checkers.order import HOST, Actor, Stamp
from fakes.checkers.parts import Parts
from fakes.checkers.queue import BY_POINTER, POLLING, Queue, Submission, united
from fakes.checkers.race import NOTHING, Known, Races
from fakes.checkers.report import CHECKS, DEADLOCK, LEAK, SOURCE, CheckFailed, Report, Reports
from fakes.checkers.shadow import Work
from fakes.checkers.signals import Handover
from fakes.checkers.source import Piece, Sources
from fakes.checkers.waits import Waits, recorded, taken_back
from npuhal import constants
from npuhal.late import logger

if TYPE_CHECKING:
    from fakes.errors import MemoryFault, TaskFault
    from fakes.executor.task import Task
    from fakes.machine.blocks import Allocation
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue
    from fakes.machine.signal import Signal

SQE_BYTES = 64
_LOG = logger("npuhal.fake.check")


class Checks:
    """The checkers of one machine. Everything here runs under the machine's lock."""

    def __init__(self, machine: Machine, wanted: Collection[str] = CHECKS) -> None:
        self.machine = machine
        self.wanted = frozenset(wanted)
        self.names = Names()
        self.serial = 0
        """Number of the last access."""
        self._reports = Reports()
        self.listener: Callable[[Report], None] | None = None
        """Hears each report when it is made."""
        self.refine: Callable[[Report], Report] | None = None
        """Adds to a report what a program above the runtime calls the things in it."""
        self._host = Actor(HOST)
        self._queues: dict[SubmissionQueue, Queue] = {}
        self._count = 1
        self._runtime = Actor(HOST)
        """Knows what only the runtime has seen."""
        self._internal: dict[int, int] = {}
        """Threads that read for the runtime alone, and how deep they are nested in that."""
        self._arguments: dict[Allocation, SubmissionQueue] = {}
        self._calls: dict[tuple[int, int], list[Stamp]] = {}
        self.races = Races(self)
        self._handover = Handover()
        self._lifetimes = Lifetimes(self)
        self._parts = Parts(self)
        self._graphs = Graphs(self, self._parts)
        self._sources = Sources(self)
        self._waits = Waits(self)
        self._follows = bool(self.wanted - {DEADLOCK, LEAK})

    def on(self, check: str) -> bool:
        """Whether a checker is on."""
        return check in self.wanted

    # -- reports ------------------------------------------------------------------------------------------------------

    @property
    def reports(self) -> Reports:
        """What was found until now; waits that make no progress are judged first."""
        with self.machine.lock:
            if DEADLOCK in self.wanted:
                self._waits.look()
        return self._reports

    def report(self, report: Report, same: object) -> bool:
        """Keep a report unless the same was made before."""
        if self.refine is not None and self._reports.wants(report, same):
            report = self.refine(report)
        new = self._reports.add(report, same)
        if new:
            _LOG.error("%s", report)
            if self.listener is not None:
                self.listener(report)
        return new

    def finish(self) -> None:
        """The machine was closed.

        Raises:
            CheckFailed: there are reports that nobody has taken.
        """
        if left := self._reports.take():
            raise CheckFailed(left)

    # -- the host -----------------------------------------------------------------------------------------------------

    def _step(self) -> Stamp:
        """Return the host's next step."""
        self._host.tick += 1
        return self._host.stamp()

    def submitted(self, device: Device, sq: SubmissionQueue, position: int, count: int) -> None:
        """The host has filled ring positions."""
        self._waits.moved()
        queue = self._queue(sq)
        stamp, where = self._host.stamp(), self.names.site()
        executor = self.machine.executor
        sources = SOURCE in self.wanted and sq not in device.models
        for step in range(count):
            at_position = (position + step) % sq.depth
            pieces: list[Piece] = []
            if sources:
                task = executor.peek(device, sq, at_position)
                if task is not None:
                    pieces = self._sources.look(task)
            queue.submitted[at_position] = Submission(stamp, where, pieces, self._runtime.known)

    def recorded(self, stream: int, device: int, position: int, count: int) -> None:
        """Entries of a graph were made or changed, on the device or not."""
        known = Submission(self._host.stamp(), self.names.site(), [], self._runtime.known)
        self._graphs.recorded(device, stream, position, count, known)
        sq = self.machine.devices[device].by_stream.get(stream)
        if sq is not None and sq in self.machine.devices[device].models:
            self._queue(sq).submitted.update(dict.fromkeys(range(position, position + count), known))

    def bound(self, device: Device, sq: SubmissionQueue) -> None:
        """A queue was lent to a stream whose entries lie in memory already, or taken back from one."""
        self._queue(sq).submitted = self._graphs.entries(device.index, sq.stream_id)

    def looked(self, sq: SubmissionQueue) -> None:
        """The host has read how far a queue is; no order for the program when it is the runtime's own affair."""
        queue = self._queue(sq)
        if self._internal and get_ident() in self._internal:
            queue.read = queue.past()
            self._runtime.join(queue.read)
        else:
            self._learn(queue.past())

    def _seen(self, block: Allocation | None, known: Known) -> Known:
        """Return what the runtime has seen where it counts: for memory that no program has asked for."""
        return NOTHING if block is None or block.asked or block.parts else known

    def remark(self, what: str, device_id: int, sq_id: int) -> None:
        """The runtime says whether the program uses what is read; see `HalApi.remark`."""
        if what == "observed":
            sq = self.machine.devices[device_id].queues.get(sq_id)
            queue = None if sq is None else self._queues.get(sq)
            if queue is not None and queue.read is not None:
                self._learn(queue.read)
            return
        me = get_ident()
        depth = self._internal.pop(me, 0) + (1 if what == "internal" else -1)
        if depth > 0:
            self._internal[me] = depth

    def _learn(self, stamp: Stamp) -> None:
        known = self._host.known
        self._host.join(stamp)
        if self._host.known is not known:
            self._host.tick += 1

    def heard(self, device: Device, kind: int, cq_id: int) -> None:
        """The host has received what lay in a completion queue."""
        if kind == constants.DRV_CALLBACK_TYPE:
            self._waits.called((device.index, cq_id))
            for stamp in self._calls.pop((device.index, cq_id), ()):
                self._learn(stamp)
            return
        for sq in device.queues.values():
            if sq.cq_id == cq_id if kind == constants.DRV_NORMAL_TYPE else sq.logic is device.logic.get(cq_id):
                self.looked(sq)

    def host_copy(self, dst: int, src: int, size: int, call: str) -> None:
        """The host copies by a call of the driver, at once; source 0: it fills."""
        self._waits.moved()
        if src:
            self._host_access(src, size, False, call)
        self._host_access(dst, size, True, call)

    def filled(self, device: Device, sq: SubmissionQueue, address: int, size: int) -> None:
        """The host writes entries into the memory of a queue that is bound to a stream."""
        self.submitted(device, sq, (address - sq.ring.base) // SQE_BYTES, size // SQE_BYTES)
        self._queue(sq).submitted.update(self._graphs.entries(device.index, sq.stream_id))
        self._host_access(address, size, True, "halStreamTaskFill")

    def _host_access(self, address: int, size: int, write: bool, call: str) -> None:
        if not self._follows or not size:
            return
        self._step()
        block = self.machine.memory.find(address)
        if block is None:
            return  # memory of the program itself: how the program uses it is not ours to see
        low = block.pointer + address - block.base
        work = self._host_work(call, block.device)
        seen = self._seen(block, self._runtime.known)
        self.races.touch(self._host, work, block, low, low + size, WRITE if write else READ, seen)
        if get_ident() not in self._internal:  # the runtime itself saves and restores whole pieces
            self._parts.touched(block, address, size, work.tick, work)

    def _host_work(self, call: str, device: int) -> Work:
        self.serial += 1
        return Work(HOST, self._host.tick, self.serial, call, -1, device, -1, self.names.site())

    def host_signalled(self, key: tuple[str, int, int], signal: Signal, value: int) -> None:
        """The host sets a signal itself."""
        self._waits.moved()
        self._handover.give(signal, value, self._step())
        self._waits.happened(key, "recorded" if value else "reset", None, self.names.site())

    def allocated(self, block: Allocation) -> None:
        """A block came into being."""
        self._waits.moved()
        block.site = self.names.site()
        self.names.forget(("mem", block.base))
        self._lifetimes.allocated(block, self._step().tick)
        if not block.alias:
            self.races.shadow.forget(block.pointer, block.pointer + block.span)

    def freed(self, block: Allocation) -> None:
        """The host frees a block."""
        self._waits.moved()
        self._step()
        if block.alias:
            self._lifetimes.freed(self._host, block, self.names.site(), [], self._queued_on(block))
            return
        low, high = block.pointer, block.pointer + block.span
        users = self.races.users(self._host, low, high, self._seen(block, self._runtime.known))
        self._lifetimes.freed(self._host, block, self.names.site(), users, self._queued_on(block))
        self._arguments.pop(block, None)
        self._parts.forget(block)
        self.races.shadow.forget(low, high)

    def part(self, address: int, size: int | None, graph: int = -1) -> None:
        """The runtime has handed out a part of a piece of memory, perhaps for a graph, or takes it back (None)."""
        self._waits.moved()
        if (block := self.machine.memory.find(address)) is not None:
            self._parts.told(block, address, size, self._step().tick, self.names.site(), graph)

    def _queued_on(self, block: Allocation) -> list[str]:
        """Name the queued copies that read or write a block, and tasks of graphs whose execution is queued."""
        from fakes.executor import memory as copies

        found = []
        executor = self.machine.executor
        for device in self.machine.devices:
            for sq in device.queues.values():
                if sq in device.models:
                    continue
                for step in range(sq.pending):
                    task = executor.peek(device, sq, (sq.head + step) % sq.depth)
                    if task is not None and any(
                        at < block.base + block.span and block.base < at + size
                        for dst, src, size in copies.ends(task) for at in (dst, src)
                    ):
                        found.append(self.names.work(self._work(task, self._queue(sq))))
        return found + self._graphs.queued(block.base, block.base + block.span)

    def giving_up(self, sq: SubmissionQueue) -> None:
        """The host ends what a queue still has to do."""
        if DEADLOCK in self.wanted:
            self._waits.look(sq)
        self.looked(sq)

    def closing(self, device: Device) -> None:
        """The process closes a card."""
        if LEAK in self.wanted:
            leaks.look(self, device)
        for sq in list(device.queues.values()):
            self.giving_up(sq)

    # -- queues -------------------------------------------------------------------------------------------------------

    def _queue(self, sq: SubmissionQueue) -> Queue:
        queue = self._queues.get(sq)
        if queue is None:
            queue = self._queues[sq] = Queue(self._count)
            self._count += 1
        return queue

    def destroyed(self, sq: SubmissionQueue) -> None:
        """A queue is gone."""
        self.giving_up(sq)
        self._queues.pop(sq, None)
        self._graphs.forget(sq)

    def begin(self, task: Task) -> None:
        """A task is about to be tried: it comes after its submission."""
        queue = self._queue(task.sq)
        known = queue.submitted.get(task.position)
        if known is not None:
            queue.join(known[0])
        task.touched = []

    def waits(self, task: Task) -> None:
        """A task cannot go on yet."""
        if task.touched:
            self._queue(task.sq).loads = tuple(address for address, _, _ in task.touched)

    def done(self, task: Task) -> None:
        """A task was executed."""
        self._waits.moved()
        queue = self._queue(task.sq)
        queue.last_kind = task.kind
        known = queue.submitted.get(task.position)
        if self._follows and (task.touched or task.sq in task.device.models):
            self._follow(task, queue, known)
        queue.tick += 1
        if DEADLOCK not in self.wanted:
            return
        site = None if known is None else known[1]
        if (signal := recorded(task)) is not None:
            number = 0 if signal[0] == "value" else task.device.index
            self._waits.happened((signal[0], number, signal[1]), "recorded", task, site)
        elif (signal := taken_back(task)) is not None:
            self._waits.happened((signal[0], 0, signal[1]), "reset", task, site)

    def failed(self, task: Task, fault: TaskFault | MemoryFault) -> None:
        """A task has failed; an address may have been the reason."""
        from fakes.errors import MemoryFault

        queue = self._queue(task.sq)
        if isinstance(fault, MemoryFault):
            self._lifetimes.fault(task, fault, self._work(task, queue))
        self.done(task)

    def _work(self, task: Task, queue: Queue) -> Work:
        known = queue.submitted.get(task.position)
        what = f"{task.kind} '{task.kernel_name}'" if task.kernel_name else task.kind
        self.serial += 1
        return Work(queue.index, queue.tick, self.serial, what, task.sq.stream_id, task.device.index, task.position,
                    None if known is None else known[1])  # fmt: skip

    def _follow(self, task: Task, queue: Queue, known: Submission | None) -> None:
        """Bring what a task has touched to the checkers."""
        work = self._work(task, queue)
        memory, races = self.machine.memory, self.races
        waits = task.layout in POLLING
        captured = self._graphs.captured(task, known)
        for address, size, how in united(task.touched or []):
            block = memory.find(address)
            low = address if block is None else block.pointer + address - block.base
            if how == LOAD:
                races.awaited(queue, low, low + size)
                continue
            if how == ARGUMENTS:
                how = READ
                if block is not None:
                    self._arguments[block] = task.sq
            seen = NOTHING if known is None else self._seen(block, known.seen)
            races.touch(queue, work, block, low, low + size, RELEASE if waits else how, seen)
            decided_late = how == RELEASE and task.layout == BY_POINTER
            if block is not None and captured is not None and not decided_late:
                self._lifetimes.used(task, captured, block, work)
                if task.sq in task.device.models:
                    self._graphs.executed(task, captured, block, address, work)
                else:
                    self._parts.touched(block, address, size, captured, work)
            if block is not None and 0 < block.asked < address + size - block.base:
                self._lifetimes.behind(block, address, size, work)
        if task.sq in task.device.models:
            ring = task.sq.ring
            low = ring.pointer + task.position * SQE_BYTES
            races.touch(queue, work, ring, low, low + SQE_BYTES, READ)
        if known is not None and known[2]:
            self._sources.compare(queue, known[0], known[2], work)

    def activates(self, task: Task, sq: SubmissionQueue) -> None:
        """A task lets another queue run."""
        self._graphs.begun(task, sq)
        self._queue(sq).join(self._queue(task.sq).stamp())

    def passes_on(self, sq: SubmissionQueue, runner: SubmissionQueue) -> None:
        """A failure of a graph's task is reported by the queue that executes the graph."""
        self._queue(runner).join(self._queue(sq).past())

    def gives(
        self, task: Task, key: tuple[str, int, int], signal: Signal, value: int, *, adds: bool = False,
        counts: bool = False,
    ) -> None:  # fmt: skip
        """A task sets a signal."""
        self._handover.give(signal, value, self._queue(task.sq).stamp(), adds=adds, counts=counts)
        if not value:
            queue = self._queue(task.sq)
            known = queue.submitted.get(task.position)
            self._waits.happened(key, "reset", task, None if known is None else known[1])

    def takes(self, task: Task, signal: Signal, reached: Callable[[int], bool] | None = None) -> None:
        """A wait of a task for a signal is over."""
        self._handover.take(self._queue(task.sq), signal, reached)

    def calls(self, task: Task, cq_id: int) -> None:
        """A task asks the host to call a function."""
        self._calls.setdefault((task.device.index, cq_id), []).append(self._queue(task.sq).stamp())
        self._waits.asked(task.sq, (task.device.index, cq_id))

    def listens(self) -> None:
        """This thread listens for calls of host functions."""
        self._waits.listens()

    def idle(self) -> None:
        """A poll of the host has found nothing that can run; CheckFailed when it has waited long enough."""
        if DEADLOCK in self.wanted:
            self._waits.idle()

    # -- questions of the checkers ------------------------------------------------------------------------------------

    def who(self, work: Work) -> str:
        """Name a task; one of a graph with the graph that it is a node of."""
        text = self.names.work(work)
        number = None if work.stream < 0 else self.machine.devices[work.device].models.of_stream(work.stream)
        return text if number is None else f"{text}, a node of graph {number}"

    def queued(self, device: Device, sq: SubmissionQueue, position: int) -> str:
        """Name what lies at a ring position."""
        task = self.machine.executor.decode_at(device, sq, position)
        return self.who(self._work(task, self._queue(sq)))

    def step_of(self, sq: SubmissionQueue, position: int) -> int | None:
        """Return the host's step in which a ring position was filled."""
        known = self._queue(sq).submitted.get(position)
        return None if known is None else known.stamp.tick

    def last_kind(self, sq: SubmissionQueue) -> str:
        """Return the kind of the task that a queue has executed last."""
        return self._queue(sq).last_kind

    def looked_at(self, sq: SubmissionQueue) -> tuple[int, ...]:
        """Return the addresses that a wait at the head of a queue has looked at."""
        return self._queue(sq).loads

    def submitted_at(self, sq: SubmissionQueue, position: int) -> str:
        """Return where the program submitted what lies at a ring position, as text."""
        known = self._queue(sq).submitted.get(position)
        return "" if known is None else at(known[1], "submitted at")

    def part_of_graph(self, block: Allocation) -> SubmissionQueue | None:
        """Return the queue of a graph whose ring a block is, or whose tasks have their arguments there."""
        sq = self._arguments.get(block)
        return next((each for each in self._queues if each.ring.base == block.base), None) if sq is None else sq
