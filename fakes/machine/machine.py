"""A fake machine: its cards, memory, kernels, faults and the log of what they executed."""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chips.chip import Chip
from chips.registry import plugin
from fakes import kernels
from fakes.errors import FakeError
from fakes.faults import Faults
from fakes.hal.dma import DmaCalls
from fakes.machine import forks, identity
from fakes.machine.blocks import Allocation
from fakes.machine.card import Device
from fakes.machine.driver import driver_of
from fakes.machine.ids import id_counts
from fakes.machine.journal import Executed
from fakes.machine.memory import Memory
from fakes.machine.missions import MissionFunction
from fakes.schedule import plans
from fakes.schedule.plans import Planned
from fakes.schedule.scheduler import POLICIES, Policy, RoundRobin
from fakes.shared.imports import Imports
from fakes.shared.names import Names, Source
from fakes.url.options import FakeOptions
from npuhal.changed import Changed, start_thread
from npuhal.exit_status import call_at_last
from npuhal.late import logger
from npuhal.records import replace

if TYPE_CHECKING:
    from fakes.checkers import Checks, Reports
    from fakes.executor import Executor
    from fakes.machine.shared_buffers import SharedBuffers
    from fakes.shared.card import Shared
    from fakes.shared.table import User

_LOG = logger("npuhal.fake")
_LOG_ENTRIES = 1_000_000
_PROBLEMS = 1000
_PAUSE_S, _SHARED_PAUSE_S = 0.05, 0.001
"""How long free running cards rest when nothing can run: until the host calls, or another process may have acted."""


