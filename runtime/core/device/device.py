"""A device: opened in the vendor's order, closed in reverse, with everything it owns in between."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from chips import registry
from chips.env import EncodeEnv
from npuhal.words import count
from runtime import errors
from runtime.core.device import recycling, teardown
from runtime.core.device.device_tables import ExecutedWords, NamePool, SqRegisterTable
from runtime.core.device.limits import CoreLimits
from runtime.core.device.monitor import Health
from runtime.core.device.opening import Opening
from runtime.core.device.scheduler import TaskScheduler
from runtime.core.device.stacks import Stacks, allocate
from runtime.core.diagnostics import counters
from runtime.core.diagnostics.counters import Counters, gathered, uncounted
from runtime.core.diagnostics.tally import Tally
from runtime.core.modes import FailureMode, SaturationMode, StreamFlag
from runtime.core.process.context import Context
from runtime.core.process.handles import Children
from runtime.core.stream import creation
from runtime.core.stream.dvpp_group import DvppGroup
from runtime.core.stream.stream import Stream
from runtime.core.submission.reclaim import Recycler
from runtime.core.submission.sq_pool import SqMemoryPool, SqPool
from runtime.core.submission.task_ids import TaskPool
from runtime.core.sync.device_signals import Signals
from runtime.driver.calls import HalCalls
from runtime.driver.device import DeviceDriver
from runtime.driver.queues import QueueDriver, driver_of
from runtime.driver.queues.arguments import WindowDriver
from runtime.driver.queues.scheduler import CAPABILITIES
from runtime.driver.resource_table import ResourceTable
from runtime.driver.resources import IdDriver
from runtime.errors.arguments import whole
from runtime.errors.not_copied import NotCopied
from runtime.memory.arguments import ArgumentPools
from runtime.memory.kernel_pool import KernelPool

if TYPE_CHECKING:
    from chips.chip import Chip
    from npuhal.api import HalApi
    from runtime.core.process.runtime import Runtime
    from runtime.driver.device import DeviceFacts
    from runtime.driver.memory import MemoryDriver
    from runtime.memory.arguments import ArgumentBlock

_PRIMARY = (
    StreamFlag.PRIMARY_DEFAULT | StreamFlag.PRIMARY_FIRST_DEFAULT | StreamFlag.FAST_LAUNCH | StreamFlag.FAST_SYNC
)
"""Flags of the primary stream."""


SelfDevice = TypeVar("SelfDevice", bound="Device")


class Device(NotCopied):
    """One opened device, shared by all who ask for the same index. Made by its `DeviceSlot`, which also closes it."""

    stream_type: type[Stream] = Stream
    """What `create` makes; the public layer puts its own class here."""

    def __init__(
        self, runtime: Runtime, user_id: int, device_id: int, dropped: deque[Any] | None = None
    ) -> None:
        """Open the device; a failure at any step closes what was opened and raises.

        Args:
            dropped: where finalizers leave what is to be given back.
        """
        self.dropped: deque[Any] = deque() if dropped is None else dropped
        """What finalizers have left: given back when what is queued is done, see `give_back_dropped`."""
        self.runtime: Runtime = runtime
        self.hal: HalApi = runtime.hal
        self.owner_tag: int = runtime.number << 64
        """What the words of the Runtime's buffers have above the address: 0 where the process has no other."""
        self.user_id: int = user_id
        self.device_id: int = device_id
        self.chip: Chip = runtime.machine.chip
        self.plugin: registry.Plugin = registry.plugin(self.chip)
        self.serials: Iterator[int] = runtime.serials
        self.next_serial: Callable[[], int] = runtime.serials.__next__
        self.saturation: SaturationMode = runtime.saturation
        """What becomes of results out of range in streams made from now on."""
        self.closed = False
        self.aborting = False
        """Whether all tasks of the device are being ended (core_spec 4.2)."""
        self.failure_mode = FailureMode.CONTINUE
        """Mode of streams that users make from now on."""
        self.core_sync_address = 0
        """Where the cores of a mix kernel synchronise; 0 on chips without such registers."""
        self.tally = Tally()
        """What is counted here for `counters`."""
        self.task_pool = TaskPool(self.chip.limits.max_tasks)
        self.own_streams: list[Stream] = []
        """The primary stream, and the control stream where the chip has one; they go with the device."""
        self.host_stream_ids: set[int] = set()
        """Numbers of streams that exist on the host only."""
        self.recycler: Recycler = Recycler(
            self.streams, f"npuhal-recycle-{user_id}", threaded=not self.hal.stepped, around=runtime.lock.round
        )
        self.programs: Children = Children()
        self.opening = Opening(runtime, user_id, runtime.clock)
        """How long each phase of the opening took."""
        self.context: Context = Context(self, primary=True)
        """The primary context; it takes calls while the device is set (core_spec 3.2)."""
        self._undo = undo = ExitStack()
        try:
            phase = self.opening.phase
            self.resource_table = ResourceTable(runtime.lock.enter, runtime.virtual_memory, dropped=self.dropped)
            """What the device's drivers have taken."""
            self.driver: DeviceDriver = DeviceDriver(self.hal, runtime.machine, device_id, self.resource_table)
            self.driver.open(phase)
            undo.callback(self.driver.close)
            self.memory: MemoryDriver = self.driver.memory
            calls = HalCalls(self.hal, device_id)
            self.ids: IdDriver = IdDriver(calls, resource_table=self.resource_table)
            self.queues: QueueDriver = driver_of(calls, self.chip.traits.completion, self.resource_table)
            undo.callback(self.queues.close)
            with phase("memory"):  # what is needed before the first stream, in the vendor's order
                self.sq_registers: SqRegisterTable = SqRegisterTable(self.memory, self.chip.limits.rtsq_depth)
                undo.callback(self.sq_registers.close)
                self.executed_words: ExecutedWords = ExecutedWords(self.memory)
                facts = self.driver.identify()
                self.facts: DeviceFacts = facts
                self.health: Health = Health(self)
                self.hal.first_faults[device_id] = self.health.first_fault
                self.arguments: ArgumentPools = ArgumentPools(
                    self.memory, WindowDriver(self.hal, device_id, self.resource_table), self.chip,
                    bar=facts.bar_arguments, ub=facts.ub_connected, on_host=facts.on_host,
                )
                undo.callback(self.arguments.close)
                self.names: NamePool = NamePool(self.memory)
                undo.callback(self.names.close)
                self.kernel_pool: KernelPool | None = None
                """Where the code of small programs lies; None on chips whose programs have memory of their own."""
                if self.chip.has("KERNEL_MEMORY_POOL"):
                    self.kernel_pool = KernelPool(self.memory)
                    undo.callback(self.kernel_pool.close)
                self.signals: Signals = Signals(self)
                undo.callback(self.signals.close)
                self.sq_memory: SqMemoryPool = SqMemoryPool(self)
                self.sq_pool: SqPool = SqPool(self)
                undo.callback(self.sq_memory.close)
                undo.callback(self.sq_pool.close)
                stacks = allocate(self.memory, self.chip, facts.die_count, runtime.limits, undo)
                self.simt_stack = stacks.simt
                self.env: EncodeEnv = runtime.timeouts.applied(self._environment(stacks))
            with phase("first streams and tasks"):
                self.primary_stream: Stream = self._own_stream(_PRIMARY, "default")
                self.control_stream: Stream = self.primary_stream
                if self.chip.has("DEVICE_CTRL_SQ"):
                    self.control_stream = self._own_stream(StreamFlag.PRIMARY_DEFAULT, "control", control=True)
                with uncounted(self.own_streams):
                    self.scheduler: TaskScheduler = TaskScheduler(self)
                    self.core_counts = self.driver.core_counts()
                    self.core_limits = CoreLimits(self.core_counts)
                    self.scheduler.begin(undo)
        except BaseException:
            with contextlib.suppress(errors.RuntimeFault):  # what went wrong first says more
                undo.close()
            raise
        runtime.monitor.watch(self)

    def _environment(self, stacks: Stacks) -> EncodeEnv:
        """Gather what SQE builders need."""
        facts = self.facts
        return EncodeEnv(
            chip=self.chip, device_id=self.device_id, phy_chip_id=facts.phy_chip_id, phy_die_id=facts.phy_die_id,
            die_count=facts.die_count, online=facts.on_host, ub_connected=facts.ub_connected,
            flat_addresses=facts.flat_address, ssid=facts.ssid, tsd_qos=facts.tsd_qos, stars_base=facts.stars_base,
            stack_base_32k=stacks.large, stack_base_16k=stacks.small, custom_stack_base=stacks.custom,
            custom_stack_size=stacks.custom_bytes, sq_address_table=self.sq_registers.address, host_pid=os.getpid(),
        )

    def _own_stream(self, flags: StreamFlag, name: str, *, control: bool = False) -> Stream:
        stream = creation.create(self.context, flags=flags, control=control, name=name)
        self._undo.callback(teardown.drop, stream)
        self.own_streams.append(stream)
        return stream

    # -- use -------------------------------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise where the device was closed or reset."""
        if self.closed:
            self.runtime.check_process()
            raise errors.fault(
                "ACL_ERROR_RT_CONTEXT_NULL", f"device {self.user_id} was closed",
                hint="get a new one with runtime.device(index)",
            )

    def contexts(self) -> tuple[Context, ...]:
        """Return the primary context, and then those that users have made."""
        return (self.context, *self.runtime.slots[self.user_id].contexts)

    def streams(self) -> list[Stream]:
        """Return all streams that are alive: those of every context, then the device's own."""
        members = self.context.all_streams()
        if others := self.runtime.slots[self.user_id].contexts:
            members += tuple(stream for context in others for stream in context.all_streams())
        return list(dict.fromkeys((*members, *self.own_streams)))

    def create_dvpp_group(self) -> DvppGroup:
        """Return a new DVPP group: streams made with it share one completion queue.

        Raises:
            NotSupported 207000: the chip has no such groups.
        """
        self.check_open()
        if not self.chip.has("STREAM_DVPP_GROUP"):
            raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self.chip.soc} has no DVPP groups")
        return DvppGroup(self)

    def set_failure_mode(self, mode: int) -> None:
        """Choose the failure mode of streams made from now on (rtSetDeviceFailureMode); it can be chosen once.

        Raises:
            NotSupported 207000: it was set to something else before (EE1016).
            InvalidArgument 107000: neither 0, to go on, nor 1, to stop (EE1003).
        """
        self.check_open()
        mode = whole("set_failure_mode", "mode", mode)
        self.need_of_scheduler("SET_STREAM_MODE", "set_failure_mode")
        if self.failure_mode is not FailureMode.CONTINUE and mode != self.failure_mode:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
                f"device {self.user_id} is in failure mode {self.failure_mode.name} already", ee="EE1016",
                params=("set_failure_mode", "the mode of a device can be set only once"),
                hint="reset the device to choose again",
            )
        if mode not in (FailureMode.CONTINUE, FailureMode.STOP):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"device {self.user_id}: failure mode {mode}", ee="EE1003",
                params=("set_failure_mode", mode, "mode", "0 or 1"), hint="0 goes on, 1 stops",
            )
        self.failure_mode = FailureMode(mode)

    def scheduler_has(self, capability: str) -> bool:
        """Whether the task scheduler says, by its bits or its version, that it can do something."""
        return capability in self.scheduler.features

    def need_of_scheduler(self, capability: str, call: str) -> None:
        """Raise 207000 with EE1015 where the task scheduler is too old for a call."""
        if capability not in self.scheduler.features:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the task scheduler of device {self.user_id} is too old: "
                f"its version {self.env.ts_version} has no {capability}", ee="EE1015",
                params=(call, f"the task scheduler has no {capability}"), hint="update driver and firmware",
            )

    def need_for_cores(self, what: str) -> None:
        """Raise 207000 where chip or task scheduler have no streams and signals that code on the cores feeds (MC2)."""
        bit = int(self.chip.prop("mc2FeatureFlag"))
        if not any(number == bit and self.scheduler_has(name) for name, number in CAPABILITIES.items()):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{what} for code on the cores of device {self.user_id}: the chip "
                "or its task scheduler has none", hint="leave the flag out, or update driver and firmware",
            )

    def take_host_stream_id(self) -> int:
        """Return a stream number above those of the driver, for a stream that exists on the host only."""
        number = int(self.chip.prop("baseAicpuStreamId"))
        while number in self.host_stream_ids:
            number += 1
        self.host_stream_ids.add(number)
        return number

    def release_arguments(self, blocks: list[ArgumentBlock]) -> None:
        """Take argument blocks of finished tasks back."""
        self.arguments.release(blocks)

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait for all streams of the primary context; raises the first failure after all of them are done."""
        self.check_open()
        self.context.synchronize(timeout_ms)

    def create_context(self) -> Context:
        """Return a context of the caller's own, with a default stream of its own; it keeps the device open."""
        self.check_open()
        return self.runtime.slots[self.user_id].create_context()

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self, *, force: bool = False) -> None:
        """End all contexts, then programs and memory, then the device itself, whoever uses it; twice does nothing.

        Args:
            force: end running tasks instead of waiting for them.

        Raises:
            Timeout 507046: tasks do not end (only without `force`); the device stays usable.
        """
        if not self.closed:
            self.runtime.lock.enter()
            self.runtime.slots[self.user_id].close(force=force)

    def shut(self) -> None:
        """Give everything back that outlives contexts, and close; for the slot, when nobody holds the device.

        All steps are made whatever fails; the last failure is raised, unless the device is lost.
        """
        counters.write_out(self.user_id, lambda: self.counters)
        self.runtime.monitor.forget(self)
        self.recycler.close()
        self.health.look()
        with ExitStack() as steps:  # last added first
            if self.health.lost is not None:
                steps.enter_context(contextlib.suppress(errors.RuntimeFault))
            steps.callback(self._leave)
            steps.callback(self._undo.close)
            steps.callback(setattr, self, "closed", True)
            steps.callback(self._leave_first_fault)
            steps.callback(self._release_memory)
            for program in self.programs:
                steps.callback(program.close, with_device=True)
            for own in self.own_streams:
                steps.callback(teardown.end_tasks, own, force=True)

    def _leave_first_fault(self) -> None:
        """Let who opens the device again know what it went down with."""
        first = self.health.first
        if first is None:
            self.hal.first_faults.pop(self.device_id, None)
        else:
            self.hal.first_faults[self.device_id] = lambda: first

    @property
    def counters(self) -> Counters:
        """What was done on the device since it was opened, by kind; nothing counts on the way of a launch."""
        self.tally.open_retries = self.driver.open_retries
        return gathered(list(self.streams()), self.tally, **self._memory_counts())

    def _memory_counts(self) -> dict[str, int]:
        """Return what memory has counted; the public layer knows about it."""
        return {}

    def _leave(self) -> None:
        """Leave a device that the driver has not closed to the runtime, which tries again before it opens it anew."""
        if self.driver.opened:
            self.runtime.unclosed[self.device_id] = self.driver

    @property
    def buffers(self) -> dict[int, Any]:
        """Buffers that are alive and were not closed, by address; the public layer knows about them."""
        return {}

    def held_memory(self) -> list[str]:
        """Say in lines who holds memory of the device; the public layer knows about it."""
        return []

    def blocks_in_use(self) -> list[tuple[str, int, int, str]]:
        """Return (owner, address, bytes, call site) of the memory that users hold; the public layer knows about it."""
        return []

    def pooled_memory(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of what is in use of pools over reserved addresses; the public layer knows them."""
        return []

    def free_unused(self, kind: str) -> bool:
        """Give something of a kind back to the driver that nobody needs now; see `recycling`."""
        return recycling.free_unused(self, kind)

    def give_back_dropped(self) -> None:
        """Give back what was dropped without `close`, as far as work that may use it is done; never waits."""

    def _release_memory(self) -> None:
        """Free what users still hold; the public layer knows about buffers."""

    def __enter__(self: SelfDevice) -> SelfDevice:
        self.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.closed:  # what was made in the block ends with it
            self.runtime.lock.enter()
            self.runtime.slots[self.user_id].close(force=kind is not None, tells=False)

    def __repr__(self) -> str:
        held = f"{count(len(self.context.streams), 'stream')}, {count(len(self.buffers), 'buffer')}"
        state = "closed" if self.closed else held
        return f"<device {self.user_id}: {self.chip.soc}, {state}>"


def serials() -> Iterator[int]:
    """Return a thread-safe counter of task serial numbers, 32 bits, shared by all streams of the process."""
    return itertools.chain.from_iterable(itertools.repeat(range(1 << 32)))
