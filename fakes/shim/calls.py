"""Serves calls that lie in slots: arguments in their C form become those of the fake's functions."""

from __future__ import annotations

import ctypes
import struct
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fakes.checkers import names
from fakes.shim.exports import POSTED, Export
from fakes.shim.posts import HARMLESS, Posts
from fakes.shim.region import POSTS
from npuhal import constants as c
from npuhal.daemon import CAPABILITY_PID_QOS, DaemonError
from npuhal.late import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakes.machine.machine import Machine
    from fakes.shim.region import Region, Slot
    from fakes.shim.tracing import CallTrace
    from fakes.tiers.direct import FakeApi

Call = Callable[..., Any]
_LOG = logger("npuhal.fake.shim")
_FORMATS = {
    ctypes.c_bool: "?7x", ctypes.c_ubyte: "B7x", ctypes.c_byte: "b7x", ctypes.c_ushort: "H6x", ctypes.c_short: "h6x",
    ctypes.c_int: "i4x", ctypes.c_uint: "I4x", ctypes.c_long: "q", ctypes.c_ulong: "Q", ctypes.c_void_p: "Q",
}  # fmt: skip
_MOST_SHOWN = 1 << 16
_OPENERS = frozenset({"halDeviceOpen", "halDeviceClose", "drvDeviceOpen", "drvDeviceClose"})


class Service:
    """The functions of one machine for callers in another process."""

    def __init__(self, api: FakeApi, exports: Sequence[Export], region: Region, trace: CallTrace | None) -> None:
        self.machine: Machine = api.fake
        self._send = api.raw("halSqTaskSend")
        self._posts = Posts(self.machine, region, self._send)
        self._posts.failed = self.failed
        self.errors: list[str] = []
        """What went wrong in the fake itself, or in functions that were attached to it."""
        self._exports = exports
        self._region = region
        self._sites = self.machine.checks is not None
        self._traced = trace is not None
        if trace is not None:
            region.header.flags &= ~POSTS
        self._functions = [self._function(api, trace, export) for export in exports]

    def serve(self, slot: Slot) -> Callable[[int], int]:
        """Return what carries out the call in a slot, given the function's number."""
        entries: list[Callable[[], int] | None] = [None] * len(self._exports)

        def call(number: int) -> int:
            entry = entries[number]
            if entry is None:
                entry = entries[number] = self._entry(slot, number)
            return entry()

        return call

    def failed(self, what: str, error: BaseException) -> int:
        """Log an exception that a caller in C cannot get; returns what the call answers instead."""
        text = f"{what}: {type(error).__name__}: {error}"
        self.errors.append(text)
        _LOG.error("%s", text)
        if not type(error).__module__.startswith("fakes"):
            _LOG.error("%s", "".join(traceback.format_exception(error)).rstrip())
        return c.DRV_ERROR_NOT_SUPPORT

    def _entry(self, slot: Slot, number: int) -> Callable[[], int]:
        prototype = self._exports[number].prototype
        function, machine, name = self._functions[number], self.machine, prototype.name
        if name == POSTED and not self._traced:
            function = partial(self._sending, slot)
        layout = struct.Struct("<" + "".join(_FORMATS.get(arg.ctype, "Q") for arg in prototype.args))
        unpack, args = layout.unpack_from, memoryview(slot).cast("B")[type(slot).args.offset :]
        views: list[tuple[int, Any, dict[int, Any]]] = [
            (index, kind, {}) for index, arg in enumerate(prototype.args) if (kind := _target(arg.ctype))
        ]
        lock, posts, header = machine.lock, self._posts, self._posts.header
        forgets = name not in HARMLESS

        arrays = self._arrays(self._exports[number]) if self._traced else ()

        def entry() -> int:
            if header.posted != header.taken:
                with lock:
                    posts.take()
            if forgets:
                posts.forget()
            if machine.pending:
                with lock:
                    failed, machine.pending[:] = machine.pending[:], ()
                for _, error in failed:
                    self.failed("the device", error)
            values = list(unpack(args))
            for index, kind, known in views:
                address = values[index]
                if address:
                    view = known.get(address)
                    if view is None:
                        view = known[address] = kind.from_address(address)
                    values[index] = view
                else:
                    values[index] = None
            for index, count in arrays:
                if (first := values[index]) is not None and 0 < values[count] <= _MOST_SHOWN:
                    values[index] = (type(first) * values[count]).from_address(ctypes.addressof(first))
            try:
                return function(*values) or 0
            except BaseException as error:
                return self.failed(name, error)
            finally:
                if (caller := machine.memory.caller) is not None and caller.dirty:
                    with lock:
                        caller.settle()

        return self._sited(slot, entry) if self._sites else entry

    @staticmethod
    def _arrays(export: Export) -> list[tuple[int, int]]:
        """Return the arguments that are arrays, with those that say how long they are: for a trace."""
        args = export.prototype.args
        return [
            (rule.arg, rule.count_arg) for rule in export.rules
            if rule.parent < 0 <= rule.count_arg and rule.count_rule < 0 and _target(args[rule.arg].ctype)
        ]  # fmt: skip

    def _sited(self, slot: Slot, entry: Callable[[], int]) -> Callable[[], int]:
        """Let the checkers know where the program is."""

        def sited() -> int:
            names.elsewhere(slot.site.decode(errors="replace"))
            return entry()

        return sited

    def _function(self, api: FakeApi, trace: CallTrace | None, export: Export) -> Call:
        name = export.prototype.name
        if export.prototype.chapter == "daemon":
            return _DAEMON[name](api)
        if trace is not None:
            traced: Call = getattr(trace, name)
            return self._counting(traced) if name in _OPENERS else traced
        if name in (POSTED, "halSqCqQuery"):
            return api.raw(name)
        function: Call = getattr(api, name)
        return self._counting(function) if name in _OPENERS else function

    def _sending(self, slot: Slot, device: int, info: Any) -> int:
        code: int = self._send(device, info)
        if not code:
            with self.machine.lock:
                self._posts.sent(slot, device, info)
        return code

    def take(self) -> None:
        """Carry out what was posted; the machine's lock is held."""
        self._posts.take()

    def finish(self) -> None:
        """Carry out what was posted last."""
        with self.machine.lock:
            self.take()

    def _counting(self, function: Call) -> Call:
        def counting(*values: Any) -> Any:
            answer = function(*values)
            self._region.header.opened = sum(bool(device.opened) for device in self.machine.devices)
            return answer

        return counting