class Machine:
    """What `hal.fake` is: cards by logic id, memory, faults, kernels, and a log that is the same for the same seed."""

    def __init__(self, chip: Chip, options: FakeOptions) -> None:
        self.chip = chip
        self.options = options
        self.plugin = plugin(chip)
        self.driver = driver_of(chip)
        self.lock = threading.RLock()
        self.changed = Changed(self.lock)
        """Notified when the device did something, or was let go."""
        self.faults = Faults()
        self.kernels = kernels.Registry()
        hbm = options.hbm or _soc_number(chip, "memory_size", 32 << 30)
        page = identity.draw_page_size(options.seed)
        sizes = id_counts(chip, options.limits)
        self.memory = Memory(identity.draw_memory_base(options.seed), options.devices, hbm, page)
        self._finalizer = weakref.finalize(self, self.memory.close)
        self._finalizer.atexit = False
        self.shared = self._join(sizes) if options.shared else None
        """What it has in common with the machines of other processes, if it is shared."""
        self.names = Names() if self.shared is None else self.shared.names
        if self.shared is not None:
            self.memory.share(self.shared.budget, self._retract)
            weakref.finalize(self, self.shared.leave).atexit = False
        self.imports = Imports(self.memory, self.names)
        self.checks = self.memory.watch = self._watch() if options.check else None
        """The checkers that are on; None when none is."""
        self.memory.exact = "bounds" in options.check
        self.cores = {"AIC": _soc_number(chip, "ai_core_cnt", 1), "AIV": _soc_number(chip, "vector_core_cnt", 1)}
        self.dies = chip.traits.dies
        self.chip_revision = chip.traits.revision
        self.dma = DmaCalls(self)
        self.send: Callable[[int, Any], int] = lambda _device, _info: 0
        self.on_leave: list[Callable[[int], None]] = []
        """Called with the logic id of a card that is closed to be opened again: all but its memory is gone."""
        self.in_use: list[Callable[[int], Mapping[str, list[str]]]] = []
        """What says what else the process still has of a card that is being closed, by kind."""
        self.on_close: list[Callable[[int], None]] = []
        """Told the logic id of a card that the process closes: what chapters hold on it is gone."""
        self.message_queues: dict[int, dict[int, Any]] = {}
        """Queues for messages by copy, by card and number, where they were initialised."""
        self.schedules: dict[int, Any] = {}
        """What passes messages from queue to queue, by card, once somebody has asked for it."""
        self.closing = False
        self.planned: list[Planned] = []
        """Per card what was decided, where a plan was given."""
        self.devices: list[Device] = [self._make_device(index) for index in range(options.devices)]
        self.log: deque[Executed] = deque(maxlen=_LOG_ENTRIES)
        self.problems: deque[str] = deque(maxlen=_PROBLEMS)
        self.client_version = 0
        self.tells_user_memory = not self.driver.first
        """Whether an address of ordinary memory is an answer of its own: the first driver says so once it was asked."""
        self.pending: list[tuple[int, BaseException]] = []
        """What is still to be raised, and in which thread; 0: in any."""
        self.runner: threading.Thread | None = None
        """The thread of cards that run freely."""
        self.arrivals: Callable[[], bool] = lambda: False
        """Takes sends that come otherwise than by calls; returns whether there were any. The lock is held."""
        self._stop = False
        self._pid = os.getpid()
        self.program = 0
        """Process id of the program, where that is another process (`fakes.shim`); 0: it is this one."""
        self.raises = True
        """Whether exceptions on the device reach the program; if not, as from C, what cannot be executed fails."""
        self.forked = False
        """Whether this is the copy in a forked child of a machine of which a card was open."""
        if options.free_run:
            self._start()
        forks.alive.add(self)

    @cached_property
    def executor(self) -> Executor:
        """Decodes and executes tasks; made for the first one."""
        if self.plugin.commands is not None:
            from fakes.executor.commands import CommandExecutor

            return CommandExecutor(self)
        from fakes.executor import Executor

        return Executor(self)

    @cached_property
    def buffers(self) -> SharedBuffers:
        """Message buffers and the group they come from; made for the first call about them."""
        from fakes.machine.shared_buffers import SharedBuffers

        return SharedBuffers(self.memory)

    def users(self, card: int) -> list[User]:
        """Return the processes that use a card of a shared machine; of one that is not shared, none are told."""
        return [] if self.shared is None else self.shared.table.users(card)

    def _join(self, sizes: dict[str, int]) -> Shared:
        from fakes.shared.card import Shared

        return Shared(self.options.shared, self.options.devices, sizes, self.options.alike(self.chip))

    def _watch(self) -> Checks:
        from fakes.checkers import Checks

        return Checks(self, self.options.check)

    def _start(self) -> None:
        with self.lock:
            self.runner = start_thread(self._free_run, "npuhal-fake-device")

    def _make_device(self, index: int) -> Device:
        options = self.options
        rng = random.Random(f"{options.seed}/schedule/{index}")
        card = identity.draw(self.chip, options.seed, index, options.devices)
        if options.physical:
            card = replace(card, physical=options.physical[index])
        if options.ts_version:
            card = replace(card, ts_version=options.ts_version)
        policy: Policy = POLICIES[options.policy](rng)
        if options.plan is None:
            return Device(self, index, self.chip, card, policy)
        base = policy if type(policy) is RoundRobin else RoundRobin(rng)
        plan = plans.parse(options.plan)
        planned = Planned(index, policy, base, plan, lambda: self.executor.near(self.devices[index]))
        self.planned.append(planned)
        return Device(self, index, self.chip, card, planned)

    @property
    def pid(self) -> int:
        """The process that the program is, as it knows itself."""
        return self.program or os.getpid()

    def device(self, index: int = 0) -> Device:
        """Return a card by its logic id."""
        return self.devices[index]

    def attach(
        self, code: bytes, function: kernels.KernelFunction, *, name: str = "", grid: bool = False,
        reads: kernels.Slots = None, writes: kernels.Slots = None,
    ) -> kernels.Kernel:  # fmt: skip
        """Let a Python function stand for device code; see `kernels.Registry.attach`."""
        return self.kernels.attach(code, function, name=name, grid=grid, reads=reads, writes=writes)

    def attach_aicpu(self, so_name: str, function_name: str, function: kernels.KernelFunction) -> None:
        """Let a Python function stand for an AICPU kernel by its library and function name."""
        self.kernels.attach_aicpu(so_name, function_name, function)

    def attach_mission(self, start: int, function: MissionFunction, *, die: int = 0, name: str = "") -> None:
        """Let a Python function stand for CCU instructions by the number of the first one."""
        self.kernels.missions.attach(start, function, die=die, name=name)

    def run_until_idle(self) -> int:
        """Let all cards work until nothing can run any more; returns the number of tasks executed."""
        total = 0
        while done := sum(device.run_until_idle() for device in self.devices):
            total += done
        return total

    def physical(self, address: int, device: int) -> int:
        """Return the physical address of a device address."""
        return address - self.memory.device_base(device) + self.devices[device].identity.physical_base

    def virtual(self, address: int, device: int) -> int:
        """Return the device address behind a physical one."""
        return address - self.devices[device].identity.physical_base + self.memory.device_base(device)

    @property
    def reports(self) -> Reports:
        """What the checkers have found until now; FakeError when the machine was opened without any."""
        if self.checks is None:
            raise FakeError("no checker is on; open the fake with check=all, or with the names of some")
        return self.checks.reports

    @property
    def plan(self) -> str:
        """How the run has departed from the default order until now, as the option `plan` takes it."""
        return plans.render({key: value for each in self.planned for key, value in each.departures.items()})

    def problem(self, text: str) -> None:
        """Record what went wrong on the device in words, for people and tests; it also goes to the log."""
        self.problems.append(text)
        _LOG.error("%s", text)

    def stand_in_failed(self, error: BaseException) -> None:
        """An attached function has raised, and its task has failed for it.

        An ordinary mistake reaches the program with the failure of the stream. What is to end more than a function
        (Ctrl-C, SystemExit, the verdict of a test, what a signal handler raises) is raised in the thread of the program
        in which it ran; where nobody hears of mistakes, in the main thread alone.
        """
        from npuhal.interrupts import raised_by_handler  # late: where something has gone wrong

        heard = self.raises or threading.current_thread() is threading.main_thread()
        if heard and not self.options.free_run and (not isinstance(error, Exception) or raised_by_handler(error)):
            raise error
        if not self.raises:
            self.defect(error)

    def defect(self, error: BaseException) -> None:
        """Log an exception of a function that was attached, with its traceback: its caller does not get it."""
        import traceback  # late: for a mistake of a program only

        _LOG.error("%s", "".join(traceback.format_exception(error)).rstrip())

    def log_text(self) -> str:
        """Return the log as text, one task a line: equal byte for byte for equal seed and program."""
        return "".join(f"{entry}\n" for entry in self.log)

    def raise_pending(self) -> None:
        """Raise one error that is pending for the calling thread or for any, once: it is no longer pending then."""
        if self.forked:
            raise FakeError(
                f"this process was forked from {self._pid} after that one had opened a card: the driver's mappings do "
                "not come along; start processes by spawn, or fork before the first card is opened"
            )
        ours = (0, threading.get_ident())
        for each in [*self.pending]:
            if each[0] in ours:
                try:
                    self.pending.remove(each)
                except ValueError:  # another thread has just taken it
                    continue
                raise each[1]

    def in_child(self) -> None:
        """After a fork: a machine nobody has opened a card of works on as the child's own, another one refuses all."""
        self.runner = None
        if self.shared is not None:
            self.shared.forget()
        if any(device.opened for device in self.devices):
            self.forked = True
            self.pending.append((0, FakeError("forked")))
            return
        if self.shared is not None:
            self.shared.table.enter()
        if self.options.free_run:
            self._start()

    def source(self, block: Allocation) -> Source | None:
        """Return where other processes find the bytes of a block; None where they are not this one's to share."""
        return None if self.shared is None else self.shared.source(self.memory, block)

    def _retract(self, block: Allocation) -> bool:
        """Let nobody import the bytes of a block any more; returns whether somebody still has them."""
        source = self.source(block)
        return source is not None and self.names.retract(source)

    def close(self, *, release: bool = True) -> None:
        """Stop the cards and give the memory back; not (`release`) where threads may still be in calls.

        Raises:
            CheckFailed: checkers have found mistakes, and nobody has taken their reports.
        """
        if self.forked:
            return
        with self.lock:
            self._stop = self.closing = True
            self.changed.notify_all()
        if self.runner is not None:
            self.runner.join()
            self.runner = None
        if release:
            self._finalizer()
        if self.shared is not None:
            self.shared.leave()
        if self.checks is not None:
            self.checks.finish()

    def _free_run(self) -> None:
        pause, me = _PAUSE_S if self.shared is None else _SHARED_PAUSE_S, threading.current_thread()
        with self.lock:
            while self.runner is me and not self._stop:
                try:
                    self.arrivals()
                    worked = sum(device.run(64) for device in self.devices if device.active)
                except Exception as error:
                    self.pending.append((0, error))
                    worked = 0
                if not worked:
                    waits = [device for device in self.devices if device.active]
                    began = time.monotonic_ns()
                    self.changed.wait(pause if waits else _PAUSE_S)
                    for device in waits:
                        device.pass_time(time.monotonic_ns() - began)


@call_at_last
def _leave_all() -> None:
    """At the exit, behind the runtimes, let other processes have what this one held."""
    for machine in list(forks.alive):
        if machine.shared is not None:
            with suppress(FakeError, OSError):
                machine.shared.leave()


def _soc_number(chip: Chip, key: str, default: int) -> int:
    value = chip.ini.get("SoCInfo", {}).get(key, default)
    return value if isinstance(value, int) and value else default
