"""A runtime: a HAL backend, the machine behind it, and the devices and contexts that its threads use."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import npuhal
from npuhal.late import logger
from npuhal.words import a
from runtime import errors
from runtime.core.callbacks.callback import HostCallbacks
from runtime.core.callbacks.exceptions import ExceptionCallbacks
from runtime.core.callbacks.observers import Observers
from runtime.core.device.device import Device, serials
from runtime.core.device.limits import (
    DeviceLimits,
    SaturationMode,
    ThreadLimits,
    check_saturation,
    default_saturation,
)
from runtime.core.device.monitor import Monitor
from runtime.core.device.slot import DeviceSlot, DeviceState
from runtime.core.device.timeouts import Timeouts
from runtime.core.diagnostics import hang, logs
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.diagnostics.tracing import span
from runtime.core.process import lifetime
from runtime.core.process.context import Context
from runtime.core.process.current import CurrentState, no_context
from runtime.core.process.environment import ReadOnce
from runtime.core.process.handles import HandleTable
from runtime.core.process.process_lock import ProcessLock
from runtime.core.process.threads import ThreadContext, ThreadStates
from runtime.core.stream import blocking
from runtime.core.sync.label import LabelIds
from runtime.driver import visible
from runtime.driver.info import DeviceInfo, MachineFacts, read_machine
from runtime.driver.numbers import DeviceNumbers
from runtime.driver.resource_table import VirtualMemory
from runtime.errors.arguments import check_instance, whole
from runtime.errors.not_copied import NotCopied
from runtime.memory import caller
from runtime.memory.ipc import OpenKeys
from runtime.memory.ledger import MemoryWatchers
from runtime.memory.registered import HostRegistry

if TYPE_CHECKING:
    from npuhal.api import HalApi
    from runtime.core.ports import Tracer
    from runtime.driver.device import DeviceDriver

SelfRuntime = TypeVar("SelfRuntime", bound="Runtime")

_LOG = logger(__name__)


class Runtime(NotCopied):
    """A HAL backend, the machine behind it, and the devices opened on it.

    The process has one (`get`); more can be made by tools and tests, as long as they do not open the same devices.
    """

    trace_creation = False
    """Whether devices opened from now on keep creation sites, also where the environment does not ask for it."""
    device_type: type[Device] = Device
    """What opening a device makes; the public layer puts its own class here."""

    def __init__(self, url: str | None = None) -> None:
        """Open the backend and read the machine; no device is opened.

        Raises:
            npuhal.errors.LibraryNotFound: no driver; the message names every path searched.
            chips.UnknownChip: the machine's SoC is none that this package knows.
        """
        self.logs = logs.configure()
        """What the log variables ask for."""
        self.hang_s = hang.patience(os.environ)
        """Seconds of waiting after which a stream is described; infinity never does."""
        self.tracer: Tracer | None = None
        """Who watches streams and devices of this runtime."""
        self.memory_watchers = MemoryWatchers()
        """Who is told of every block of memory that comes and goes."""
        self.watch_lock = threading.Lock()
        """Held while somebody begins or ends to watch."""
        self.hal: HalApi = npuhal.open_hal(url)
        self.trace_creation = self.trace_creation or self.hal.looks_for_leaks
        self.clock = time.monotonic
        """What the opening of devices is measured with."""
        self.pid = os.getpid()
        try:
            self.machine: MachineFacts = read_machine(self.hal)
            self.visible = visible.read_mask(os.environ.get(visible.VARIABLE), self.machine.device_count)
            strict = os.environ.get(visible.STRICT) == "1"
            visible.check(self.visible, self.machine.device_count, strict=strict)
            if self.machine.device_count:
                self.hal.require(self.machine.chip.traits.entries.value)
        except BaseException:
            self.hal.close()
            raise
        self.numbers = DeviceNumbers(self.hal, self.visible.ids)
        """Converters between user, driver and physical ids."""
        caller.take_care(self.hal.tries_addresses)
        self.handles: HandleTable = HandleTable()
        self.serials = serials()
        self.timeouts: Timeouts = Timeouts(self.open_devices)
        """How long waits and operators may take where a call states nothing."""
        self.label_ids = LabelIds()
        """Ids of labels that belong to no model yet."""
        self.callbacks: HostCallbacks = HostCallbacks()
        """Functions that devices call on the host."""
        self.host_memory = HostRegistry(creation_site)
        """Host memory of the user's own that devices may use."""
        self.open_keys = OpenKeys(creation_site)
        """Memory of other processes that is open here."""
        self.threads = ThreadStates()
        """Which thread works in which context."""
        self.current = CurrentState(self.threads)
        self.device_observers = Observers("device state")
        """Told (user device id, DeviceState) before and after a device is set or reset."""
        self.stream_observers: Observers = Observers("stream state")
        """Told (stream, StreamState) after a stream was made and before one is closed."""
        self.default_device: int | None = None
        """The device that a thread without one works on; None: such a thread gets an error."""
        self.soc_name = ""
        """The SoC that the user has fixed; a device that is another one is not opened. Empty: none was."""
        self.parameters: dict[int, int] = {}
        """System parameters of the process (aclrtSetSysParamOpt)."""
        self.limits = DeviceLimits()
        self.thread_limits = ThreadLimits()
        self.unclosed: dict[int, DeviceDriver] = {}
        """Devices, by the driver's id, that the driver would not close."""
        self.left_behind: set[int] = set()
        """Blocks without an owner object that went with their device: freeing one afterwards is no mistake."""
        self._saturation: SaturationMode | None = None
        self.lock: ProcessLock = ProcessLock()
        """Who keeps calls out while a snapshot is made."""
        self.virtual_memory = VirtualMemory(self.lock.enter, lambda: bool(self.open_devices()))
        """Physical memory of all devices that the user has handles of, and its mappings."""
        self.exceptions: ExceptionCallbacks = ExceptionCallbacks()
        """Told of failed tasks, and of streams that are waited for very long."""
        self.abort_observers: Observers = Observers("device abort", taken="EE1017")
        """Told (user device id, AbortPhase) while all tasks of a device are being ended."""
        self.read_once = ReadOnce(blocking.VARIABLE, visible.VARIABLE)
        """Variables whose changes have no effect any more."""
        self.launch_blocking = blocking.from_environment()
        """Whether launches wait for their stream unless the stream says otherwise."""
        self.monitor = Monitor(threaded=not self.hal.stepped, around=self.lock.round)
        """Looks after the devices that are open."""
        self.closed = False
        self.opened = False
        """Whether a device was ever opened."""
        self.leaving = False
        """Set when the process exits: nobody waits for running tasks to be ended any more, the driver does the rest."""
        self.slots = tuple(
            DeviceSlot(index, self._open, self.device_observers.notify) for index in range(len(self.visible.ids))
        )
        """What holds each device, by user device id."""
        self.number = lifetime.enter(self)
        """What tells it from the other open ones of the process; 0 for the only one."""

    def _open(self, index: int) -> Device:
        """Open a device, for its slot."""
        self.read_once.look()
        self.threads.opens(index, self.slots)
        self.opened = True
        if self.soc_name and self.soc_name != self.machine.soc_name:
            raise errors.fault(
                "RT_ERROR_DEVICE_RETAIN",
                f"device {index} is {a(self.machine.soc_name)}, but {self.soc_name} was fixed for this process",
                hint="do not fix the SoC, or fix the one that the machine has",
            )
        try:
            self._close_again(self.visible.ids[index])
            with span(self, "open device", device=index):
                return self.device_type(self, index, self.visible.ids[index])
        except errors.RuntimeFault as cause:
            if cause.code == errors.tables.public_code("RT_ERROR_DEVICE_RETAIN"):
                raise
            raise errors.fault(
                "RT_ERROR_DEVICE_RETAIN", f"device {index} cannot be opened: {cause.message}",
                ee=cause.message_id, params=cause.params, hint=cause.hint,
                hal=cause.__cause__ if isinstance(cause.__cause__, npuhal.errors.HalError) else None,
            ) from cause

    def _close_again(self, device_id: int) -> None:
        """Close a device that the driver has refused to close."""
        if (driver := self.unclosed.get(device_id)) is not None:
            driver.close()
            self.unclosed.pop(device_id, None)

    @property
    def url(self) -> str:
        """The URL of the HAL backend."""
        return self.hal.url

    @property
    def device_count(self) -> int:
        """How many devices this process may use.

        Raises:
            DeviceUnavailable 207004: ASCEND_RT_VISIBLE_DEVICES hides all of them by a mistake in it.
        """
        if not self.visible.usable and self.machine.device_count:
            raise visible.unusable_mask(self.visible, self.machine.device_count)
        return len(self.slots)

    def check_process(self) -> None:
        """Refuse a child of fork whose parent had opened a device: the driver's mappings do not come along."""
        if os.getpid() != self.pid:
            raise errors.fault(
                "ACL_ERROR_INTERNAL_ERROR",
                f"this process was forked from {self.pid} after that one had opened a device",
                hint="start workers before the first use of a device, or with multiprocessing's spawn method",
            )

    def slot(self, index: int, call: str = "device") -> DeviceSlot:
        """Return what holds a device.

        Raises:
            InvalidArgument 107001: no device has this index.
        """
        self.check_process()
        if self.closed:
            raise self._gone()
        index = whole(call, "the device index", index)
        if not 0 <= index < len(self.slots):
            physical: Mapping[int, int] = {}
            with contextlib.suppress(errors.RuntimeFault):  # only a hint depends on it
                physical = self.numbers.by_physical()
            raise visible.no_such_device(self.visible, self.machine.device_count, index, call, physical)
        return self.slots[index]

    @staticmethod
    def _gone() -> errors.RuntimeFault:
        return errors.fault("ACL_ERROR_UNINITIALIZE", "this runtime was closed", hint="make a new one")

    def ask(self, index: int) -> DeviceInfo:
        """Return what the driver says about a device, which need not be open."""
        return DeviceInfo(self.hal, self.visible.ids[self.slot(index).index])

    # -- devices ---------------------------------------------------------------------------------------------------

    def device(self, index: int = 0) -> Device:
        """Return a device by its index, opening it on first use; it stays open until it is closed.

        Raises:
            InvalidArgument 107001: no device has this index.
            DeviceUnavailable 507033: it could not be opened; the cause is attached.
        """
        return self.slot(index).own()

    def set_device(self, index: int) -> Device:
        """Make a device the calling thread's, opening it if need be; pair it with one `reset_device`.

        Raises:
            InvalidArgument 107001: no device has this index.
            DeviceUnavailable 507033: it could not be opened; the cause is attached.
        """
        index = whole("set_device", "the device index", index)
        slot = self.slot(index, "set_device")
        device = slot.retain()
        device.tally.set_device += 1
        self.current.use_device(slot)
        device.saturation = self.saturation
        self.device_observers.notify(index, DeviceState.SET_POST)
        return device

    def reset_device(self, index: int, *, drain: bool = False) -> None:
        """Take one `set_device` back, on whatever thread it was made; the last one ends what the device runs.

        The last reset also leaves the calling thread without a device, whichever it had set; a context that it has
        made current stays.

        Args:
            drain: take all of them back at once.

        Raises:
            ContextError 507007: the device is not set, or was reset as often already.
        """
        if self.slot(index, "reset_device").release(drain=drain):
            self.current.slot = None

    @property
    def saturation(self) -> SaturationMode:
        """What becomes of results out of range in streams made from now on; setting it reaches the thread's device.

        Setting raises InvalidArgument 107000 for what is no mode, NotSupported 207000 for one that the chip lacks.
        """
        return default_saturation(self.machine.chip) if self._saturation is None else self._saturation

    @saturation.setter
    def saturation(self, mode: int) -> None:
        self._saturation = check_saturation(self.machine.chip, mode)
        if context := self.find_context():
            context.device.saturation = self._saturation

    # -- contexts --------------------------------------------------------------------------------------------------

    def create_context(self, index: int) -> Context:
        """Return a new context on a device and work in it; the device stays open until the context is destroyed."""
        context = self.slot(index, "create_context").create_context()
        self.current.use_context(context)
        return context

    def destroy_context(self, context: Context) -> None:
        """End a context that `create_context` made, and what runs in it; a thread that works in it has none then.

        Raises:
            ContextError 107002: it is a primary context, which goes with the device's reset.
            ContextError 507007: it was destroyed before.
        """
        self.check_process()
        check_instance("destroy_context", "context", context, Context, "pass what create_context() returned")
        if context.primary:
            raise errors.fault(
                "RT_ERROR_CONTEXT_NULL", f"{context!r} cannot be destroyed: it goes with the device's reset",
                ee="EE1017", params=("destroy of a context", "context", "it is the primary one of its device"),
                hint=f"reset device {context.device.user_id} instead",
            )
        self.slots[context.device.user_id].destroy_context(context)
        if self.current.context is context:
            self.current.clear()

    def find_context(self) -> Context | None:
        """Return the calling thread's context, or that of the default device, or None; opens nothing."""
        return self.current.find()

    def current_context(self) -> Context:
        """Return the calling thread's context; where there is none but a default device, that one is set first.

        Raises:
            ContextError 107002: this thread has no context.
            ContextError 507007: the context that it was working in was destroyed; told once.
        """
        self.check_process()
        had = self.current.context
        context = self.current.find()
        if context is not None:
            return context
        if had is None and self.default_device is not None:
            return self.set_device(self.default_device).context
        raise no_context(self.slots, destroyed=had is not None)

    def contexts_by_thread(self) -> list[ThreadContext]:
        """Return the threads that have asked for a context, each with the one it works in; the main thread first."""
        return self.threads.listed()

    def wait_unlocked(self) -> None:
        """Return when the process is not locked for a snapshot; see `ProcessLock.enter`."""
        self.lock.enter()

    # -- end -------------------------------------------------------------------------------------------------------

    def open_devices(self) -> list[Device]:
        """Return the devices that are open now."""
        return [slot.device for slot in self.slots if slot.device is not None]

    def close(self, *, force: bool = False) -> None:
        """Close all devices; `force` ends running tasks. The library stays loaded.

        All devices are tried, and the first failure is raised; without `force` the runtime then stays usable.
        """
        self._close(force=force, tells=True)

    def _close(self, *, force: bool, tells: bool) -> None:
        if self.closed or os.getpid() != self.pid:
            return
        self.lock.force()
        first: BaseException | None = None
        for slot in sorted(self.slots, key=self._has_no_keys_open):  # first who has another's memory open
            try:
                slot.close(force=force, tells=tells)
            except errors.RuntimeFault as fault:
                first = first or fault
        for device_id in list(self.unclosed):
            with contextlib.suppress(errors.RuntimeFault):  # the driver takes everything back when the process ends
                self._close_again(device_id)
        if first is None or force:
            self.closed = True
            self.hal.close()
        if first is not None:
            raise first

    def _has_no_keys_open(self, slot: DeviceSlot) -> bool:
        return slot.device is None or not self.open_keys.of_device(slot.device.device_id)

    def __enter__(self: SelfRuntime) -> SelfRuntime:
        if self.closed:
            raise self._gone()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close it with everything that was made in it; by force where the body has failed, whose exception goes on."""
        try:
            self._close(force=kind is not None, tells=False)
        except Exception as problem:
            if kind is None:
                raise
            _LOG.error("%r was closed because its block has raised %s; closing it: %s", self, kind.__name__, problem)

    def disown(self) -> None:
        """In a child of fork: mark everything closed without a call to the driver, which knows this process not.

        A runtime that has opened no device becomes the child's own.
        """
        if not self.opened:
            self.pid = os.getpid()
            return
        for slot in self.slots:
            device = slot.device
            if device is not None:
                device.closed = True
                for context in device.contexts():
                    context.streams.renew_lock()
                for stream in device.streams():
                    stream.disown()

    def __repr__(self) -> str:
        return f"<Runtime {self.url}: {len(self.slots)} x {self.machine.soc_name or 'no device'}>"