def _target(ctype: Any) -> Any:
    """Return the type of what an argument leads to in the slot: pointers to numbers and structs, structs by value."""
    if not isinstance(ctype, type):
        return None
    if issubclass(ctype, ctypes._Pointer):
        return ctype._type_
    return ctype if issubclass(ctype, (ctypes.Structure, ctypes.Union)) else None


def _coded(action: Callable[[], None]) -> int:
    try:
        action()
    except DaemonError as failure:
        return failure.code
    return 0


def _open(api: FakeApi) -> Call:
    daemon = api.daemon()
    return lambda device, ranks: _coded(lambda: daemon.open(device, ranks))


def _open_ex(api: FakeApi) -> Call:
    daemon = api.daemon()
    return lambda device, ranks, mode: _coded(lambda: daemon.open(device, ranks, mode))


def _close(api: FakeApi) -> Call:
    daemon = api.daemon()
    return lambda device, _flag=0: _coded(lambda: daemon.close(device))


def _capability(api: FakeApi) -> Call:
    """Capabilities are 64-bit numbers behind the address that the caller gives; those nobody has are 0."""
    daemon, memory, lock = api.daemon(), api.fake.memory, api.fake.lock

    def capability(device: int, kind: int, address: int) -> int:
        value = daemon.capability_qos(device) if kind == CAPABILITY_PID_QOS else 0
        with lock:
            memory.write(address, value.to_bytes(8, "little"))
        return 0

    return capability


def _status(api: FakeApi) -> Call:
    daemon = api.daemon()

    def status(device: int, answer: Any) -> int:
        answer.value = daemon.connection_status(device) or 0
        return 0

    return status


_DAEMON: dict[str, Callable[[FakeApi], Call]] = {
    "TsdOpen": _open, "TsdOpenEx": _open_ex, "TsdClose": _close, "TsdCloseEx": _close, "TsdCapabilityGet": _capability,
    "GetHdcConctStatus": _status,
}  # fmt: skip
"""Functions of libtsdclient.so."""
