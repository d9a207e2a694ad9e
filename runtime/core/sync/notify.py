"""Notifies and count-notifies: reusable signals of a device, also between processes (core_spec 10.7.11)."""

from __future__ import annotations

import enum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from chips.tasks import (
    CountNotifyRecord,
    CountNotifyWait,
    NotifyClear,
    NotifyRecord,
    NotifyRecordIpc,
    NotifyReset,
    NotifyWait,
    Task,
)
from npuhal import constants as c
from runtime import errors
from runtime.core.device.recycling import take_or_recycle
from runtime.core.diagnostics import resource_report
from runtime.core.process.handles import dead_handle
from runtime.core.submission.prepared import prepare
from runtime.core.sync.behind import free_behind
from runtime.driver import resources as id_kinds
from runtime.driver.info import DeviceInfo
from runtime.driver.shared_ids import SharedIdDriver
from runtime.errors.arguments import STREAMS, check_instance, check_same_runtime, member, whole
from runtime.errors.closing import Again, Steps
from runtime.errors.not_copied import NotCopied
from runtime.memory.ipc import process_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runtime.core.device.device import Device
    from runtime.core.stream.stream import Stream

_WORD = (1 << 32) - 1
_POSITION_OF_DEVICE = ("INFO_TYPE_PHY_CHIP_ID", "INFO_TYPE_PHY_DIE_ID")
"""What tells where the registers of a device are."""


class RecordMode(enum.IntEnum):
    """How a record changes a count-notify (aclrtCntNotifyRecordMode)."""

    STORE = 0
    ADD = 1
    SET_BITS = 2
    CLEAR_BITS = 4


class WaitMode(enum.IntEnum):
    """When a wait for a count-notify is over (aclrtCntNotifyWaitMode)."""

    LESS = 0
    EQUAL = 1
    GREATER = 2
    GREATER_OR_EQUAL = 3
    ALL_BITS = 4


class _Signal(NotCopied):
    """What both kinds share: an id of one device, from creation to close."""

    __slots__ = ("__weakref__", "_handle", "_record_key", "closed", "device", "notify_id", "site")

    what, id_kind = "notify", id_kinds.NOTIFY

    def __init__(self, device: Device, notify_id: int) -> None:
        self.device, self.notify_id = device, notify_id
        self._record_key = f"{self.what} record {notify_id}"
        """What a stream keeps the prepared record under; a string, because it knows its hash."""
        self._handle = 0
        self.closed = False
        device.signals.adopt(self)

    @property
    def handle(self) -> int:
        """The number by which the C API knows it, for as long as somebody has it."""
        if not self._handle and not self.closed:
            self._handle = self.device.runtime.handles.add(self, weak=True)
        return self._handle

    def check_open(self, stream: Stream | None = None) -> None:
        """Raise where it was closed, or the stream was."""
        if self.closed:
            history = self.device.runtime.handles.history(self._handle) if self._handle else ""
            raise dead_handle(self.what, f"{self.what} {self.notify_id}", history)
        if stream is not None:
            stream.check_open()
            check_same_runtime(self.what, stream.device, self)

    def _check_stream(self, call: str, stream: Stream) -> None:
        """Raise where it cannot be used in a stream."""
        check_instance(call, "stream", stream, self.device.stream_type, STREAMS)
        self.check_open(stream)

    def close(self) -> None:
        """Give it up; its id goes back when what is queued is done, waits for it included. Closing twice does nothing.
        """
        if not self.closed:
            releases = list(self._releases())
            free = releases[0] if len(releases) == 1 and isinstance(releases[0], Again) else Steps(releases)
            dropped, rest = self.device.dropped, Steps((Again(partial(self._part, free)),))
            dropped += (rest,)  # no call, and none behind it: an interrupt comes before both or behind both
            self.closed = True
            rest.finish(dropped)

    def _part(self, free: Callable[[], None]) -> None:
        """Let nobody find it any more, and call what gives its id back; can be done again."""
        device = self.device
        if self._handle:
            device.runtime.handles.remove(self._handle)
        device.signals.events.remove(self)
        free_behind(device, free)

    def _releases(self) -> Iterator[Callable[[], object]]:
        """Return the steps that give back what the driver has of it."""
        yield self.device.ids.freeing(self.id_kind, self.notify_id)

    def __del__(self) -> None:
        if not getattr(self, "closed", True):
            self.device.signals.abandoned.append(self)

    def __enter__(self: SelfSignal) -> SelfSignal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.what} {self.notify_id} of device {self.device.user_id}{', closed' if self.closed else ''}>"


SelfSignal = TypeVar("SelfSignal", bound=_Signal)


