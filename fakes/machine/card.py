"""One fake card: its identity, ids, queues, signals, engines, and the loop that lets it work."""

from __future__ import annotations

import random
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from chips.chip import Chip
from fakes.errors import MemoryFault, access
from fakes.machine.begun import RAN, STOPPED, WAITS, go_through
from fakes.machine.blocks import Kind
from fakes.machine.identity import Identity
from fakes.machine.ids import IdPool, id_counts, share_events
from fakes.machine.models import Models
from fakes.machine.queues import CommandState, HostCalls, LogicQueue, StreamMemory, SubmissionQueue
from fakes.machine.signal import Signal
from fakes.schedule.scheduler import POLL, SEND, Engines, Policy, RoundRobin

if TYPE_CHECKING:
    from fakes.hal.dma import Chain
    from fakes.machine.begun import Begun
    from fakes.machine.fault_event import FaultEvent
    from fakes.machine.ports import Machine, Registers

_WORKING = 1
"""DRV_STATUS_WORK."""

_MOST_PER_TURN = 1_000
"""Tasks that one host call waits for at most: a model that goes round for ever must not keep the host for ever."""

IDLE_POLL_NS = 100_000
"""Virtual time that a host poll takes when the device has nothing it could do."""


class Device:
    """One card of a machine. `index` is its logic id, the one HAL calls use."""

    def __init__(self, machine: Machine, index: int, chip: Chip, identity: Identity, policy: Policy) -> None:
        self.machine = machine
        self.index = index
        self.chip = chip
        self.identity = identity
        self.policy = policy
        self.ticks_per_ms = int(float(chip.properties.get("eventTimestampFreq", 1_000_000.0)))
        self.rng = random.Random(f"{machine.options.seed}/transient/{index}")
        self.status = _WORKING
        self.sticky = False
        self.error_ring = 0
        """Where the host wants to read what failed; 0: nowhere."""
        self.failed_memory: list[tuple[int, int]] = []
        """Ranges (address, bytes) that memory errors beyond correction have hit; a repair takes them out."""
        self.opened = False
        self.busy_with = ""
        """Who else has the card for itself alone, so that this process cannot open it."""
        self.daemon_open = False
        self.held = False
        self.exchanged = False
        self.engines = Engines()
        sizes = id_counts(chip, machine.options.limits)
        first = {name: max(0, min(identity.first.get(name, 0), size - 1)) for name, size in sizes.items()}
        shared = machine.shared
        make_pool = IdPool if shared is None else partial(shared.pool, index)
        self.ids = {name: make_pool(name, size, first[name]) for name, size in sizes.items()}
        self.queues: dict[int, SubmissionQueue] = {}
        self.by_stream: dict[int, SubmissionQueue] = {}
        self.logic: dict[int, LogicQueue] = {}
        self.bound: dict[int, LogicQueue] = {}
        self.active: dict[int, SubmissionQueue] = {}
        self.waiting: set[int] = set()
        """Queues that were tried and cannot go on, by id, until something changes that they may wait for."""
        self.signalled: set[int] = set()
        """Those of them that only a signal lets go on: what is written to memory changes nothing for them."""
        self.disturbed = False
        """Whether something has changed since this was set to False that may let any queue go on."""
        self.spinning: dict[int, Begun] = {}
        """By SQ: the task at its head, whose kernels have begun and wait for others."""
        self.events, self.notifies, self.counters = (
            {} if shared is None else shared.signals(index, kind) for kind in ("event", "notify", "cnt_notify")
        )
        self.signals = {"event": self.events, "notify": self.notifies, "cnt_notify": self.counters}
        share_events(chip, self.ids, self.signals)
        self.stream_memory: dict[int, StreamMemory] = {}
        """By stream id: the memory that its tasks are written to (halStreamTaskFill)."""
        self.dma: dict[int, Chain] = {}
        self.jetties: dict[int, list[int]] = {}
        self.host_calls = HostCalls()
        self.commands = CommandState()
        self.models = Models(self)
        self.peers: dict[int, int] = {}
        """Logic ids of cards whose memory this one may reach, with how often that was allowed."""
        self.faults: list[FaultEvent] = []
        self.news: deque[FaultEvent] = deque()
        self.host_time = 0
        self.executed = 0
        self.passed = 0
        """Virtual nanoseconds that went by without work."""
        self.in_vain = False
        """Whether the last look found nothing that could go on, and nothing was sent or set since."""
        self.busy = False
        self.current: SubmissionQueue | None = None
        """The queue whose task was executed last."""
        self._registers: Registers | None = None

    # -- signals ------------------------------------------------------------------------------------------------------

    @staticmethod
    def signal(table: dict[int, Signal], number: int) -> Signal:
        """Return the state of a signal, made on first use."""
        state = table.get(number)
        if state is None:
            state = table[number] = Signal()
        return state

    def forget_signal(self, kind: str, number: int) -> None:
        """A notify or event id changes hands: its state starts at 0."""
        table = self.signals.get(kind)
        if table is not None:
            table.pop(number, None)

    def wake(self) -> None:
        """Something changed that a waiting queue may wait for: try all of them again."""
        if self.waiting:
            self.waiting.clear()
        self.disturbed, self.in_vain = True, False  # `disturb`, written out
        if self.signalled:
            self.signalled.clear()

    def wrote(self) -> None:
        """Memory may have changed: try all queues again but those that wait for signals."""
        self.waiting.clear()

    def disturb(self) -> None:
        """Take nothing for granted of queues that wait, or do not run."""
        self.disturbed = True
        self.signalled.clear()

    def waits_for_signal(self, sq: SubmissionQueue) -> None:
        """The task at the head of a queue waits for a signal of this process; nobody looks at how often it is tried."""
        machine = self.machine
        if machine.checks is None and not machine.faults.tasks and machine.shared is None:
            self.signalled.add(sq.sq_id)

    # -- work ---------------------------------------------------------------------------------------------------------

    def turn(self, occasion: int) -> None:
        """Let the device work as much as the policy allows at a host call of this kind."""
        if self.active and not self.machine.options.free_run:
            before = None if occasion == SEND else self._before()
            budget = min(self.policy.budget(occasion), _MOST_PER_TURN)
            if budget and not self._look(budget, before) and not self._others(budget) and occasion == POLL:
                self.pass_time(IDLE_POLL_NS)
                if self.machine.checks is not None:
                    self.machine.checks.idle()

    def _others(self, budget: int) -> int:
        """The card waits: let the others work, which may do what it waits for; returns how many tasks they executed."""
        cards = self.machine.devices
        return sum(each._look(budget, each._before()) for each in cards if each is not self and each.active)

    def _before(self) -> object:
        """Return what the policy goes back to when this look is in vain too; None where the last one was not."""
        return self.policy.state() if self.in_vain else None

    def _look(self, budget: int, before: object) -> int:
        """Do what `run` does. Of looks in vain in a row only the first counts: a clock decides how many there are."""
        executed = self.run(budget)
        if not executed and before is not None:
            self.policy.restore(before)
        self.in_vain = not executed
        return executed

    def pass_time(self, nanoseconds: int) -> None:
        """Time goes by while nothing can run: waits and hanging tasks with a limit run into it."""
        if self.held or self.status != _WORKING:
            return
        with self.machine.lock:
            self.passed += nanoseconds
            self.disturb()
            self._expire()

    def _expire(self) -> None:
        """Stop the hanging tasks whose limit is over."""
        for sq in list(self.active.values()):
            if sq.hung and 0 <= sq.hang_limit <= self.passed:
                self.machine.executor.expire(self, sq)

    def activate(self, sq: SubmissionQueue) -> None:
        """Try a queue again after the host changed its state or pointers."""
        if sq.head != sq.tail:
            self.active[sq.sq_id] = sq
        else:
            self.active.pop(sq.sq_id, None)
        self.wake()

    def run(self, budget: int) -> int:
        """Execute at most `budget` tasks; returns how many were executed. A task that must wait costs nothing."""
        if self.busy or self.held or self.status != _WORKING:
            return 0
        before = self.executed
        self.busy = True  # beside `try`: an interrupt between them would leave it so
        try:
            self._work(budget)
        except BaseException:
            go_through(self)
            raise
        finally:
            self.busy = False
            if self.executed != before:
                self.machine.changed.notify_all()
        return self.executed - before

    def _work(self, budget: int) -> None:
        """Execute at most `budget` tasks; in no `try`, see `npuhal.changed` on loops and interrupts."""
        executor, faults = self.machine.executor, self.machine.faults
        execute = executor.execute
        waiting, signalled, active = self.waiting, self.signalled, self.active
        if self.current is not None and self.current.memo:
            go_through(self)
        end = self.executed + budget
        waiting.clear()
        signalled.clear()
        while self.executed < end:
            ready = [
                sq for sq in active.values()  # written out: SubmissionQueue.runnable
                if sq.enabled and sq.head != sq.tail and not (sq.paused or sq.held or sq.hung)
                and sq.sq_id not in waiting
            ]  # fmt: skip
            if not ready:
                break
            sq = ready[0] if len(ready) == 1 else self.policy.pick(ready)
            if sq.sq_id in signalled and not faults.tasks:
                waiting.add(sq.sq_id)
                continue
            alone, self.current = len(active) == 1, sq
            while execute(self, sq, end if alone else 0):
                if sq.head == sq.tail:
                    active.pop(sq.sq_id, None)
                    break
                if not alone or self.executed >= end or not sq.enabled or sq.hung:
                    if executor.ended == RAN and self.executed < end and not waiting and sq.runnable:
                        self._run_on(sq, end)
                    break
            else:
                waiting.add(sq.sq_id)

    def _run_on(self, sq: SubmissionQueue, end: int) -> None:
        """Execute plain kernels of a queue while it is the only one that can go on, until `end` tasks were executed.

        The others wait for signals: each kernel lets them be tried again, in vain, and all that comes of that is which
        queue the policy has picked last.
        """
        active, policy = self.active, self.policy
        others = [other.sq_id for other in active.values() if other is not sq and other.runnable]
        if not isinstance(policy, RoundRobin) or not policy.in_turn or not self.signalled.issuperset(others):
            return
        before, ended = self.executed, RAN
        try:
            ended = self.machine.executor.run_on(self, sq, end)
        finally:
            done = self.executed - before
            tried = done + (ended == WAITS)
            passed = policy.pass_over(sq.sq_id, others, tried) if others and tried else ()
            if ended == STOPPED:
                self.waiting.update(passed)
            elif ended == WAITS:
                self.waiting.add(sq.sq_id)
        if sq.head == sq.tail:
            active.pop(sq.sq_id, None)

    # -- the stepping interface of tests ------------------------------------------------------------------------------

    def hold(self, stream: int | None = None) -> None:
        """Stop the device, or one of its streams, before the next task."""
        with self.machine.lock:
            if stream is None:
                self.held = True
            else:
                self.by_stream[stream].held = True
            self.disturb()

    def check_reach(self, address: int, size: int, use: str) -> None:
        """Refuse memory of another card that this one was not allowed to reach: by a copy, a kernel or any other task.

        Raises:
            MemoryFault: naming the block, and the card to enable P2P to.
        """
        block = self.machine.memory.find(address)
        if block is None or block.kind is not Kind.DEVICE or block.device == self.index or self.peers.get(block.device):
            return
        if block.alias or block.users:  # mapped here, or opened by its key: the mapping is the permission
            return
        raise MemoryFault(
            f"{access(use, size, address)}: {block} is not reachable from device {self.index}; enable P2P "
            f"from it to the card with the physical id {self.machine.devices[block.device].identity.physical}"
        )

    def reach(self, address: int, size: int, use: str, *, writes: bool = False) -> int:
        """Return the pointer for what a task of this card reads or writes; see `check_reach` for the refusal."""
        pointer = self.machine.memory.device_pointer(address, size, use, writes=writes)
        self.check_reach(address, size, use)
        return pointer

    def release(self, stream: int | None = None) -> None:
        """Let the device, or one of its streams, go on."""
        with self.machine.lock:
            if stream is None:
                self.held = False
            else:
                self.by_stream[stream].held = False
            self.disturb()
            self.machine.changed.notify_all()

    def step(self, count: int = 1) -> int:
        """Execute up to `count` tasks now, also on a held device; returns how many were executed."""
        with self.machine.lock:
            held, self.held = self.held, False
            try:
                return self.run(count)
            finally:
                self.held = held

    def step_stream(self, stream: int, count: int = 1) -> int:
        """Execute up to `count` tasks of one stream, also of a held one; the others stand still meanwhile."""
        with self.machine.lock:
            chosen = self.by_stream[stream]
            held = {sq: sq.held for sq in self.queues.values()}
            try:
                for sq in held:
                    sq.held = sq is not chosen
                return self.step(count)
            finally:
                for sq, before in held.items():
                    sq.held = before

    def run_until_idle(self) -> int:
        """Execute until nothing can run; returns how many tasks were executed."""
        return self.step(1 << 60)

    def fail(self, status: int, *, sticky: bool = False) -> None:
        """Put the card into a bad state (drvStatus_t): calls that need it fail. A sticky one outlives closing it."""
        with self.machine.lock:
            self.status, self.sticky = status, sticky
            self.machine.changed.notify_all()

    def repair(self) -> None:
        """Make the card work again, as a hot reset does; memory and queues are what they were."""
        with self.machine.lock:
            self.status, self.sticky = _WORKING, False
            self.machine.changed.notify_all()

    def exchange(self) -> None:
        """Put a healthy card in the place of this one: its memory reads as zero, its signals are 0, nothing runs.

        What the process has on it works again after halProcessResRestore.
        """
        with self.machine.lock:
            self.machine.memory.blank(self.index)
            for table in self.signals.values():
                table.clear()
            for sq in self.queues.values():
                sq.reset()
            self.active.clear()
            self.models = Models(self)
            self.exchanged = bool(self.queues)
            self.repair()

    def leave(self) -> None:
        """Let the process go, and what the task scheduler knows of it; its memory stays mapped, to be opened again."""
        for sq in list(self.queues.values()):
            if sq.ring.alias:
                continue  # bound to memory of a stream, which is the process's own
            self.machine.memory.free(sq.ring.base)
        self.opened = False
        self.reset()

    def raise_fault(self, event: FaultEvent) -> None:
        """Let the card report a fault, or that one is over (`assertion` 0)."""
        with self.machine.lock:
            self.faults = list(filter(lambda other: other.event_id != event.event_id, self.faults))
            if event.assertion:
                self.faults.append(event)
            self.news.append(event)
            self.machine.changed.notify_all()

    @property
    def registers(self) -> Registers:
        """What condition programs reach besides memory; made when the first one runs."""
        if self._registers is None:
            self._registers = self.machine.executor.registers(self)
        return self._registers

    @property
    def works(self) -> bool:
        """Whether the card is in its working state."""
        return self.status == _WORKING and not self.exchanged

    @property
    def idle(self) -> bool:
        """Whether no queue has work left, waiting work included."""
        return not self.active

    # -- completion ---------------------------------------------------------------------------------------------------

    def ticks(self, nanoseconds: int) -> int:
        """Convert virtual time to the device's time-stamp ticks."""
        return nanoseconds * self.ticks_per_ms // 1_000_000

    def observe(self, sq: SubmissionQueue) -> None:
        """Remember that the host has seen the queue's progress: what it submits next cannot start earlier."""
        if sq.clock > self.host_time:
            self.host_time = sq.clock

    def poll(self, sq: SubmissionQueue) -> int:
        """Return the head as a host poll sees it, after giving the device its turn."""
        if self.active:
            self.turn(POLL)
        self.observe(sq)
        if self.machine.checks is not None:
            self.machine.checks.looked(sq)
        return sq.head

    def reset(self) -> None:
        """Forget everything a process held here: queues, ids, signals; and a bad state that is not sticky."""
        if not self.sticky:
            self.status = _WORKING
        self.exchanged = False
        self.error_ring = 0
        if self.machine.shared is not None:
            self.machine.shared.table.close_card(self.index)
        self.queues.clear()
        self.by_stream.clear()
        self.logic.clear()
        self.bound.clear()
        self.active.clear()
        self.waiting.clear()
        self.current = None
        self.spinning.clear()
        for table in self.signals.values():
            table.clear()
        self.stream_memory.clear()
        self.dma.clear()
        self.jetties.clear()
        self.host_calls.reset()
        self.peers.clear()
        self.commands.reset(self.machine.memory)
        self.models = Models(self)
        for pool in self.ids.values():
            pool.reset()