class Notify(_Signal):
    """A flag with a device id of its own; a wait clears it. Made by `device.create_notify()`."""

    __slots__ = ("_export_name", "_import_name", "_owner", "_registers", "device_only")

    def __init__(self, device: Device, imported: bytes = b"", *, device_only: bool = False) -> None:
        """Take an id, or open the notify that another process has shared under a name.

        Args:
            device_only: code on the device uses it (creation flag 1).

        Raises:
            NotSupported 207000: the chip or its task scheduler has nothing for code on the device.
            ResourceExhausted 207009: the device has no id left.
            RuntimeFault: no such name, or this process may not open it.
        """
        self._export_name, self._import_name = b"", imported
        self._registers: dict[int, int] = {}
        """Where the driver has mapped the register, by the device that reaches it (SchedulerTraits)."""
        self._owner, self.device_only = device.device_id, device_only
        if device_only:
            device.need_for_cores("a notify")
        own = device.driver.info.physical_id()  # for each notify, as the vendor's runtime asks
        if imported:
            shared = self._names(device).open(imported, own)
            number, self._owner = shared.number, shared.device_id
        else:
            number = _take(device, id_kinds.NOTIFY, self._flags)
        super().__init__(device, number)

    @property
    def shared(self) -> bool:
        """Whether it is another process's, or was shared with others."""
        return bool(self._import_name or self._export_name)

    @property
    def _flags(self) -> int:
        return c.TSDRV_FLAG_REMOTE_ID if self.device_only else 0

    @staticmethod
    def _names(device: Device) -> SharedIdDriver:
        return SharedIdDriver(device.ids.hal, device.device_id, device.ids.resource_table)

    def record(self, stream: Stream) -> None:
        """Set the flag when the stream gets there."""
        try:
            send = stream.sends.get(self._record_key)
        except AttributeError:  # no stream
            send = None
        if send is None or self.closed or not send():
            self._record(stream)

    def _record(self, stream: Stream) -> None:
        self._check_stream("Notify.record", stream)
        task: Task = NotifyRecord(notify_id=self.notify_id)
        local = not self._import_name and stream.device is self.device
        if not local:
            task = self._from_elsewhere(stream)
        stream.submit(task, owner="notify record")
        if local:
            prepare(stream, self._record_key, task, "notify record")

    def _from_elsewhere(self, stream: Stream) -> NotifyRecordIpc:
        """Return the record of a flag that another process or device owns: a write to its register.

        The owner's device need not be open in this process.
        """
        owner = DeviceInfo(stream.device.hal, self._owner)
        chip_id, die_id = (owner.get_or("MODULE_TYPE_SYSTEM", name, 0) for name in _POSITION_OF_DEVICE)
        physical = owner.physical_id()
        traits, own = stream.device.chip.traits, stream.device.driver.info.physical_id()
        if physical != own and not traits.records_on_other_cards:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} is one of card {physical}: entries of "
                f"{stream.device.chip.soc} reach notifies of their own card {own} alone",
                hint="record it in a stream of its own card",
            )
        return NotifyRecordIpc(
            notify_id=self.notify_id, phy_id=physical, chip_id=chip_id, die_id=die_id,
            addr=self._register(stream.device, physical),
        )

    def _register(self, device: Device, owner: int) -> int:
        """Return where entries of a device reach the flag of a physical card; 0 where entries compute it."""
        if not device.chip.traits.maps_shared_notifies:
            return 0
        address = self._registers.get(device.device_id)
        if address is None:
            own = device.driver.info.physical_id()
            address = self._registers[device.device_id] = self._names(device).register(own, owner, self.notify_id)
        return address

    def wait(self, stream: Stream, timeout_s: int | None = None) -> None:
        """Let the stream wait for the flag and clear it; `timeout_s` None or 0 waits for ever."""
        self._check_stream("Notify.wait", stream)
        limit_s = 0 if timeout_s is None else timeout_s
        limit_s = _word("Notify.wait", "timeout_s", limit_s)
        if limit_s and not (stream.device.chip.has("NOTIFY_WAIT") or stream.device.scheduler_has("WAIT_TIMEOUT_DC")):
            limit_s = 0  # such a scheduler would take the number for something else
        stream.submit(NotifyWait(notify_id=self.notify_id, timeout_s=limit_s), owner="notify wait")

    # -- other processes -------------------------------------------------------------------------------------------

    def export(self, *, everyone: bool = False) -> bytes:
        """Return the name under which other processes can open it; the first call makes it.

        Args:
            everyone: let any process open it; by default only those named to `allow`.

        Raises:
            NotSupported 207000: it is itself somebody else's.
        """
        self.check_open()
        if self._import_name:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} was opened from another process and cannot be shared on",
                hint="let its owner allow the other process",
            )
        names = self._names(self.device)
        if not self._export_name:
            self._export_name = names.export(self.notify_id)
        if everyone:
            names.allow_all(self._export_name)
        return self._export_name

    @property
    def exported(self) -> bool:
        """Whether other processes can be let open it: it has a name among them."""
        return bool(self._export_name)

    def allow(self, pids: Iterable[int]) -> None:
        """Let processes open it by the name that `export` returned; their ids as the host numbers them."""
        self.check_open()
        allowed = process_ids("Notify.allow", pids)
        name = self.export()
        for pid in allowed:
            self._names(self.device).allow(name, pid)

    def allow_server(self, server: int, pids: Iterable[int]) -> None:
        """Let processes of another server of the super-pod open it; `server` is its super-pod device id."""
        self.check_open()
        server, allowed = whole("Notify.allow_server", "server", server), process_ids("Notify.allow_server", pids)
        name = self.export()
        for pid in allowed:
            self._names(self.device).allow_server(name, server, pid)

    def _releases(self) -> Iterator[Callable[[], object]]:
        ids = self.device.ids
        if self._import_name:
            yield partial(self._names(self.device).close, self._import_name)
            return
        if self._export_name:
            yield partial(self._names(self.device).withdraw, self._export_name)
        yield ids.freeing(self.id_kind, self.notify_id, partial(ids.free, self.id_kind, self.notify_id,
                                                                flags=self._flags))  # fmt: skip


class CountNotify(_Signal):
    """A 32-bit counter of a device that streams change and wait for (STARS v2). Made by `device.create_count_notify()`.
    """

    __slots__ = ()

    what, id_kind = "count-notify", id_kinds.COUNT_NOTIFY

    def __init__(self, device: Device) -> None:
        """Take an id; the counter starts at 0.

        Raises:
            NotSupported 207000: the chip has none.
            ResourceExhausted: the device has no id left.
        """
        if not device.chip.traits.count_notifies:
            reason = f"{device.chip.soc} has no count-notifies"
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", reason, ee="EE1001", params=(reason,), hint="use a notify",
            )
        super().__init__(device, _take(device, id_kinds.COUNT_NOTIFY))

    def record(self, stream: Stream, value: int, mode: RecordMode = RecordMode.STORE) -> None:
        """Change the counter when the stream gets there."""
        self._check_stream("CountNotify.record", stream)
        value = _word("CountNotify.record", "value", value)
        task = CountNotifyRecord(
            notify_id=self.notify_id, mode=member("CountNotify.record", "mode", mode, RecordMode), value=value
        )
        stream.submit(task, owner="count-notify record")

    def wait(
        self, stream: Stream, value: int, mode: WaitMode = WaitMode.GREATER_OR_EQUAL, *, timeout_s: int = 0,
        clear: bool = False,
    ) -> None:
        """Let the stream wait until the counter meets a condition with a value.

        Args:
            timeout_s: 0 waits for ever.
            clear: set the counter to 0 when the wait is over.
        """
        self._check_stream("CountNotify.wait", stream)
        value, timeout_s = _word("CountNotify.wait", "value", value), _word("CountNotify.wait", "timeout_s", timeout_s)
        task = CountNotifyWait(
            notify_id=self.notify_id, mode=member("CountNotify.wait", "mode", mode, WaitMode), value=value,
            timeout_s=timeout_s, clear=clear,
        )
        stream.submit(task, owner="count-notify wait")

    def reset(self, stream: Stream) -> None:
        """Set the counter to 0 when the stream gets there."""
        self.record(stream, 0)


def clear(notifies: Iterable[Notify], stream: Stream) -> None:
    """Take the flags of notifies back when a stream gets there; 207000 (EE1015) where the scheduler is too old."""
    if stream.plugin.commands is not None:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"reset of notifies: {stream.device.chip.soc} has none", ee="EE1005",
            params=("reset of notifies",), hint="a wait clears the flag",
        )
    if stream.device.chip.traits.abort_by_capability:
        stream.device.need_of_scheduler("MC2_ENHANCE", "reset of notifies")
    for notify in notifies:
        notify.check_open(stream)
        kind = NotifyClear if stream.device.chip.traits.clears_by_command else NotifyReset
        stream.submit(kind(notify_id=notify.notify_id), owner="notify reset")


def _take(device: Device, kind: str, flags: int = 0) -> int:
    try:
        return device.ids.alloc(kind, flags=flags)
    except errors.ResourceExhausted:
        for stream in device.streams():  # what was closed goes back with the tasks that use it
            stream.drain()
    try:
        return take_or_recycle(device, kind, partial(device.ids.alloc, kind, flags=flags))
    except errors.ResourceExhausted as fault:
        resource_report.explain(device, kind, fault, "creation of a notify")
        raise


def _word(call: str, name: str, value: int) -> int:
    value = whole(call, name, value)
    if not 0 <= value <= _WORD:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; it must be 0 to {_WORD}",
            ee="EE1003", params=(call, value, name, f"[0, {_WORD}]"),
            hint="0 waits for ever" if name == "timeout_s" else "pass an unsigned 32-bit number",
        )
    return value

